"""Random statements of single threads over a `Program`: scalars, stores, control of each thread's own, collectives,
shuffles, atomics, barriers and functions, kept free of races and within the rules of uniformity.

A thread stores only to elements of its own (`own_store`), and reads those of others only after a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tests.differential.program import (
    CAP,
    LANE,
    UNIFORM,
    UNSIGNED,
    WARP,
    Place,
    Program,
    Scalar,
    is_float,
    room,
)
from tests.differential.scalars import (
    SCALAR_FLOATS,
    SCALAR_INTEGERS,
    any_type,
    at,
    clamp,
    element_of_run,
    expression,
    number,
    of,
    packed,
    reads,
    summed,
)

Statement = Callable[[Program], None]
DEEPEST = 4


def keep(p: Program, value: Scalar, spread: int) -> Scalar:
    """Binds a value to a name, of a declared type or not, perhaps one that may be assigned."""
    keyword = p.pick(["let", "var"])
    value = clamp(value)
    spread = max(spread, value.spread)
    declared = value.type not in ("index", "bool") and p.chance(3)
    name = p.fresh("x")
    p.emit(f"{keyword} {name}{': ' + value.type if declared else ''} = {value.text}")
    kept = Scalar(name, value.type, spread, CAP if is_float(value.type) else 0, keyword == "var")
    p.scalars.append(kept)
    return kept


def compute(p: Program) -> None:
    most = p.pick([LANE, LANE, LANE, WARP, UNIFORM])
    value = expression(p, any_type(p), p.integer(1, 3), most)
    # What is assigned under varying control varies too, so the limit is above that of the control.
    kept = keep(p, value, max(most, p.control))
    if kept.spread == UNIFORM and kept.type == "index" and not kept.mutable:
        p.integers.append(f"({kept.text} & 7)")


def assign_scalar(p: Program) -> None:
    known = [s for s in p.scalars if s.mutable and s.spread >= p.control]
    if not known:
        return compute(p)
    target = p.pick(known)
    value = expression(p, target.type, p.integer(0, 2), target.spread)
    if is_float(target.type):
        if p.chance() and value.bound < room(target.type) // 2:
            text = f"{target.text} {p.pick('+-')} {value.text}"
            value = Scalar(text, target.type, target.spread, value.bound + CAP)
        p.emit(f"{target.text} = {clamp(value).text}")
    elif target.type == "bool" or p.chance():
        p.emit(f"{target.text} = {value.text}")
    else:
        p.emit(f"{target.text} {p.pick(['+', '-', '*', '&', '|', '^'])}= {value.text}")
    return None


def run_value(p: Program) -> None:
    kinds = [summed, summed, element_of_run]
    if any(q.element == "i8" for q in p.inputs):
        kinds += [packed] * 4
    value = p.pick(kinds)(p)
    if value is None:
        return compute(p)
    keep(p, value, LANE)
    return None


# Stores


def ownable(p: Program, share: str) -> list[Place]:
    """Where a thread may store to the elements that a division of the place gives it."""
    return [
        q
        for q in p.places
        if q.writable and q.inside and p.uses.get(q.memory, f"{share} {q.name}") == f"{share} {q.name}"
    ]


def stored_value(p: Program, element: str, depth: int) -> str:
    """A value that a place of the element type takes as it is."""
    if is_float(element):
        value = clamp(expression(p, element, depth))
        return value.text
    type = "index" if element in UNSIGNED else p.pick(["index", element if element in ("i32", "i64") else "index"])
    return expression(p, type, depth).text


def put(p: Program, place: Place, which: str) -> None:
    target = at(place, which)
    value = stored_value(p, place.element, p.integer(1, 2))
    form = p.pick(["=", "=", "=", "update", "read"])
    if place.element in UNSIGNED or form == "=":
        p.emit(f"{target} = {value}")
    elif is_float(place.element):
        low, high = (number(p, cap, place.element) for cap in (-CAP, CAP))
        p.emit(f"{target} = min(max({target} {p.pick('+-')} {value}, {low}), {high})")
    elif form == "update":
        p.emit(f"{target} {p.pick(['+', '-', '^', '&'])}= {expression(p, 'index', 1).text}")
    else:
        p.emit(f"{target} = {target} {p.pick('+-*')} {expression(p, 'index', 1).text}")


def own_store(p: Program) -> None:
    share = p.pick(["own", "own", "reverse"])
    places = ownable(p, share)
    if not places:
        return compute(p)
    place = p.pick(places)
    count = prod(place.shape)
    p.uses[place.memory] = f"{share} {place.name}"
    if count > p.threads or p.chance(3):
        name = p.fresh("e")
        step = p.pick(["ctx.threads", str(p.threads)])
        with p.block(f"for {name} in range(ctx.thread, {count}, {step}) {{", control=LANE):
            which = name
            p.scalars.append(Scalar(name, "index", LANE))
            if share == "reverse":
                which = p.fresh("r")
                p.emit(f"let {which} = {count - 1} - {name}")
            if p.chance(3):
                p.emit(f"if {expression(p, 'bool', 1).text} {{ {p.pick(['continue', 'continue', 'break'])} }}")
            put(p, place, which)
        return None
    which = p.fresh("t")
    p.emit(f"let {which} = {'ctx.thread' if share == 'own' else f'{count - 1} - ctx.thread'}")
    if count == p.threads:
        put(p, place, which)
    else:
        with p.block(f"if ctx.thread < {count} {{", control=LANE):
            put(p, place, which)
    return None


def own_runs(p: Program) -> None:
    """`store`: a run for each thread."""
    length = p.pick([2, 4, 4, 8])
    share = f"run{length}"
    places = [q for q in ownable(p, share) if q.kind != "view" and q.shape[-1] % length == 0]
    if not places:
        return own_store(p)
    place = p.pick(places)
    count = prod(place.shape) // length
    p.uses[place.memory] = f"{share} {place.name}"
    name = p.fresh("e")
    with p.block(f"for {name} in range(ctx.thread, {count}, ctx.threads) {{", control=LANE):
        whole = at(place, f"({name} * {length})")
        target = f"{whole[:-1]} :+ {length}]"
        values = [stored_value(p, place.element, p.pick([0, 0, 1])) for _ in range(length)]
        p.emit(f"store({target}, {', '.join(values)})")
    return None


def exchange(p: Program) -> None:
    """A tile that threads fill, which others read after a barrier."""
    if p.control != UNIFORM:
        return own_store(p)
    element = p.pick(["f32", "f32", "i32", "i8", "f16", "i64", "f64", "u8", "bf16"])
    shape = p.pick([(1, p.threads), (p.threads, 1), (2, p.threads), (4, 8), (p.threads,), (2, 2, p.threads)])
    if prod(shape) > 1024:
        shape = (1, p.threads)
    tile = Place(p.fresh("q"), element, shape, "tile", True)
    p.emit(f"var {tile.name}: tile<{element}>[{', '.join(map(str, shape))}]")
    name = p.fresh("e")
    count = prod(shape)
    if count == p.threads and p.chance():
        p.emit(f"{at(tile, 'ctx.thread')} = {stored_value(p, element, 2)}")
    else:
        with p.block(f"for {name} in range(ctx.thread, {count}, ctx.threads) {{", control=LANE):
            p.scalars.append(Scalar(name, "index", LANE))
            p.emit(f"{at(tile, name)} = {stored_value(p, element, 2)}")
    p.places.append(tile)
    p.uses[tile.memory] = f"own {tile.name}"
    if p.chance(4):
        own_store(p)
    p.barrier()
    distance = p.integer(0, count - 1)
    value = at(tile, f"((ctx.thread + {distance}) % {count})")
    if is_float(element):
        keep(p, Scalar(of(element, value), element, LANE, CAP), LANE)
    else:
        keep(p, Scalar(value, "index", LANE), LANE)
    reads(p, tile)
    return None


def fence(p: Program) -> None:
    if p.control != UNIFORM:
        return own_store(p)
    p.barrier()
    return None


# Control of each thread's own


def body(p: Program, most: int) -> None:
    for _ in range(p.integer(1, most)):
        p.pick(INNER)(p)


def limit_of(p: Program) -> int:
    """How varying new control is."""
    return p.pick([LANE, LANE, LANE, WARP] if p.whole_warps else [LANE])


def thread_if(p: Program) -> None:
    if p.depth > DEEPEST:
        return own_store(p)
    spread = limit_of(p)
    condition = expression(p, "bool", p.integer(1, 2), spread).text
    alternatives = p.pick([0, 0, 1, 1, 2])
    with p.block(f"if {condition} {{", "" if alternatives else "}", control=spread):
        body(p, 3)
    if alternatives == 2:
        other = expression(p, "bool", 1, spread).text
        with p.block(f"}} else if {other} {{", "", control=spread):
            body(p, 2)
    if alternatives:
        with p.block("} else {", control=spread):
            body(p, 2)
    return None


def thread_jump(p: Program) -> None:
    p.emit(f"if {expression(p, 'bool', 1).text} {{ {p.pick(['break', 'continue'])} }}")


def thread_for(p: Program) -> None:
    if p.depth > DEEPEST:
        return assign_scalar(p)
    spread = limit_of(p)
    name = p.fresh("j")
    step = p.pick([1, 1, 2, 5])
    low = expression(p, "index", 1, spread).text
    form = p.pick(["below", "span", "strided"])
    if form == "below":
        bounds = f"0, ({expression(p, 'index', 1, spread).text}) & 7, {step}"
    elif form == "span":
        bounds = f"({low}) & 15, {p.integer(3, 20)}, {step}"
    elif spread == WARP:
        bounds = f"ctx.warp, {p.integer(1, 20)}, ctx.warps"
    else:
        bounds = f"ctx.lane, {p.integer(1, 100)}, {p.pick([32, 32, 17])}"
    unroll = "" if form == "strided" or p.chance(3) else f"<unroll {p.pick([1, 2, 3, 4])}>"
    jumps = p.chance(3)
    # Once lanes part at a jump, the rest of the loop is theirs alone.
    with p.block(f"for{unroll} {name} in range({bounds}) {{", control=LANE if jumps else spread):
        p.scalars.append(Scalar(name, "index", spread))
        body(p, 2)
        if jumps:
            thread_jump(p)
            body(p, 2)
    return None


def thread_while(p: Program) -> None:
    if p.depth > DEEPEST:
        return assign_scalar(p)
    spread = limit_of(p)
    name = p.fresh("w")
    p.emit(f"var {name} = ({expression(p, 'index', 1, spread).text}) & {p.pick([3, 7, 255])}")
    jumps = p.chance(3)
    spread = max(p.control, LANE if jumps else spread)
    with p.block(f"while {name} {p.pick(['> 0', '!= 0'])} {{", control=spread):
        p.emit(f"{name} = {name} / {p.pick([2, 3])}")
        p.scalars.append(Scalar(name, "index", spread))
        body(p, 2)
        if jumps:
            thread_jump(p)
            body(p, 1)
    return None


# Across threads


def collective(p: Program) -> None:
    if p.control > WARP or not p.whole_warps:
        return run_value(p)
    over_thread = p.control == UNIFORM and p.chance()
    width = 32 if over_thread or p.chance() else p.pick([1, 2, 4, 8, 16, 32])
    group = p.threads if over_thread else width
    ops = ["sum", "sum", "max", "min", "any", "all", "reduce", "argmax"]
    op = p.pick(ops)
    type = "bool" if op in ("any", "all") else p.pick([*SCALAR_FLOATS, *SCALAR_INTEGERS])
    if op == "argmax" and p.approximate:
        type = p.pick(SCALAR_INTEGERS)
    value = clamp(expression(p, type, 2))
    bound = value.bound * (group if op == "sum" else 1)
    if is_float(type) and bound >= room(type):
        op, bound = "max", value.bound
    text = value.text
    if op == "sum" and p.approximate and is_float(type):
        # A mean: errors do not add up.
        text, bound = f"({text}) * {type}({1 / group})", value.bound
    options = "ctx.thread" if over_thread else "ctx.lane"
    if not over_thread and (width != 32 or p.chance(4)):
        options += f", width {width}"
    arguments = text
    if op == "reduce":
        forms = ["where(a > b, a, b)", "min(a, b)", "max(b, a)"]
        forms += [] if is_float(type) else ["a + b", "a ^ b", "a | b", "a & b", "a * b"]
        fold = p.fresh("g")
        p.functions.append(f"fn {fold}(a, b) = {p.pick(forms if not p.approximate else forms[1:])}")
        arguments += f", {fold}"
    result = "index" if op == "argmax" else type
    spread = UNIFORM if over_thread else WARP if "width" not in options else LANE
    found = keep(p, Scalar(f"{op}<over {options}>({arguments})", result, spread, bound), p.control)
    if found.spread == UNIFORM and result == "index":
        p.integers.append(f"({found.text} & 7)")
    return None


def shuffle(p: Program) -> None:
    if p.control > WARP or not p.whole_warps:
        return compute(p)
    value = clamp(expression(p, any_type(p), 2))
    width = p.pick([32, 32, 2, 8, 16])
    mode = p.pick(["xor", "down", "up", "from"])
    # What folds to a constant has to be below the width.
    source = str(p.integer(0, width - 1)) if p.chance() else f"({expression(p, 'index', 1).text} + ctx.block.x)"
    options = f", width {width}" if width != 32 else ""
    keep(p, Scalar(f"shfl<{mode} {source}{options}>({value.text})", value.type, LANE, value.bound), LANE)
    return None


def atomic(p: Program) -> None:
    """On words of all blocks, what was there left alone; or on words of this block's own."""
    if p.control != UNIFORM:
        return own_store(p)
    p.extras.add("counters")
    value = expression(p, "index", 1, UNIFORM).text
    form = p.pick(["shared", "shared float", "own", "cas", "flag", "spin"])
    if form == "shared":
        p.emit(f"atomic_add(COUNT, {p.integer(0, 1)}, {value})")
    elif form == "shared float":
        p.emit(f"atomic_add(TOTAL, {p.integer(0, 1)}, f32({value} & 3))")
    elif form == "own":
        keep(p, Scalar(f"atomic_add(COUNT, 2 + ctx.block.x, {value})", "i32", UNIFORM), UNIFORM)
    elif form == "cas":
        text = f"atomic_cas(COUNT, 4 + ctx.block.x, {p.integer(0, 2)}, {value})"
        keep(p, Scalar(text, "i32", UNIFORM), UNIFORM)
    elif form == "flag":
        p.emit(f"store_release(COUNT, 6 + ctx.block.x, {value})")
        keep(p, Scalar("load_acquire(COUNT, 6 + ctx.block.x)", "i32", UNIFORM), UNIFORM)
    else:
        p.emit("while load_acquire(COUNT, 8) == 0 {}")
    return None


def grid_exchange(p: Program) -> None:
    """What another block has stored before a barrier of the grid. Every block must come to it."""
    if p.control != UNIFORM or p.depth > 1 or p.left or p.inlined:
        return exchange(p)
    p.extras.add("grid")
    p.emit(f"GRID[ctx.block.x, ctx.thread] = {stored_value(p, 'i64', 2)}")
    p.emit("grid_barrier(BAR)")
    p.uses = {}
    text = f"GRID[(ctx.block.x + 1) % ctx.blocks.x, (ctx.thread + {p.integer(0, p.threads)}) % {p.threads}]"
    keep(p, Scalar(text, "index", LANE), LANE)
    p.emit("grid_barrier(BAR)")
    return None


INNER: list[Statement] = [
    compute, compute, assign_scalar, assign_scalar, assign_scalar, own_store, own_store, own_runs, run_value,
    thread_if, thread_for, thread_while, collective, collective, shuffle,
]  # fmt: skip
THREADS: list[Statement] = [
    compute, compute, assign_scalar, own_store, own_store, own_runs, run_value, run_value, exchange, exchange, exchange,
    fence, thread_if, thread_if, thread_for, thread_for, thread_while, *[collective] * 6, shuffle, shuffle, shuffle,
    atomic, atomic,
]  # fmt: skip


def last(p: Program) -> None:
    """Some threads are done; what the others do has no tiles and no barriers."""
    p.settle()
    p.places = [q for q in p.places if q.kind == "tile"]
    p.emit(f"if {expression(p, 'bool', 1).text} {{ return }}")
    p.control = LANE
    for _ in range(p.integer(1, 3)):
        p.pick([own_store, assign_scalar, thread_for, thread_if])(p)
