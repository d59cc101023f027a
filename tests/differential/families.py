"""Random statements over a family of tiles that go together: whole tiles of one shape, with a column of what each row
folds to and the operands of products that make them, carried by loops and branches.

These are the tiles that live in registers. They are updated whole, but for a rare write to a part, which keeps a tile
in memory: both kinds then meet in one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.declarations import declare, declare_copy, dims, recap
from tests.differential.expressions import converted, read, slice_of, sliceable
from tests.differential.program import CAP, Place, Program, Shape, Value, clamped, is_float, literal, room
from tests.differential.statements import jump, test

RESULTS = {"i8": "i32", "f64": "f64"}
DEEPEST = 2


@dataclass(frozen=True)
class Family:
    """`operand` is the element of what products take, `element` that of the tiles, which have `rows` x `columns`."""

    operand: str
    element: str
    rows: int
    columns: int
    depth: int

    @property
    def shape(self) -> Shape:
        return self.rows, self.columns


Step = Callable[[Program, Family], None]


def family(p: Program) -> None:
    """Some tiles of a family, and what is done to them."""
    operand = p.pick([q.element for q in p.inputs if is_float(q.element) or q.element == "i8"] or [""])
    if not operand:
        return declare_copy(p)
    f = Family(
        operand,
        RESULTS.get(operand, "f32"),
        p.pick([4, 8, 8, 16, 16, 32, 5, 12]),
        p.pick([4, 8, 8, 16, 16, 32, 7, 12]),
        p.pick([4, 8, 16, 5]),
    )
    declare(p, f.element, f.shape, literal(p.integer(-1, 1), f.element), "acc")
    for _ in range(p.integer(1, 2)):
        declare(p, f.element, (f.rows, 1), literal(p.integer(-2, 2), f.element), "col")
    steps(p, f, 3, 7)
    return None


def steps(p: Program, f: Family, least: int, most: int) -> None:
    for _ in range(p.integer(least, most)):
        p.pick(STEPS)(p, f)


def tiles(p: Program, element: str, shape: Shape) -> list[Place]:
    return [q for q in p.places if q.kind == "tile" and q.writable and (q.element, q.shape) == (element, shape)]


def whole(p: Program, f: Family) -> Place:
    """One of the tiles; there is always the first."""
    return p.pick(tiles(p, f.element, f.shape))


def column(p: Program, f: Family) -> Place:
    return p.pick(tiles(p, f.element, (f.rows, 1)))


def put(p: Program, target: Place, value: Value) -> None:
    """Assigns a value brought under the cap, in one statement or in two."""
    if p.chance():
        p.emit(f"{target.name} = {clamped(value, target.element).text}")
    else:
        p.emit(f"{target.name} = {value.text}")
        recap(p, target, value.bound)


# Products


def operand(p: Program, f: Family, shape: Shape) -> Value | None:
    """A tile of the shape, which several products may share, or a slice; sometimes copied to a tile first."""
    held = tiles(p, f.operand, shape)
    if held and p.chance():
        return Value(p.pick(held).name, CAP)
    places = sliceable(p, f.operand, shape)
    if not places:
        return None
    text = slice_of(p, p.pick(places), shape)
    if p.chance():
        name = p.fresh("p")
        p.emit(f"var {name} = {text}")
        p.places.append(Place(name, f.operand, shape, "tile", True))
        text = name
    return Value(text, CAP)


def product(p: Program, f: Family) -> Value | None:
    """[rows, columns] of two operands, or of a tile of the family and a square operand."""
    chained = f.operand != "i8" and p.chance(3)
    depth = f.columns if chained else f.depth
    lhs = Value(whole(p, f).name, CAP) if chained else operand(p, f, (f.rows, depth))
    transposed = f.operand == "i8" or p.chance()
    rhs = operand(p, f, (f.columns, depth) if transposed else (depth, f.columns))
    if lhs is None or rhs is None:
        return None
    bound = lhs.bound * rhs.bound * depth
    if is_float(f.element) and bound + CAP >= room(f.element):
        return None
    text = f"{'dot_t' if transposed else 'dot'}({lhs.text}, {rhs.text})"
    return Value(text, bound if is_float(f.element) else 0)


def multiply(p: Program, f: Family) -> None:
    value = product(p, f)
    if value is None:
        return point_by_point(p, f)
    form = p.pick(["declare", "add", "add", "shrink", "scale", "beside"])
    target = whole(p, f)
    if form == "declare":
        name = p.fresh("s")
        p.emit(f"var {name}: tile<{f.element}>[{dims(f.shape)}] = {value.text}")
        made = Place(name, f.element, f.shape, "tile", True)
        p.places.append(made)
        recap(p, made, value.bound)
    elif form == "add":
        p.emit(f"{target.name} += {value.text}")
        recap(p, target, value.bound + CAP)
    elif form == "shrink":
        # As attention does: what was, times a column, and the product.
        put(p, target, Value(f"{target.name} * {column(p, f).name} + {value.text}", CAP * CAP + value.bound))
    elif form == "scale":
        put(p, target, Value(f"{value.text} * {literal(2, f.element)}", 2 * value.bound))
    else:
        put(p, target, Value(f"{value.text} - {whole(p, f).name}", value.bound + CAP))
    return None


# Rows


def fold(p: Program, f: Family) -> None:
    """What each row folds to: a new column, or an update of one."""
    tile = whole(p, f).name
    op = p.pick(["rowmax", "rowmax", "rowsum", "rowsum", "rowargmax"])
    argument, bound = p.pick(
        [(tile, CAP), (tile, CAP), (f"abs({tile})", CAP), (f"{tile} - {column(p, f).name}", 2 * CAP)]
    )
    if op == "rowargmax":
        pick_out(p, f, f"rowargmax({argument})")
        return
    bound *= f.columns if op == "rowsum" else 1
    if is_float(f.element) and bound >= room(f.element):
        return
    value, target = Value(f"{op}({argument})", bound), column(p, f)
    match p.pick(["declare", "assign", "join", "scaled"]):
        case "declare":
            declare(p, f.element, (f.rows, 1), clamped(value, f.element).text, "col")
        case "join" if op == "rowmax":
            # The fold first, and what it is joined with after.
            new = declare(p, f.element, (f.rows, 1), clamped(value, f.element).text, "col")
            p.emit(f"{new.name} = tmax({target.name}, {new.name})")
        case "join":
            p.emit(f"{target.name} += {value.text}")
            recap(p, target, bound + CAP)
        case "scaled":
            put(p, target, Value(f"{target.name} * {column(p, f).name} + {value.text}", CAP * CAP + bound))
        case _:
            put(p, target, value)


def pick_out(p: Program, f: Family, text: str) -> None:
    """The place of the largest of each row, and a tile changed there."""
    index = p.fresh("i")
    p.emit(f"var {index}: tile<i32>[{f.rows}, 1] = {text}")
    p.places.append(Place(index, "i32", (f.rows, 1), "tile", True))
    target = whole(p, f)
    new = literal(p.integer(0, 2), f.element)
    p.emit(f"{target.name} = where(iota(1) {p.pick(['==', '==', '<', '!='])} {index}, {new}, {target.name})")


def broadcast(p: Program, f: Family) -> None:
    """A column, or a row, to the whole tile."""
    target, other = whole(p, f), column(p, f).name
    if p.chance(4):
        row = read(p, f.element, (1, f.columns))
        other = row.text if row is not None else other
    source = whole(p, f).name
    op, bound = p.pick([("+", 2 * CAP), ("-", 2 * CAP), ("*", CAP * CAP), ("min", CAP), ("max", CAP)])
    text = f"{op}({source}, {other})" if op in ("min", "max") else f"{source} {op} {other}"
    put(p, target, Value(text, bound if is_float(f.element) else 0))


# Elements


def point_by_point(p: Program, f: Family) -> None:
    target, a, b = whole(p, f), whole(p, f).name, whole(p, f).name
    text, bound = p.pick(
        [
            (f"{a} + {b}", 2 * CAP),
            (f"{a} * {b} - {target.name}", CAP * CAP + CAP),
            (f"abs({a} - {literal(1, f.element)})", CAP + 1),
            (f"max({a}, {b}) - min({a}, {b})", 2 * CAP),
        ]
    )
    put(p, target, Value(text, bound if is_float(f.element) else 0))


def columns_apart(p: Program, f: Family) -> None:
    """Columns among each other."""
    target, a, b = column(p, f), column(p, f).name, column(p, f).name
    text, bound = p.pick([(f"{a} - {b}", 2 * CAP), (f"{a} * {b}", CAP * CAP), (f"tmax({a}, {b})", CAP)])
    put(p, target, Value(text, bound if is_float(f.element) else 0))


def masked(p: Program, f: Family) -> None:
    target = whole(p, f)
    limit = p.pick([str(p.integer(0, f.columns)), *p.integers])
    condition = p.pick([f"iota(1) < {limit}", f"iota(0) >= {limit}", "iota(0) >= iota(1)"])
    p.emit(f"{target.name} = where({condition}, {whole(p, f).name}, {literal(p.integer(-2, 2), f.element)})")


def copy(p: Program, f: Family) -> None:
    """A tile of its own, or two that change places."""
    if p.chance() and len(tiles(p, f.element, f.shape)) > 1:
        a, b = whole(p, f).name, whole(p, f).name
        kept = declare(p, f.element, f.shape, a, "kept")
        p.emit(f"{a} = {b}")
        p.emit(f"{b} = {kept.name}")
    else:
        declare(p, f.element, f.shape, whole(p, f).name, "u")


def store(p: Program, f: Family) -> None:
    """To this block's part of an output, as the element or converted."""
    outputs = [q for q in p.places if q.kind == "view" and q.writable and q.name.startswith("o")]
    fitting = [q for q in outputs if all(a <= b for a, b in zip(f.shape, q.shape, strict=True))]
    if not fitting:
        return
    out, tile = p.pick(fitting), Value(whole(p, f).name, CAP)
    direct = out.element == f.element or (is_float(out.element) and is_float(f.element))
    value = tile if direct else converted(p, tile, f.element, out.element)
    p.emit(f"{slice_of(p, out, f.shape)} = {value.text}")


def part(p: Program, f: Family) -> None:
    """Written in part, which keeps it in memory."""
    if not p.chance(3):
        return point_by_point(p, f)
    target, new = whole(p, f), literal(p.integer(-2, 2), f.element)
    if p.chance():
        p.emit(f"{target.name}[{p.integer(0, f.rows - 1)}, {p.integer(0, f.columns - 1)}] = {new}")
    else:
        p.emit(f"{target.name}[0 :+ {p.integer(1, f.rows)}, 0 :+ {p.integer(1, f.columns)}] = {new}")
    return None


def turned(p: Program, f: Family) -> None:
    """What no spread over the threads keeps: a transposition, a triangle, sums down the columns."""
    if not p.chance(2):
        return broadcast(p, f)
    target = whole(p, f)
    if f.rows == f.columns and p.chance():
        p.emit(f"{target.name} = transpose({whole(p, f).name})")
    elif is_float(f.element):
        op, bound = p.pick([("tril", CAP), ("cumsum", CAP * f.rows)])
        if bound < room(f.element):
            put(p, target, Value(f"{op}({whole(p, f).name})", bound))
    return None


# Control, over which tiles are carried


def branch(p: Program, f: Family) -> None:
    if p.depth > DEEPEST:
        return multiply(p, f)
    otherwise = p.chance()
    with p.block(f"if {test(p)} {{", "" if otherwise else "}"):
        steps(p, f, 1, 3)
    if otherwise:
        with p.block("} else {"):
            steps(p, f, 1, 3)
    return None


def loop(p: Program, f: Family) -> None:
    if p.loops >= DEEPEST or p.depth > DEEPEST:
        return fold(p, f)
    p.loops += 1
    if p.chance(5):
        counter = p.fresh("w")
        p.emit(f"var {counter} = 0")
        with p.block(f"while {counter} < {p.integer(1, 3)} {{"):
            p.emit(f"{counter} += 1")
            p.integers.append(counter)
            steps(p, f, 2, 4)
            if p.chance(4):
                jump(p)
    else:
        step = p.pick([1, f.depth, f.columns])
        most = p.pick([str(p.integer(0, 3) * step), str(p.integer(1, 2) * step + 1)])
        names = sorted({d for q in p.inputs for d in q.dims if not d.isdigit()})
        high = p.pick([most, *names]) if step > 1 else most
        variable = p.fresh("k")
        with p.block(f"for {variable} in range(0, {high}, {step}) {{"):
            p.variables.append(variable)
            p.integers.append(f"{variable} % 9")
            steps(p, f, 2, 5)
            if p.chance(5):
                jump(p)
    p.loops -= 1
    return None


STEPS: list[Step] = [
    multiply,
    multiply,
    multiply,
    fold,
    fold,
    fold,
    broadcast,
    broadcast,
    point_by_point,
    columns_apart,
    masked,
    copy,
    store,
    part,
    turned,
    branch,
    loop,
    loop,
]
