"""Fixes of types: conversions that are missing, types that may not stand where they do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.analysis.program import TileType
from phobos_core.language.types import SPELLED, Kind
from phobos_core.syntax import ast
from phobos_ls.fixes import elsewhere
from phobos_ls.fixes.names import close
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.fixes.values import COMPARISONS, Value, value_of
from phobos_ls.syntax_tree import EXPRESSIONS

# How the checker's help names the conversion that is missing.
_CONVERSION = re.compile(r"`([a-z0-9]+)\(\.\.\)`")
_LOGICAL = ("&&", "||")


def unknown_type(problem: Problem) -> Iterator[Fix]:
    known = elsewhere.TYPES.get(problem.written.lower())
    names = dict.fromkeys(
        [*([known] if known else []), *close(problem.written, SPELLED), *_of_the_kind(problem.written)]
    )
    for number, name in enumerate(names):
        yield from fix(f"Change to `{name}`", problem.instead(name), preferred=number == 0, guess=name != known)


def _of_the_kind(name: str) -> list[str]:
    """Types of the same letter with the nearest numbers of bits: `f16` for `f8`."""
    letter, bits = name[:1], name[1:]
    if not bits.isdigit():
        return []
    alike = [known for known in SPELLED if known[:1] == letter and known[1:].isdigit()]
    return sorted(alike, key=lambda known: abs(int(known[1:]) - int(bits)))[:2]


def misplaced_type(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.ShapedTypeExpr)
    if node is None:
        return
    other = "tensor" if node.constructor == "tile" else "tile"
    start, _ = problem.place(node)
    yield from fix(
        f"Make it a {other}",
        Change(start, start + len(node.constructor), other),
        preferred=other == "tensor",
        guess=True,
    )
    statement = problem.node((ast.Let, ast.Var))
    if statement is not None and statement.value is not None:
        _, name_end = problem.place(statement.name)
        yield from fix("Leave the type out", Change(name_end, problem.place(node)[1], ""))


def bool_storage(problem: Problem) -> Iterator[Fix]:
    yield from fix("Store 0 and 1 as `i8`", problem.instead("i8"), preferred=True)


def unsigned_scalar(problem: Problem) -> Iterator[Fix]:
    wide = "i64" if problem.written == "u32" else "i32"
    yield from fix(f"Declare it `{wide}`", problem.instead(wide), preferred=True)


def unsigned_arithmetic(problem: Problem) -> Iterator[Fix]:
    """The unsigned operands converted; both, where both are."""
    node = problem.exactly(EXPRESSIONS)
    match node:
        case ast.Binary(lhs=lhs, rhs=rhs):
            operands: list[ast.Expr] = [lhs, rhs]
        case ast.Unary(operand=operand):
            operands = [operand]
        case ast.Call(callee=ast.Name(text=name), args=args) if name in ("min", "max", "tmax", "abs"):
            operands = list(args)
        case _:
            operands = [node] if node is not None else []
    assign = problem.node(ast.Assign)
    if node is None and assign is not None and problem.place(assign) == (problem.start, problem.end):
        operands = [assign.value]
    unsigned = [o for o in operands if (v := value_of(problem, o)) is not None and _unsigned(v)]
    for chosen in (unsigned, operands, *([o] for o in operands)):
        if chosen:
            yield from _converted(problem, chosen)


def _converted(problem: Problem, operands: list[ast.Expr]) -> Iterator[Fix]:
    values = [value_of(problem, o) for o in operands]
    wide = "i64" if any(v is not None and v.element == "u32" for v in values) else "i32"
    shown = " and ".join(f"`{wide}({problem.spelled(o)})`" for o in operands)
    yield from fix(
        f"Convert to {shown}", *(problem.wrap(o, f"{wide}(") for o in operands), preferred=True, group="convert"
    )


def _unsigned(value: Value) -> bool:
    return value.scalar_type is not None and value.scalar_type.kind is Kind.UINT


def convert_as_helped(problem: Problem) -> Iterator[Fix]:
    """The conversion that the help names."""
    named = _CONVERSION.search(problem.help)
    if named is None:
        return
    name = named[1]
    truncated = ", which truncates" if name.startswith("i") and _is_float(problem) else ""
    text = f"{name}({problem.written})"
    both = _same_mistake(problem)
    if len(both) > 1:
        shown = " and ".join(f"`{name}({problem.spelled(node)})`" for node in both)
        yield from fix(f"Convert to {shown}{truncated}", *(problem.wrap(n, f"{name}(") for n in both))
    yield from fix(f"Convert it: `{text}`{truncated}", problem.instead(text), preferred=not truncated)


def contraction_operand(problem: Problem) -> Iterator[Fix]:
    """As the help says; integers also in the one width that is contracted without floats."""
    yield from convert_as_helped(problem)
    both = _same_mistake(problem)
    if both and not _is_float(problem):
        shown = " and ".join(f"`i8({problem.spelled(node)})`" for node in both)
        yield from fix(f"Convert to {shown}, which keeps the low 8 bits", *(problem.wrap(n, "i8(") for n in both))


def _is_float(problem: Problem) -> bool:
    node = problem.exactly(EXPRESSIONS)
    value = None if node is None else value_of(problem, node)
    return value is not None and value.is_float


def _same_mistake(problem: Problem) -> list[ast.Expr]:
    """The operands of the call that have the element type of the one that is reported."""
    call = next((c for c in problem.around(ast.Call) if problem.place(c) != (problem.start, problem.end)), None)
    node = problem.exactly(EXPRESSIONS)
    value = None if node is None else value_of(problem, node)
    if call is None or value is None:
        return []
    others = ((a, value_of(problem, a)) for a in call.args)
    return [a for a, found in others if found is not None and found.element == value.element]


def type_mismatch(problem: Problem) -> Iterator[Fix]:
    yield from convert_as_helped(problem)
    node = problem.exactly(EXPRESSIONS)
    if node is None or "`bool`" not in problem.message:
        return
    if "holds `bool`" in problem.message:
        yield from fix(f"Compare it: `{_compared(problem, node)}`", problem.instead(_compared(problem, node)))
    else:
        yield from _chosen(problem, node)


def no_join(problem: Problem) -> Iterator[Fix]:
    """A bool in arithmetic: 1 or 0 by a `where`. Two comparisons in a row: both joined by `&&`."""
    node = problem.exactly((ast.Binary, ast.Unary))
    if isinstance(node, ast.Unary):
        if node.op in ("-", "~"):
            yield from _not(problem, node)
        yield from _chosen(problem, node.operand)
        return
    if node is None:
        return
    if node.op in ("&", "|", "^"):
        logical = {"&": "&&", "|": "||", "^": "!="}[node.op]
        offset = problem.placed.offset if problem.placed else 0
        change = Change(node.op_span.start + offset, node.op_span.end + offset, logical)
        yield from fix(f"Join bools with `{logical}`", change, preferred=True)
    if node.op in COMPARISONS and isinstance(node.lhs, ast.Binary) and node.lhs.op in COMPARISONS:
        left, middle, right = map(problem.spelled, (node.lhs, node.lhs.rhs, node.rhs))
        text = f"{left} && {middle} {node.op} {right}"
        yield from fix(f"Write `{text}`", problem.instead(text), preferred=True)
    for side in (node.lhs, node.rhs):
        yield from _chosen(problem, side)


def _not(problem: Problem, node: ast.Unary) -> Iterator[Fix]:
    start, _ = problem.place(node)
    yield from fix("Negate it with `!`", Change(start, start + 1, "!"), preferred=True)


def _chosen(problem: Problem, node: ast.Expr) -> Iterator[Fix]:
    text, value = problem.spelled(node), value_of(problem, node)
    if value is not None and value.element != "bool":
        return
    for one, zero in (("1", "0"), ("1.0", "0.0")):
        yield from fix(
            f"Choose the value: `where({text}, {one}, {zero})`",
            problem.wrap(node, "where(", f", {one}, {zero})"),
            group=f"choose {node.span}",
        )


def no_conversion(problem: Problem) -> Iterator[Fix]:
    call = problem.exactly(ast.Call) or problem.node(ast.Call)
    if call is None or len(call.args) != 1 or not isinstance(call.callee, ast.Name):
        return
    text = problem.spelled(call.args[0])
    name = call.callee.text
    if name in SPELLED and SPELLED[name].kind is Kind.UINT:
        yield from fix("Leave the conversion out: storing wraps", problem.replace(call, text), preferred=True)
        yield from fix(f"Convert to `i32`: `i32({text})`", problem.replace(call, f"i32({text})"))
    elif name == "bool":
        compared = _compared(problem, call.args[0])
        yield from fix(f"Compare it: `{compared}`", problem.replace(call, compared), preferred=True)
    else:
        one, zero = ("1.0", "0.0") if SPELLED[name].is_float else ("1", "0")
        chosen = f"where({text}, {one}, {zero})"
        yield from fix(f"Choose the value: `{chosen}`", problem.replace(call, chosen), preferred=True)


def float_bit_operation(problem: Problem) -> Iterator[Fix]:
    node = problem.exactly(EXPRESSIONS)
    if isinstance(node, ast.FloatLit) and node.value.is_integer():
        text = str(int(node.value))
        yield from fix(f"Write the integer `{text}`", problem.instead(text), preferred=True)
    if isinstance(node, ast.Unary) and node.op == "~":
        yield from fix("Convert the operand with `i32`, which truncates", problem.wrap(node.operand, "i32("))
        return
    yield from fix("Convert it with `i32`, which truncates", problem.instead(f"i32({problem.written})"))


def compare(problem: Problem) -> Iterator[Fix]:
    """A number where a bool belongs: compared with 0."""
    node = problem.exactly(EXPRESSIONS)
    if node is None:
        return
    if isinstance(node, ast.Unary) and node.op == "!":
        text = _compared(problem, node.operand, "==")
        parent = next((n for n in problem.around((ast.Binary, ast.Unary)) if n is not node), None)
        closed = f"({text})" if parent is not None and getattr(parent, "op", "") not in _LOGICAL else text
        yield from fix(f"Compare it: `{text}`", problem.instead(closed), preferred=True)
        return
    text = _compared(problem, node)
    yield from fix(f"Compare it: `{text}`", problem.instead(text), preferred=True)


def _compared(problem: Problem, node: ast.Expr, op: str = "!=") -> str:
    value = value_of(problem, node)
    return f"{problem.spelled(node)} {op} {'0.0' if value is not None and value.is_float else '0'}"


def tile_comparison(problem: Problem) -> Iterator[Fix]:
    """1 or 0 per element. A statement that takes its tile's type from the value needs it said."""
    text = f"where({problem.written}, 1.0, 0.0)"
    yield from fix(f"Choose per element: `{text}`", problem.instead(text), preferred=True)
    statement = problem.node((ast.Let, ast.Var))
    node = problem.exactly(EXPRESSIONS)
    value = None if node is None else value_of(problem, node)
    if statement is not None and value is not None and statement.type is None and statement.value is node:
        start, end = problem.place(statement)
        declared = f"var {statement.name.text}: tile<f32>[{', '.join(value.extents)}] = {text}"
        yield from fix(f"Choose per element: `{declared}`", Change(start, end, declared), preferred=True)


def missing_initializer(problem: Problem) -> Iterator[Fix]:
    statement = problem.node(ast.Var)
    if statement is None:
        return
    _, end = problem.place(statement)
    name = statement.type.name if isinstance(statement.type, ast.ScalarTypeExpr) else ""
    zero = "false" if name == "bool" else "0.0" if name and SPELLED[name].is_float else "0"
    yield from fix(f"Give it the value {zero}", Change(end, end, f" = {zero}"), preferred=True)


def named_tile(problem: Problem) -> Iterator[Fix]:
    """An expression where a tile's name belongs: copied into a tile of its own first."""
    if not problem.statements:
        return
    name = problem.fresh("tile1")
    text = f"var {name} = {problem.written}"
    yield from fix(
        f"Copy it into a tile first: `{text}`", problem.before(problem.statements[0], text), problem.instead(name)
    )


def not_a_tile(problem: Problem) -> Iterator[Fix]:
    """An operator on scalars that has another name."""
    call = problem.node(ast.Call)
    if call is not None and isinstance(call.callee, ast.Name) and call.callee.text == "tmax":
        yield from fix("Use `max`", problem.replace(call.callee, "max"), preferred=True)


def not_a_scalar(problem: Problem) -> Iterator[Fix]:
    node = problem.exactly(EXPRESSIONS)
    statement = problem.node((ast.Let, ast.Var))
    if statement is not None and statement.value is node and isinstance(statement.type, ast.ScalarTypeExpr):
        start, _ = problem.place(statement)
        low, _ = problem.place(node)
        yield from fix(f"Make `{statement.name.text}` a tile", Change(start, low, f"var {statement.name.text} = "))
    if isinstance(node, ast.Index):
        points = ", ".join(_first(problem, each) for each in node.subscripts)
        text = f"{problem.spelled(node.base)}[{points}]"
        yield from fix(f"Read one element: `{text}`", problem.replace(node, text))
    elif isinstance(node, ast.Name):
        symbol = problem.symbol(node)
        if symbol is not None and isinstance(symbol.type, TileType):
            text = f"{node.text}[{', '.join('0' for _ in symbol.type.shape)}]"
            yield from fix(f"Read one element: `{text}`", problem.replace(node, text))


def _first(problem: Problem, subscript: ast.Subscript) -> str:
    match subscript:
        case ast.PointSub(index=index):
            return problem.spelled(index)
        case ast.SpanSub(start=start):
            return problem.spelled(start)
        case ast.RangeSub(start=start):
            return "0" if start is None else problem.spelled(start)
    raise AssertionError(subscript)


def not_a_tensor(problem: Problem) -> Iterator[Fix]:
    """A scalar parameter made a tensor of one element."""
    kernel = problem.kernel
    param = next((p for p in kernel.params if p.name.text == problem.written), None) if kernel is not None else None
    if param is not None and isinstance(param.type, ast.ScalarTypeExpr):
        type_ = f"tensor<{param.type.name}>[1]"
        yield from fix(f"Make `{param.name.text}` a `{type_}`", problem.replace(param.type, type_))


def plain_loop(problem: Problem) -> Iterator[Fix]:
    """A loop that cannot be unrolled so: without `unroll`."""
    loop = problem.node(ast.For)
    if loop is None or loop.unroll is None:
        return
    start, _ = problem.place(loop)
    low, high = problem.place(loop.unroll)
    if not (low <= problem.start and problem.end <= high) and problem.diagnostic.code == "not-constant":
        return
    end = problem.snapshot.text.find(b">", high) + 1
    yield from fix("Do not unroll the loop", Change(start + len("for"), end, ""), preferred=True)


def f64_math(problem: Problem) -> Iterator[Fix]:
    call = problem.exactly(ast.Call)
    if call is not None and call.args:
        yield from fix(
            "Convert to f32 openly; the result is the same", *(problem.wrap(arg, "f32(") for arg in call.args)
        )
