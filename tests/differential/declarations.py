"""Random declarations over a `Program`: computed tiles, copies, views, reductions, gathers and contractions."""

from __future__ import annotations

from math import prod

from tests.differential.expressions import anchored, expression, read, slice_of, sliceable, start
from tests.differential.program import (
    CAP,
    EXTENTS,
    UNSIGNED,
    Place,
    Program,
    Shape,
    Value,
    clamped,
    is_float,
    literal,
    room,
)


def elements(shape: Shape) -> int:
    return prod(shape)


def dims(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def declare(p: Program, element: str, shape: Shape, value: str, prefix: str = "t") -> Place:
    place = Place(p.fresh(prefix), element, shape, "tile", True)
    p.emit(f"var {place.name}: tile<{element}>[{dims(shape)}] = {value}")
    p.places.append(place)
    return place


def declare_computed(p: Program) -> None:
    element, shape = p.element(), p.shape()
    value = clamped(anchored(p, element, shape), element)
    if p.chance(4):
        name = p.fresh("l")
        p.emit(f"let {name}: tile<{element}>[{dims(shape)}] = {value.text}")
        p.places.append(Place(name, element, shape, "tile", False))
    else:
        declare(p, element, shape, value.text)


def declare_copy(p: Program) -> None:
    element, shape = p.element(), p.shape()
    sources = sliceable(p, element, shape)
    if not sources:
        return declare_computed(p)
    place = p.pick(sources)
    name = p.fresh("t")
    p.emit(f"var {name} = {slice_of(p, place, shape)}")
    p.places.append(Place(name, element, shape, "tile", True))
    return None


def declare_view(p: Program) -> None:
    """An alias of a slice of a tensor, of a view or of a tile."""
    element, shape = p.element(), p.shape()
    sources = [q for q in sliceable(p, element, shape) if q.kind != "tile" or q.writable]
    if not sources:
        return declare_copy(p)
    place = p.pick(sources)
    name = p.fresh("v")
    p.emit(f"let {name} = {slice_of(p, place, shape)}")
    inside = place.kind == "tile" or (p.in_range and place.kind == "tensor")
    p.places.append(Place(name, element, shape, "view", place.writable, root=place.memory, inside=inside))
    return None


def declare_flat(p: Program) -> None:
    tiles = [q for q in p.places if q.kind == "tile" and q.rank == 2 and q.writable]
    if not tiles:
        return declare_computed(p)
    tile = p.pick(tiles)
    name = p.fresh("f")
    p.emit(f"let {name} = flat({tile.name})")
    p.places.append(Place(name, tile.element, (1, elements(tile.shape)), "view", True, root=tile.memory))
    return None


def declare_reduction(p: Program) -> None:
    tiles = [q for q in p.places if q.rank == 2 and q.element not in UNSIGNED]
    if not tiles:
        return declare_copy(p)
    tile = p.pick(tiles)
    op = p.pick(["rowmax", "rowsum"] if p.approximate else ["rowmax", "rowsum", "rowargmax"])
    argument = p.pick([tile.name, f"abs({tile.name})", f"{tile.name} + {tile.name}", f"{tile.name} * {tile.name}"])
    bound = CAP * CAP * (tile.shape[1] if op == "rowsum" else 1)
    if is_float(tile.element) and bound >= room(tile.element):
        return declare_copy(p)
    element = "i32" if op == "rowargmax" else tile.element
    text = f"{op}({argument})"
    if element != "i32" and p.chance(3):
        text = f"{text} - {tile.name}"
        value = clamped(Value(text, bound + CAP), element)
        declare(p, element, tile.shape, value.text, "r")
    else:
        declare(p, element, (tile.shape[0], 1), clamped(Value(text, bound), element).text, "r")
    return None


def declare_shaped(p: Program) -> None:
    tiles = [q for q in p.places if q.rank == 2 and q.element not in UNSIGNED]
    if not tiles:
        return declare_view(p)
    tile = p.pick(tiles)
    op = p.pick(["transpose", "tril", "cumsum"] if is_float(tile.element) else ["transpose"])
    bound = CAP * tile.shape[0] if op == "cumsum" else CAP
    if op == "cumsum" and bound >= room(tile.element):
        op, bound = "tril", CAP
    value = clamped(Value(f"{op}({tile.name})", bound), tile.element)
    if op != "transpose" and tile.kind == "tile" and tile.writable and p.chance():
        p.emit(f"{tile.name} = {value.text}")
    else:
        declare(p, tile.element, tile.shape[::-1] if op == "transpose" else tile.shape, value.text, "s")
    return None


def declare_gather(p: Program) -> None:
    element, shape, n = p.element(), p.shape(2), p.pick([4, 12, 33])
    table, index = read(p, element, (1, n)), read(p, "i32", shape)
    if table is None or index is None or "(" in table.text or "[" not in table.text:
        return declare_computed(p)
    text = f"gather({table.text}, min(max({index.text}, 0), {n - 1}))"
    declare(p, element, shape, text, "g")
    return None


def operand(p: Program, element: str, shape: Shape) -> Value | None:
    """A slice of just this shape, alone or in an expression."""
    places = sliceable(p, element, shape)
    if not places:
        return None
    exact = Value(slice_of(p, p.pick(places), shape), CAP)
    if p.chance(3):
        value = expression(p, element, shape, 1)
        if value.bound < room(element) // 8:
            return clamped(Value(f"{value.text} + {exact.text}", value.bound + exact.bound), element, 8)
    return exact


def contract(p: Program) -> None:
    element = p.pick([q.element for q in p.inputs if is_float(q.element) or q.element == "i8"] or ["f32"])
    m, k, n = p.pick(EXTENTS), p.pick([*EXTENTS, 32]), p.pick(EXTENTS)
    transposed = element == "i8" or p.chance()
    over_all = [q for q in p.inputs if q.element == element and q.rank == 2 and q.kind == "tensor"]
    if over_all and transposed and p.chance(4) and not p.in_range:
        a, b = p.pick(over_all), p.pick(over_all)
        rows = [f"{q.name}[{start(p, q.shape[0], count, q)} :+ {count}, :]" for q, count in ((a, m), (b, n))]
        lhs, rhs = Value(rows[0], CAP), Value(rows[1], CAP)
        if a.dims[1] != b.dims[1]:
            return declare_copy(p)
        k = 64
    else:
        found = operand(p, element, (m, k)), operand(p, element, (n, k) if transposed else (k, n))
        if found[0] is None or found[1] is None:
            return declare_copy(p)
        lhs, rhs = found[0], found[1]
    result = {"i8": "i32", "f64": "f64"}.get(element, "f32")
    bound = lhs.bound * rhs.bound * k
    if is_float(result) and bound >= room(result) // 4:
        return declare_copy(p)
    text = f"{'dot_t' if transposed else 'dot'}({lhs.text}, {rhs.text})"
    product = Value(text, bound if is_float(result) else 0)
    return place_product(p, result, (m, n), product)


def place_product(p: Program, element: str, shape: Shape, product: Value) -> None:
    """Declared, added to a tile, stored to a slice or a view, or one part of a larger expression."""
    form = p.pick(["declare", "declare", "scaled", "add", "store", "mixed"])
    targets = [q for q in p.places if q.element == element and q.shape == shape and q.writable]
    if form == "mixed" and product.bound < 2**18:
        other = anchored(p, element, shape)
        value = clamped(Value(f"{product.text} {p.pick('+-')} {other.text}", product.bound + other.bound), element)
        declare(p, element, shape, value.text, "d")
    elif form == "add" and targets:
        target = p.pick(targets)
        name = target.name if target.kind == "tile" else f"{target.name}[{', '.join(':' * len(shape))}]"
        p.emit(f"{name} += {product.text}")
        recap(p, target, product.bound + CAP)
    elif form == "store" and (wide := sliceable_targets(p, element, shape)):
        value = clamped(product, element)
        p.emit(f"{slice_of(p, p.pick(wide), shape)} = {value.text}")
    else:
        tile = Place(p.fresh("d"), element, shape, "tile", True)
        p.emit(f"var {tile.name}: tile<{element}>[{dims(shape)}] = {product.text}")
        if form == "scaled":
            p.emit(f"{tile.name} = {tile.name} * {literal(2, element)} + {literal(1, element)}")
        p.places.append(tile)
        recap(p, tile, 4 * product.bound)


def recap(p: Program, place: Place, bound: int) -> None:
    """Brings a tile or a view back under the cap."""
    if is_float(place.element) and bound > CAP:
        name = place.name if place.kind == "tile" else f"{place.name}[{', '.join(':' * place.rank)}]"
        p.emit(f"{name} = {clamped(Value(name, bound), place.element).text}")


def sliceable_targets(p: Program, element: str, shape: Shape) -> list[Place]:
    return [q for q in sliceable(p, element, shape) if q.writable]
