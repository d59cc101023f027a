"""Random tile expressions of an element type and a shape, with the bound of what they may give."""

from __future__ import annotations

from tests.differential.program import (
    CAP,
    FLOATS,
    INTEGERS,
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

MATH = (
    "exp({})",
    "log(abs({}) + 1.0)",
    "sqrt(abs({}) + 0.1)",
    "rsqrt(abs({}) + 1.0)",
    "tanh({})",
    "sin({})",
    "cos({})",
)


def start(p: Program, extent: int, length: int, place: Place) -> str:
    """Where a span begins: inside, or, where it is masked, also before the start and past the end."""
    if place.kind == "tile" or (p.in_range and place.kind == "tensor"):
        return str(p.integer(0, extent - length))
    kind = p.pick(["zero", "constant", "variable", "offset", "far"])
    if kind in ("variable", "offset") and p.variables:
        variable = p.pick(p.variables)
        return variable if kind == "variable" else f"{variable} {p.pick('+-')} {p.integer(0, 9)}"
    if kind == "far" and p.integers:
        return f"{p.pick(p.integers)} - {p.integer(0, 30)}"
    return "0" if kind == "zero" else str(p.integer(0, max(extent - 1, 0)))


def subscript(p: Program, place: Place, axis: int, length: int) -> str:
    extent = place.shape[axis]
    known = place.kind != "tensor" or place.dims[axis].isdigit()
    if known and extent == length and p.chance():
        return ":"
    first = start(p, extent, length, place)
    if length == 1 and place.kind == "tile" and place.rank > 1 and axis and p.chance(4):
        return first
    if first.isdigit():
        forms = [f"{first} :+ {length}", f"{first} : {int(first) + length}"]
        if first == "0":
            forms.append(f": {length}")
        if known and int(first) + length == extent:
            forms.append(f"{first} :")
        return p.pick(forms)
    return f"{first} :+ {length}"


def slice_of(p: Program, place: Place, shape: Shape) -> str:
    subscripts = ", ".join(subscript(p, place, axis, length) for axis, length in enumerate(shape))
    return f"{place.name}[{subscripts}]"


def sliceable(p: Program, element: str, shape: Shape) -> list[Place]:
    every = [*p.inputs, *p.places]
    return [
        place
        for place in every
        if place.element == element
        and place.rank == len(shape)
        and (
            (place.kind != "tile" and not (p.in_range and place.kind == "tensor"))
            or all(a <= b for a, b in zip(shape, place.shape, strict=True))
        )
    ]


def broadcastable(p: Program, element: str, shape: Shape) -> list[Place]:
    return [
        place
        for place in p.places
        if place.element == element
        and place.rank == len(shape)
        and all(a in (b, 1) for a, b in zip(place.shape, shape, strict=True))
    ]


def read(p: Program, element: str, shape: Shape) -> Value | None:
    """A tile or a slice of the element type, exactly of the shape or broadcasting to it; None where there is none."""
    options: list[str] = [place.name for place in broadcastable(p, element, shape)]
    options += [slice_of(p, place, shape) for place in sliceable(p, element, shape)[:4]]
    if len(shape) == 2:
        flipped = [q for q in p.places if q.element == element and q.shape == shape[::-1] and q.kind == "tile"]
        options += [f"transpose({q.name})" for q in flipped[:2]]
        if shape[1] == 1:
            rows = [q for q in p.places if q.element == element and q.rank == 2 and q.shape[0] == shape[0]]
            options += [f"rowmax({q.name})" for q in rows[:2]]
    if not options:
        return None
    return Value(p.pick(options), CAP if is_float(element) else 0)


def anchor(p: Program, element: str, shape: Shape) -> Value:
    """A value that surely has the element type and the shape: a read, or one of another type converted."""
    found = read(p, element, shape)
    if found is not None and not p.chance(5):
        return found
    for other in p.draw_order((*FLOATS, *INTEGERS, *UNSIGNED)):
        # Which integer an approximate float becomes is not to be relied on.
        if other == element or (p.approximate and is_float(other) and not is_float(element)):
            continue
        source = read(p, other, shape)
        if source is not None and (other not in UNSIGNED or element != "i8"):
            return converted(p, source, other, element)
    if found is not None:
        return found
    name = p.fresh("c")
    dims = ", ".join(map(str, shape))
    value = p.integer(-2, 2)
    p.emit(f"var {name}: tile<{element}>[{dims}] = {literal(value, element)}")
    p.places.append(Place(name, element, shape, "tile", True))
    return Value(name, abs(value) if is_float(element) else 0)


def converted(p: Program, source: Value, element: str, to: str) -> Value:
    if not is_float(to):
        return Value(f"{to}({source.text})", 0)
    if is_float(element):
        return Value(f"{to}({source.text})", source.bound)
    inner = f"i32({source.text})" if element in UNSIGNED else f"({source.text})"
    return Value(f"{to}({inner} & 3)", 3)


def expression(p: Program, element: str, shape: Shape, depth: int) -> Value:
    if depth == 0:
        return leaf(p, element, shape)
    if is_float(element):
        return float_operation(p, element, shape, depth)
    return integer_operation(p, element, shape, depth)


def leaf(p: Program, element: str, shape: Shape) -> Value:
    kind = p.pick(["read", "read", "literal", "scalar", "converted"])
    if kind == "scalar" and p.integers:
        name = p.pick(p.integers)
        return Value(f"f32({name} % 3)", 2) if element in ("f32", "f64") else Value(f"{element}({name} % 3)", 2)
    if kind == "converted":
        return anchor(p, element, shape)
    if kind != "literal":
        found = read(p, element, shape)
        if found is not None:
            return found
    value = p.integer(-3, 3)
    return Value(literal(value, element) if value >= 0 else f"({literal(value, element)})", abs(value))


def float_operation(p: Program, element: str, shape: Shape, depth: int) -> Value:
    ops = ["leaf", "+", "-", "*", "min", "max", "abs", "neg", "floor", "halve"]
    op = p.pick([*ops, *(["math", "divide"] if p.approximate else [])])
    a = expression(p, element, shape, depth - 1)
    if op == "math":
        a = clamped(a, element)
        function = p.pick(
            ["exp({})", "log(abs({}) + 1.0)", "sqrt(abs({}))", "rsqrt(abs({}) + 1.0)", "tanh({})", "sin({})"]
        )
        return Value(function.format(a.text), 60)
    if op == "divide":
        b = expression(p, element, shape, 0)
        return Value(f"({a.text}) / (abs({b.text}) + 1.0)", a.bound)
    if op == "leaf":
        return a
    if op in ("abs", "neg", "floor"):
        function = p.pick(["floor", "ceil", "round"]) if op == "floor" else op
        if function in ("floor", "ceil", "round") and p.approximate:
            return a
        return Value(f"-({a.text})" if op == "neg" else f"{function}({a.text})", a.bound)
    if op == "halve":
        return (
            a if p.approximate else Value(f"({a.text}) * 4.0 / 2.0", 4 * a.bound) if 4 * a.bound < room(element) else a
        )
    b = expression(p, element, shape, depth - 1)
    text, bound = {
        "+": (f"({a.text} + {b.text})", a.bound + b.bound),
        "-": (f"({a.text} - {b.text})", a.bound + b.bound),
        "*": (f"({a.text}) * ({b.text})", a.bound * b.bound),
        "min": (f"min({a.text}, {b.text})", max(a.bound, b.bound)),
        "max": (f"max({a.text}, {b.text})", max(a.bound, b.bound)),
    }[op]
    return Value(text, bound) if bound < room(element) else a


def integer_operation(p: Program, element: str, shape: Shape, depth: int) -> Value:
    op = p.pick(["leaf", "+", "-", "*", "min", "max", "abs", "-x", "~", "&", "|", "^", "<<", ">>", "/", "%"])
    a = expression(p, element, shape, depth - 1).text
    if op == "leaf":
        return Value(a, 0)
    if op in ("abs", "-x", "~"):
        return Value({"abs": f"abs({a})", "-x": f"-({a})", "~": f"~({a})"}[op], 0)
    if op in ("<<", ">>") and p.chance():
        return Value(f"(({a}) {op} {p.pick([0, 1, 3, 7, 8, 31, 32, 40, 64])})", 0)
    if op in ("/", "%"):
        return Value(f"(({a}) {op} {p.pick(['2', '3', '7', '(-3)', '16'])})", 0)
    b = expression(p, element, shape, depth - 1).text
    return Value(f"{op}({a}, {b})" if op in ("min", "max") else f"(({a}) {op} ({b}))", 0)


def anchored(p: Program, element: str, shape: Shape) -> Value:
    """An expression that has the element type and the shape for sure."""
    a, b = expression(p, element, shape, p.integer(0, 2)), anchor(p, element, shape)
    if a.bound + b.bound >= room(element):
        return b
    return Value(f"({a.text}) {p.pick('+-')} {b.text}", a.bound + b.bound)


def condition(p: Program, element: str, shape: Shape) -> str:
    axis = p.integer(0, len(shape) - 1)
    limit = p.integer(0, shape[axis])
    parts = [f"iota({axis}) {p.pick(['<', '>=', '==', '!='])} {limit}"]
    if p.integers:
        parts.append(f"iota({axis}) <= {p.pick(p.integers)}")
    if not p.approximate or not is_float(element):
        found = read(p, element, shape)
        if found is not None:
            parts.append(f"{found.text} {p.pick(['<', '<=', '>', '!='])} {literal(p.integer(0, 2), element)}")
    if len(shape) > 1:
        parts.append("iota(0) + 1 > iota(1)")
    return f" {p.pick(['&&', '||'])} ".join(p.pick(parts) for _ in range(p.integer(1, 2)))
