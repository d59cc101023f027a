"""Random statements over a `Program`: stores, points, scalars, loops, branches and jumps."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.declarations import (
    contract,
    declare,
    declare_computed,
    declare_copy,
    declare_flat,
    declare_gather,
    declare_reduction,
    declare_shaped,
    declare_view,
    dims,
    elements,
    recap,
)
from tests.differential.expressions import anchored, condition, expression, read, slice_of
from tests.differential.program import CAP, UNSIGNED, Place, Program, clamped, is_float, literal

MOST_ELEMENTS = 1100  # of a tile that is assigned: keeps a run short


def whole_targets(p: Program) -> list[Place]:
    return [q for q in p.places if q.writable and elements(q.shape) <= MOST_ELEMENTS]


def assign(p: Program) -> None:
    targets = whole_targets(p)
    if not targets:
        return declare_computed(p)
    target = p.pick(targets)
    unsigned = target.element in UNSIGNED
    # What is stored to unsigned storage is computed with a sign.
    element = p.pick(["i32", "i64"]) if unsigned else target.element
    if p.chance() or target.kind == "view":
        shape = tuple(p.integer(1, min(extent, 16)) for extent in target.shape)
        place = slice_of(p, target, shape)
    else:
        shape, place = target.shape, target.name
    form = p.pick(["value", "value", "literal", "row", "accumulate", "operator", "where", "converted"])
    if form == "literal" and not unsigned:
        p.emit(f"{place} = {literal(p.integer(-2, 2), element)}")
    elif form == "where":
        branch = clamped(anchored(p, element, shape), element)
        other = clamped(expression(p, element, shape, 1), element)
        text = f"where({condition(p, element, shape)}, {branch.text}, {other.text})"
        if p.chance(4):
            text = f"where({condition(p, element, shape)}, {text}, {literal(1, element)})"
        p.emit(f"{place} = {text}")
    elif form == "row" and (found := read(p, element, tuple(1 if p.chance() else n for n in shape))):
        p.emit(f"{place} = {found.text}")
    elif form in ("accumulate", "operator") and place == target.name and not unsigned:
        value = clamped(expression(p, element, shape, 1), element)
        operator = p.pick(["+=", "-=", "*="] if is_float(element) else ["+=", "-=", "*=", "&=", "|=", "^="])
        p.emit(f"{place} {operator} {value.text}")
        recap(p, target, CAP * CAP)
    elif form == "converted" and is_float(element):
        # A store between floats converts by itself.
        other = p.pick(["f32", "f16", "f64", "bf16"])
        p.emit(f"{place} = {clamped(anchored(p, other, shape), other).text}")
    else:
        p.emit(f"{place} = {clamped(anchored(p, element, shape), element).text}")
    return None


def store_unsigned(p: Program) -> None:
    """Integer tiles to unsigned storage, read again through a conversion."""
    shape = p.shape(2)
    element = p.pick(["i32", "i64"])
    name = p.fresh("u")
    storage = p.pick(["u8", "u16", "u32"])
    p.emit(f"var {name}: tile<{storage}>[{dims(shape)}] = {anchored(p, element, shape).text}")
    p.places.append(Place(name, storage, shape, "tile", False))
    declare(p, "i64", shape, f"i64({name}) - i64(i32({name}) >> 1)")


def fold_pairs(p: Program) -> None:
    element, shape = p.element(), p.shape()
    a, b = read(p, element, shape), read(p, element, shape)
    if a is None or b is None or p.approximate:
        return declare_copy(p)
    if p.chance() or not is_float(element):
        declare(p, element, shape, f"tmax({a.text}, {b.text})")
    else:
        ia, ib = declare(p, "i32", shape, "iota(0)"), read(p, "i32", shape)
        declare(p, "i32", shape, f"argsel({a.text}, {b.text}, {ia.name}, {ib.text if ib else ia.name})")
    return None


def point(p: Program) -> None:
    targets = [q for q in whole_targets(p) if q.kind == "tile"]
    if not targets:
        return declare_copy(p)
    target, source = p.pick(targets), p.pick([*targets, *p.inputs])
    if source.element != target.element:
        source = target
    at, other = ((", ".join(str(p.integer(0, min(n, 4) - 1)) for n in q.shape)) for q in (target, source))
    form = p.pick(["=", "+=", "scalar"])
    if form == "scalar":
        name = p.fresh("x")
        p.emit(f"let {name} = {source.name}[{other}]")
        kept = name if is_float(target.element) else f"{name} * 3 - 1"
        p.emit(f"{target.name}[{at}] = {kept}")
    elif form == "=":
        p.emit(f"{target.name}[{at}] = {source.name}[{other}]")
    elif is_float(target.element):
        p.emit(f"{target.name}[{at}] = min({target.name}[{at}] + 1.0, {CAP}.0)")
    else:
        p.emit(f"{target.name}[{at}] += 5")
    return None


def scalar(p: Program) -> None:
    name = p.fresh("n")
    known = p.integers or ["ctx.block.x"]
    a, b = p.pick(known), p.pick([*known, str(p.integer(1, 9))])
    sources = [q for q in p.inputs if not is_float(q.element)]
    if sources and p.chance(3):
        source = p.pick(sources)
        a = f"{source.name}[{', '.join(str(p.integer(0, min(n, 4) - 1)) for n in source.shape)}]"
    op = p.pick(["+", "-", "*", "&", "|", "^", ">>"])
    b = f"({b} & 7)" if op == ">>" else b
    p.emit(f"let {name} = ({a} {op} {b}) % {p.integer(2, 20)}")
    p.integers.append(name)


def test(p: Program) -> str:
    a = p.pick([*p.integers, *p.variables, "ctx.block.x"])
    simple = f"{a} {p.pick(['<', '==', '!=', '>='])} {p.integer(0, 4)}"
    return p.pick([simple, simple, f"{a} % 2 == 0", f"!({simple})", f"{simple} || ctx.block.x == 1 && {a} > 2"])


def branch(p: Program) -> None:
    with p.block(f"if {test(p)} {{", ""):
        body(p, 2)
    if p.chance():
        with p.block("} else {"):
            body(p, 2)
    else:
        p.emit("}")


def loop(p: Program) -> None:
    if p.loops >= 2:
        return assign(p)
    p.loops += 1
    if p.chance(5):
        counter = p.fresh("w")
        p.emit(f"var {counter} = {p.integer(0, 2)}")
        with p.block(f"while {counter} < {p.integer(1, 4)} {{"):
            p.emit(f"{counter} += 1")
            p.variables.append(counter)
            p.integers.append(counter)
            body(p, 3)
            jump(p)
    else:
        for_loop(p)
    p.loops -= 1
    return None


def for_loop(p: Program) -> None:
    variable = p.fresh("i")
    step = p.pick([1, 3, 4, 5, 8])
    names = sorted({d for q in p.inputs for d in q.dims if not d.isdigit()}) if step >= 4 else []
    high = p.pick([*names, *[f"{d} - 3" for d in names], str(p.integer(0, 3) * step + 1)])
    low = p.pick(["0", "0", "0", "1", "-4", "7"])
    unrolled = f"<unroll {p.pick([1, 2, 3, 4])}>" if p.chance(4) else ""
    steps = f", {step}" if step != 1 or p.chance() else ""
    with p.block(f"for{unrolled} {variable} in range({low}, {high}{steps}) {{"):
        p.variables.append(variable)
        p.integers.append(f"{variable} % 9")
        if p.chance(4):
            jump(p)
        body(p, 3)
        if p.chance(4):
            jump(p)


def accumulate(p: Program) -> None:
    """A loop that stages slices and sums products or values into a tile: what the pipeline looks for."""
    element = p.pick([q.element for q in p.inputs if is_float(q.element) or q.element == "i8"] or ["f32"])
    tensors = [q for q in p.inputs if q.element == element and q.rank == 2]
    if not tensors or p.loops >= 2:
        return declare_copy(p)
    a, b = p.pick(tensors), p.pick(tensors)
    m, k, n = p.pick([4, 8, 16, 5]), p.pick([4, 8, 16, 12]), p.pick([4, 8, 16, 7])
    if p.in_range and (m > a.shape[0] or n > b.shape[0] or a.shape[1] % k or b.shape[1] % k):
        return declare_copy(p)
    result = {"i8": "i32", "f64": "f64"}.get(element, "f32")
    total = declare(p, result, (m, n), literal(0, result), "acc")
    p.places.pop()
    variable = p.fresh("k")
    rows = [p.integer(0, 2) if not p.in_range else 0 for _ in range(2)]
    high = a.dims[1] if a.dims[1] == b.dims[1] else str(min(a.shape[1], b.shape[1]))
    with p.block(f"for {variable} in range(0, {high}, {k}) {{"):
        p.loops += 1
        keyword = p.pick(["var", "let"])
        names = [p.fresh("a"), p.fresh("b")]
        for name, q, row, count in zip(names, (a, b), rows, (m, n), strict=True):
            p.emit(f"{keyword} {name} = {q.name}[{row} :+ {count}, {variable} :+ {k}]")
            tile = keyword == "var"
            kind = "tile" if tile else "view"
            p.places.append(Place(name, element, (count, k), kind, tile, inside=tile or p.in_range))
        if p.chance(3):
            body(p, 1)
            p.settle()
        p.emit(f"{total.name} += dot_t({names[0]}, {names[1]})")
        p.loops -= 1
    p.places.append(total)
    recap(p, total, 2**20)
    return None


def jump(p: Program) -> None:
    p.settle()
    word = p.pick(["break", "continue", "return"] if p.may_return and p.chance(4) else ["break", "continue"])
    p.left |= word == "return"
    p.emit(f"if {'ctx.block.x == 1' if p.chance(8) else test(p)} {{ {word} }}")


STATEMENTS: list[Callable[[Program], None]] = [
    declare_computed,
    declare_copy,
    declare_view,
    declare_flat,
    declare_reduction,
    declare_shaped,
    declare_gather,
    contract,
    contract,
    assign,
    assign,
    assign,
    store_unsigned,
    fold_pairs,
    point,
    scalar,
    branch,
    loop,
    loop,
    accumulate,
]


def body(p: Program, most: int) -> None:
    for _ in range(p.integer(1, most)):
        p.pick(p.statements)(p)
