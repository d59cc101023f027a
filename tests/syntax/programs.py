"""Generated programs: the text of one, with free white space, beside the shape that it must parse to.

The shape is built with the text, from the spec's grammar and precedences, never by a parser.
"""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

LEVELS = {
    op: level
    for level, ops in enumerate(
        ["||", "&&", "== !=", "< <= > >=", "|", "^", "&", "<< >>", "+ -", "* / %"],
        1,
    )
    for op in ops.split()
}
UNARY = 11
POSTFIX = 12

NAMES = st.sampled_from(["a", "b_1", "_", "range", "tile", "f32", "width", "unroll", "dot", "max", "sum", "from"])
GAPS = st.sampled_from(["", " ", "  ", "\t"])
# What may stand where a statement cannot end.
BREAKS = st.sampled_from(["", " ", "\n", "\r\n ", " // c\n", "\n\n\t"])
ENDS = st.sampled_from(["\n", ";", " ; ", " // é\n", "\r\n", "\n\n", ";\n"])


class Text:
    """Builds a text, with a gap of free choice between two tokens, and one at least between two words."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self.text = ""
        self.brackets = 0

    def add(self, *tokens: str) -> None:
        for token in tokens:
            gap = self.draw(BREAKS if self.brackets else GAPS)
            last = self.text[-1:]
            # `a` `b`, `1` `.`, `<` `<`, `/` `/`: tokens that would grow together stay apart.
            joins = (last.isalnum() or last in "_.") and (token[0].isalnum() or token[0] in "_.")
            if not gap and (joins or (last and last in "<>=!&|:+-*/%^" and token[0] in "<>=&|+/*")):
                gap = " "
            self.text += gap + token
            self.brackets += (token in ("(", "[")) - (token in (")", "]"))


def atom(t: Text) -> str:
    match t.draw(st.integers(0, 4)):
        case 0:
            value = t.draw(st.integers(0, 2**63 - 1))
            t.add(str(value))
            return str(value)
        case 1:
            written = t.draw(st.sampled_from(["1.5", "2.", "1e3", "0.5E-2", "3.e+1"]))
            t.add(written)
            return repr(float(written))
        case 2:
            word = t.draw(st.sampled_from(["true", "false"]))
            t.add(word)
            return word
        case 3:
            field = t.draw(st.sampled_from([["lane"], ["block", "x"]]))
            t.add("ctx", ".", field[0])
            for axis in field[1:]:
                t.add(".", axis)
            return f"ctx.{'.'.join(field)}"
        case _:
            name = t.draw(NAMES)
            t.add(name)
            return name


def many(t: Text, opening: str, closing: str, depth: int, least: int = 0) -> str:
    t.add(opening)
    shapes = []
    for i in range(t.draw(st.integers(least, 2))):
        if i:
            t.add(",")
        shapes.append(subscript(t, depth) if opening == "[" else expression(t, depth))
    t.add(closing)
    return "[" + ", ".join(shapes) + "]"


def subscript(t: Text, depth: int) -> str:
    kind = t.draw(st.integers(0, 4))
    if kind == 0:
        t.add(":")
        return "(: _ _)"
    if kind == 1:
        t.add(":")
        return f"(: _ {expression(t, depth)})"
    start = expression(t, depth)
    if kind == 2:
        return start
    if kind == 3:
        t.add(":")
        return f"(: {start} {expression(t, depth) if t.draw(st.booleans()) else '_'})"
    t.add(":+")
    return f"(:+ {start} {expression(t, depth)})"


def expression(t: Text, depth: int, level: int = 1) -> str:
    """Adds an expression that may stand where operators of `level` and tighter may."""
    kind = t.draw(st.integers(0, 6)) if depth else 0
    if kind == 1:
        op = t.draw(st.sampled_from(sorted(LEVELS)))
        if LEVELS[op] >= level:
            left = expression(t, depth - 1, LEVELS[op])
            # A comparison with a name of a collective may look like one: not what is tested here.
            t.add(op)
            right = expression(t, depth - 1, LEVELS[op] + 1)
            return f"({op} {left} {right})"
    if kind == 2 and level <= UNARY:
        op = t.draw(st.sampled_from("-!~"))
        t.add(op)
        return f"({op} {expression(t, depth - 1, POSTFIX)})"
    if kind == 3:
        callee = expression(t, depth - 1, POSTFIX)
        return f"(call {callee} {many(t, '(', ')', depth - 1)})"
    if kind == 4:
        base = expression(t, depth - 1, POSTFIX)
        return f"(index {base} {many(t, '[', ']', depth - 1, least=1)})"
    if kind == 5:
        return collective(t, depth - 1)
    if kind == 6:
        t.add("(")
        inner = expression(t, depth - 1)
        t.add(")")
        return inner
    return atom(t)


def collective(t: Text, depth: int) -> str:
    op = t.draw(st.sampled_from(["sum", "max", "min", "any", "all", "argmax", "reduce", "shfl"]))
    mode = t.draw(st.sampled_from(["over", "from", "xor", "down", "up"]))
    t.add(op, "<", mode)
    if mode == "over":
        t.add("ctx", ".", "lane")
        operand = "ctx.lane"
    else:
        operand = expression(t, depth, LEVELS["|"])
    width = "_"
    if t.draw(st.booleans()):
        t.add(",", "width")
        width = expression(t, depth, LEVELS["|"])
    t.add(">")
    return f"(group {op} {mode} {operand} {width} {many(t, '(', ')', depth, least=1)})"


def type_(t: Text) -> str:
    scalar = t.draw(st.sampled_from(["f16", "bf16", "f32", "i8", "u32", "bool"]))
    if t.draw(st.booleans()):
        t.add(scalar)
        return scalar
    kind = t.draw(st.sampled_from(["tile", "tensor"]))
    t.add(kind, "<", scalar, ">", "[", "M", ",", "64", "]")
    return f"({kind} {scalar} [M, 64])"


def block(t: Text, depth: int) -> str:
    t.add("{")
    shapes = [statement(t, depth) for _ in range(t.draw(st.integers(0, 2)))]
    t.add("}")
    return "{" + "; ".join(shapes) + "}"


def statement(t: Text, depth: int) -> str:
    kind = t.draw(st.integers(0, 7 if depth else 4))
    if kind >= 5:
        return compound(t, kind, depth - 1)
    match kind:
        case 0:
            name = t.draw(NAMES)
            t.add("let", name)
            declared = "_"
            if t.draw(st.booleans()):
                t.add(":")
                declared = type_(t)
            t.add("=")
            shape = f"let {name} {declared} {expression(t, depth)}"
        case 1:
            name = t.draw(NAMES)
            t.add("var", name, ":")
            shape = f"var {name} {type_(t)} _"
        case 2:
            name = t.draw(NAMES)
            t.add(name)
            target = f"(index {name} {many(t, '[', ']', depth, least=1)})" if t.draw(st.booleans()) else name
            op = t.draw(st.sampled_from(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]))
            t.add(op)
            shape = f"{target} {op} {expression(t, depth)}"
        case 3:
            shape = t.draw(st.sampled_from(["break", "continue", "return"]))
            t.add(shape)
        case _:
            shape = expression(t, depth)
    t.text += t.draw(ENDS)
    return shape


def compound(t: Text, kind: int, depth: int) -> str:
    if kind == 5:
        t.add("if")
        shape = f"if {expression(t, depth)} {block(t, depth)}"
        if not t.draw(st.booleans()):
            return f"{shape} _"
        t.add("else")
        return f"{shape} {compound(t, 5, depth) if depth > 0 and t.draw(st.booleans()) else block(t, depth)}"
    if kind == 6:
        t.add("while")
        return f"while {expression(t, depth)} {block(t, depth)}"
    t.add("for")
    unroll = "_"
    if t.draw(st.booleans()):
        t.add("<", "unroll")
        unroll = expression(t, depth, LEVELS["|"])
        t.add(">")
    name = t.draw(NAMES)
    t.add(name, "in", "range", "(")
    low = expression(t, depth)
    t.add(",")
    high = expression(t, depth)
    step = "_"
    if t.draw(st.booleans()):
        t.add(",")
        step = expression(t, depth)
    t.add(")")
    return f"for {unroll} {name} {low} {high} {step} {block(t, depth)}"


def item(t: Text) -> str:
    if t.draw(st.booleans()):
        t.add("@", "tune", "(", "X", "in", "[", "1", ",", "2", "]", ",", "M", "=", "4", ",", "7", ")")
        t.add("kernel", "k", "(", "p", ":")
        declared = type_(t)
        t.add(")")
        shape = f"@tune[X in [1, 2], M = 4, 7] kernel k[p: {declared}] {block(t, 3)}"
    elif t.draw(st.booleans()):
        t.add("fn", "f", "(", "p", ",", "q", ")", "=")
        shape = f"fn f[p, q] {expression(t, 3)}"
    else:
        t.add("fn", "f", "(", ")")
        shape = f"fn f[] {block(t, 3)}"
    t.text += t.draw(ENDS) if not t.text.endswith("}") else "\n"
    return shape


@st.composite
def programs(draw: DrawFn) -> tuple[str, list[str]]:
    t = Text(draw)
    shapes = [item(t) for _ in range(draw(st.integers(1, 3)))]
    return t.text, shapes
