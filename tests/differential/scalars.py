"""Random expressions of one thread: scalars of every type, loads of single elements, and a thread's runs.

Which elements a thread may read is a matter of the barriers so far: `Program.uses` keeps it.
"""

from __future__ import annotations

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

SCALAR_FLOATS = ("f32", "f32", "f64", "f16", "bf16")
SCALAR_INTEGERS = ("index", "index", "index", "i32", "i64")
SCALARS = (*SCALAR_FLOATS, *SCALAR_INTEGERS, "bool")
OTHERS = "others"  # use of memory: read wherever it is


def of(type: str, text: str) -> str:
    """A conversion; an index is converted by where it goes."""
    return text if type == "index" else f"{type}({text})"


def number(p: Program, value: int, type: str) -> str:
    if is_float(type):
        text = f"{value}.0" if value >= 0 else f"(-{-value}.0)"
        return text if type in ("f32", "f64") else f"{type}({text})"
    text = str(value) if value >= 0 else f"({value})"
    return text if type == "index" or p.chance() else f"{type}({text})"


def clamp(value: Scalar, cap: int = CAP) -> Scalar:
    if not is_float(value.type) or value.bound <= cap:
        return value
    low, high = (f"{value.type}({sign}{cap}.0)" for sign in ("-", ""))
    return Scalar(f"min(max({value.text}, {low}), {high})", value.type, value.spread, cap)


def any_type(p: Program) -> str:
    return p.pick(SCALARS)


def expression(p: Program, type: str, depth: int, most: int = LANE) -> Scalar:
    """Of the type, and no more varying than `most`."""
    if depth <= 0:
        return leaf(p, type, most)
    if type != "bool" and p.chance(6):
        condition = expression(p, "bool", depth - 1, most)
        a, b = expression(p, type, depth - 1, most), expression(p, type, 0, most)
        spread = max(condition.spread, a.spread, b.spread)
        return Scalar(f"where({condition.text}, {a.text}, {b.text})", type, spread, max(a.bound, b.bound))
    if type == "bool":
        return condition_of(p, depth, most)
    return (float_operation if is_float(type) else integer_operation)(p, type, depth, most)


def leaf(p: Program, type: str, most: int) -> Scalar:
    known = [s for s in p.scalars if s.type == type and s.spread <= most]
    kind = p.pick(["known", "known", "load", "load", "convert", "place", "number"])
    if kind == "known" and known:
        return p.pick(known)
    if type == "bool":
        return comparison(p, 0, most)
    if kind == "load" and (found := load(p, type, most)):
        return found
    if kind in ("convert", "place") and type != "index":
        return converted(p, type, most)
    if kind == "number" or type != "index":
        value = p.integer(-3, 9) if not is_float(type) else p.integer(-2, 3)
        return Scalar(number(p, value, type), type, UNIFORM, abs(value))
    return position(p, most)


def position(p: Program, most: int) -> Scalar:
    # A sum with an index is one, where these may be of another integer type.
    texts = [(f"({text} + ctx.block.x)", UNIFORM) for text in p.integers]
    texts += [(text, UNIFORM) for text in [*p.variables, "ctx.threads", "ctx.block.x"]]
    texts += [("ctx.warp", WARP)] * 2 + [("ctx.thread", LANE)] * 5 + [("ctx.lane", LANE)] * 3
    text, spread = p.pick([each for each in texts if each[1] <= most])
    return Scalar(text, "index", spread)


def converted(p: Program, type: str, most: int) -> Scalar:
    if not is_float(type):
        inner = expression(p, p.pick(["index", "index", "i32", "i64"]), 1, most)
        return Scalar(f"{type}({inner.text})", type, inner.spread)
    if p.chance():
        inner = expression(p, "index", 1, most)
        return Scalar(f"{type}({inner.text} & 3)", type, inner.spread, 3)
    inner = clamp(expression(p, p.pick(SCALAR_FLOATS), 1, most))
    return Scalar(f"{type}({inner.text})", type, inner.spread, inner.bound)


def float_operation(p: Program, type: str, depth: int, most: int) -> Scalar:
    a = expression(p, type, depth - 1, most)
    op = p.pick(["+", "-", "*", "min", "max", "abs", "neg", "whole", *(["math", "/"] if p.approximate else [])])
    if op in ("abs", "neg", "whole"):
        function = {"abs": "abs", "neg": "-", "whole": p.pick(["floor", "ceil", "round"])}[op]
        if op == "whole" and p.approximate:
            return a
        return Scalar(of(type, f"{function}({a.text})"), type, a.spread, a.bound)
    if op == "math":
        a = clamp(a)
        form = p.pick(["exp({})", "log(abs({}) + 1.0)", "sqrt(abs({}))", "rsqrt(abs({}) + 1.0)", "tanh({})", "cos({})"])
        return clamp(Scalar(of(type, form.format(a.text)), type, a.spread, 60))
    b = expression(p, type, depth - 1, most)
    spread = max(a.spread, b.spread)
    if op == "/":
        return Scalar(f"({a.text}) / (abs({b.text}) + {type}(1.0))", type, spread, a.bound)
    bound = a.bound * b.bound if op == "*" else max(a.bound, b.bound) if op in ("min", "max") else a.bound + b.bound
    if bound >= room(type):
        return a
    return Scalar(applied(p, op, a.text, b.text), type, spread, bound)


def integer_operation(p: Program, type: str, depth: int, most: int) -> Scalar:
    ops = ["+", "-", "*", "min", "max", "&", "|", "^", "<<", ">>", "/", "%", "abs", "-x", "~"]
    op = p.pick([*ops, "popcount", "mixed"] if type in ("index", "i64") else ops)
    a = expression(p, type, depth - 1, most)
    if op == "mixed":
        other = p.pick(["index", "i32"])
        b = expression(p, other, depth - 1, most)
        return (
            Scalar(of(type, f"({a.text} {p.pick('+-*^')} {b.text})"), type, max(a.spread, b.spread))
            if (type == "i64")
            else a
        )
    if op == "popcount":
        return Scalar(of(type, f"popcount({a.text})"), type, a.spread)
    if op in ("abs", "-x", "~"):
        return Scalar({"abs": f"abs({a.text})", "-x": f"-({a.text})", "~": f"~({a.text})"}[op], type, a.spread)
    if op in ("/", "%"):
        return Scalar(f"(({a.text}) {op} {p.pick(['2', '3', '7', '(-3)', '16'])})", type, a.spread)
    if op in ("<<", ">>") and p.chance():
        return Scalar(f"(({a.text}) {op} {p.pick([0, 1, 5, 31, 32, 64])})", type, a.spread)
    b = expression(p, type, depth - 1, most)
    return Scalar(applied(p, op, a.text, b.text), type, max(a.spread, b.spread))


def applied(p: Program, op: str, a: str, b: str) -> str:
    """An operator of two values, sometimes by a function."""
    if p.chance(8):
        name, x, y = p.fresh("op"), *p.pick([("a", "b"), ("x", "t"), ("n", "s0")])
        form = f"{op}({x}, {y})" if op in ("min", "max") else f"{x} {op} {y}"
        if p.chance():
            p.functions.append(f"fn {name}({x}, {y}) = {form}")
        else:
            p.functions += [f"fn {name}_({y}, {x}) = {form}", f"fn {name}({x}, {y}) = {name}_({y}, {x})"]
        return f"{name}({a}, {b})"
    return f"{op}({a}, {b})" if op in ("min", "max") else f"(({a}) {op} ({b}))"


def comparison(p: Program, depth: int, most: int) -> Scalar:
    exact = SCALAR_INTEGERS if p.approximate else (*SCALAR_INTEGERS, *SCALAR_FLOATS)
    type = p.pick(exact)
    a = expression(p, type, depth, most)
    if p.chance() and not is_float(type):
        period = p.pick([2, 3, 5])
        text = f"({a.text}) % {period} {p.pick(['==', '!=', '<'])} {p.integer(0, period - 1)}"
        return Scalar(text, "bool", a.spread)
    b = expression(p, type, 0, most)
    return Scalar(
        f"({a.text}) {p.pick(['<', '<=', '>', '>=', '==', '!='])} ({b.text})", "bool", max(a.spread, b.spread)
    )


def condition_of(p: Program, depth: int, most: int) -> Scalar:
    op = p.pick(["compare", "compare", "&&", "||", "!", "=="])
    if op == "compare":
        return comparison(p, depth - 1, most)
    a = expression(p, "bool", depth - 1, most)
    if op == "!":
        return Scalar(f"!({a.text})", "bool", a.spread)
    b = expression(p, "bool", 0, most)
    return Scalar(f"(({a.text}) {op} ({b.text}))", "bool", max(a.spread, b.spread))


# Loads


def readable(p: Program) -> list[Place]:
    """Where any element may be read: nothing that a thread may have stored to since the last barrier."""
    return [q for q in [*p.inputs, *p.places] if q.inside and p.uses.get(q.memory, OTHERS) == OTHERS]


def reads(p: Program, place: Place) -> None:
    if place.writable:
        p.uses[place.memory] = OTHERS


def inside(p: Program, extent: int, most: int) -> str:
    """An index below an extent."""
    forms = [str(p.integer(0, extent - 1))]
    if extent == 1 or (most == UNIFORM and p.chance()):
        return forms[0]
    forms += [f"ctx.block.x % {extent}"]
    forms += [f"ctx.warp % {extent}"] if most >= WARP else []
    if most == LANE:
        forms += [f"{name} % {extent}" for name in ("ctx.thread", "ctx.thread", "ctx.thread", "ctx.lane")]
        if p.threads <= extent:
            forms += ["ctx.thread"] * 3
    text = p.pick([*forms, "some", "some"])
    if text == "some":
        value = expression(p, "index", 1, most).text
        text = f"(({value}) & 63) % {extent}" if p.chance() else f"min(max({value}, 0), {extent - 1})"
    return text


def at(place: Place, number: str) -> str:
    """The element with a number, counted row by row."""
    parts, after = [], prod(place.shape)
    for axis, extent in enumerate(place.shape):
        before, after = after, after // extent
        text = "0" if extent == 1 else number
        if extent > 1:
            text = f"{text} % {before}" if axis and before > 1 and prod(place.shape) != before else text
            text = f"{text} / {after}" if after > 1 else text
        parts.append(text)
    return f"{place.name}[{', '.join(parts)}]"


def load(p: Program, type: str, most: int) -> Scalar | None:
    """An element of an integer place is an index; one of a float place is converted."""
    fitting = [q for q in readable(p) if is_float(q.element) == is_float(type)]
    if not fitting:
        return None
    place = p.pick(fitting)
    text = f"{place.name}[{', '.join(inside(p, extent, most) for extent in place.shape)}]"
    reads(p, place)
    cap = CAP if is_float(type) else 0
    return Scalar(of(type, text), type, most, cap)


# Runs


def run(p: Program, element: str, length: int) -> str | None:
    """A thread's run in a tensor or a whole tile."""
    places = [q for q in readable(p) if q.element == element and q.kind != "view" and max(q.shape) >= length]
    if not places:
        return None
    place = p.pick(places)
    axes = [axis for axis, extent in enumerate(place.shape) if extent >= length]
    along = axes[-1] if p.chance(3) else p.pick(axes)
    parts = [inside(p, extent, LANE) for extent in place.shape]
    last = place.shape[along] - length
    parts[along] = (
        f"{p.pick([str(p.integer(0, last)), f'ctx.thread % {last + 1}', inside(p, last + 1, LANE)])} :+ {length}"
    )
    if p.chance(3):
        parts[along] = f"{last // length * length} :+ {length}"
    reads(p, place)
    return f"{place.name}[{', '.join(parts)}]"


def summed(p: Program) -> Scalar | None:
    """`sum(e)`: runs of one length, bytes mostly in the forms that are packed."""
    elements = sorted({q.element for q in readable(p)})
    element = p.pick([*elements, *(["i8"] * 3 if "i8" in elements else [])])
    length = p.pick([4, 4, 8, 8, 16, 2, 3, 12])
    a, b = run(p, element, length), run(p, element, length)
    if a is None or b is None:
        return None
    if is_float(element):
        type = "f64" if element == "f64" else "f32"
        form, bound = p.pick([(f"{a}", CAP), (f"{a} * {b}", CAP * CAP), (f"f32({a}) * 2.0 + 1.0", 2 * CAP + 1)])
        if p.approximate and type == "f32":
            form, bound = f"{form} - f32({b})", bound + CAP
        elif not p.approximate:
            form = p.pick([form, f"where({a} > {b}, {a}, {b})"])
        bound *= length
        return Scalar(f"sum({form})", type, LANE, bound) if bound < room(element) else None
    nibble, seven = f"((i32({a}) >> 4) & 15)", f"(i32({a}) & 127)"
    packed = [f"i32({a}) * i32({b})", f"i32({a})", f"{nibble} * i32({b})", f"i32({b}) * {seven}", f"{nibble} * {seven}"]
    free = [
        f"{a} * {b}",
        f"i32({a}) * 3 - i32({b})",
        f"where({a} > {b}, {a}, {b})",
        f"({a} & 15) + ctx.lane",
        f"{a} ^ {b}",
    ]
    return Scalar(f"sum({p.pick([*packed, *free] if element not in UNSIGNED else free)})", "index", LANE)


def word(p: Program) -> str | None:
    length = p.pick([4, 4, 8, 16])
    text = run(p, "i8", length)
    return None if text is None else f"word({text}, {p.integer(0, length // 4 - 1)})"


def packed(p: Program) -> Scalar | None:
    a, b = word(p), word(p)
    if a is None or b is None:
        return None
    selector = expression(p, "index", 1).text
    form = p.pick(
        [
            a,
            f"dp4a({a}, {b}, {p.integer(-9, 9)})",
            f"byteperm({a}, {b}, {selector})",
            f"dp4a({a} & 252645135, ({b} >> 4) & 252645135, {selector})",
            f"popcount({a} ^ {b})",
            f"i64(f32(f16bits(({a} & 1023) | 25600)))",
        ]
    )
    return Scalar(form, "i64" if form.startswith("i64") else "index", LANE)


def element_of_run(p: Program) -> Scalar | None:
    place = p.pick(readable(p) or [None])
    length = p.pick([2, 4, 8])
    text = None if place is None else run(p, place.element, length)
    if place is None or text is None:
        return None
    text = f"elem({text}, {p.integer(0, length - 1)})"
    if is_float(place.element):
        return Scalar(f"f32({text})", "f32", LANE, CAP)
    return Scalar(text, "index", LANE)
