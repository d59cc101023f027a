"""Checks short sources, and prints checked programs compactly enough to be written by hand as an expectation."""

from __future__ import annotations

from phobos_core.analysis import CheckedFile, check
from phobos_core.analysis import program as pg
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import parse

# One tensor of each kind that the rules tell apart, static and dynamic; `T` is searched.
PARAMS = (
    "A: tensor<f32>[64, 64], B: tensor<f32>[64, 64], H: tensor<f16>[64, 64], BF: tensor<bf16>[64, 64],"
    " D: tensor<f64>[64, 64], I: tensor<i32>[64, 64], L: tensor<i64>[64, 64], C: tensor<i8>[64, 64],"
    " U: tensor<u8>[64, 64], W: tensor<u32>[64, 64], R: tensor<f32>[1, 64], V: tensor<f32>[64],"
    " X: tensor<f32>[M, K], Y: tensor<f32>[K2, N], n: i32, m: i64, s: f32, h: f16, d: f64, f: bool"
)
AUTOTUNE = "@autotune(T in [16, 64])\n"


def source_of(body: str, attributes: str = AUTOTUNE, params: str = PARAMS) -> str:
    return f"{attributes}kernel k({params}) {{\n{body}\n}}\n"


def checked(source: str, *, dims: dict[str, int] | None = None, target: str = "sm_80", bits: int = 64) -> CheckedFile:
    return check(parse(source), dims=dims, target=target, index_bits=bits)


def found(body: str, attributes: str = AUTOTUNE, params: str = PARAMS, **options: object) -> tuple[Diagnostic, ...]:
    """The diagnostics of statements in a kernel of the standard parameters."""
    return checked(source_of(body, attributes, params), **options).diagnostics  # type: ignore[arg-type]


def codes(body: str, attributes: str = AUTOTUNE, params: str = PARAMS, **options: object) -> list[str]:
    return [diagnostic.code for diagnostic in found(body, attributes, params, **options)]


def kernel_of(body: str, attributes: str = AUTOTUNE, params: str = PARAMS, **options: object) -> pg.CheckedKernel:
    """The checked program of statements that are free of errors."""
    result = checked(source_of(body, attributes, params), **options)  # type: ignore[arg-type]
    assert [d for d in result.diagnostics if d.severity == "error"] == []
    kernel = result.kernels[0].kernel
    assert kernel is not None
    return kernel


def lines_of(body: str, **options: object) -> list[str]:
    """The statements of the checked program, one text each."""
    return [line for stmt in kernel_of(body, **options).body for line in statement_lines(stmt)]  # type: ignore[arg-type]


def type_of(expression: str, before: str = "") -> str:
    """The type that `var x = expression` gives x."""
    kernel = kernel_of(f"{before}\nvar x = {expression}")
    last = kernel.body[-1]
    assert isinstance(last, (pg.BindScalar, pg.DeclareTile))
    return type_text(last.symbol.type)


def type_text(type_: pg.SymbolType) -> str:
    if isinstance(type_, pg.TileType):
        return f"{type_.element}[{', '.join(map(str, type_.shape))}]"
    return str(type_)


def statement_lines(stmt: pg.Stmt) -> list[str]:
    match stmt:
        case pg.BindScalar(_, symbol, value):
            return [f"{symbol.key}: {symbol.type} = {text(value)}"]
        case pg.AssignScalar(_, symbol, value):
            return [f"{symbol.key} = {text(value)}"]
        case pg.BindView(_, symbol, place):
            return [f"{symbol.key} -> {place_text(place)}"]
        case pg.DeclareTile(_, symbol, value):
            return [f"{symbol.key}: {type_text(symbol.type)}" + (f" = {text(value)}" if value else "")]
        case pg.StoreTile(_, place, value, accumulate) | pg.StorePoint(_, place, value, accumulate):
            return [f"{place_text(place)} {'+=' if accumulate else '='} {text(value)}"]
        case pg.If(_, condition, then, orelse):
            return [f"if {text(condition)}", *_inner(then), *(["else", *_inner(orelse)] if orelse else [])]
        case pg.For(_, symbol, lo, hi, step, unroll, body):
            head = f"for {symbol.key} in {text(lo)}, {text(hi)}, {text(step)}, unroll {unroll}"
            return [head, *_inner(body)]
        case pg.While(_, condition, body):
            return [f"while {text(condition)}", *_inner(body)]
        case pg.Jump(_, kind):
            return [kind]
        case pg.StoreRun(_, place, values):
            return [f"store({place_text(place)}, {', '.join(map(text, values))})"]
        case pg.Eval(_, value):
            return [text(value)]
    raise AssertionError(stmt)


def _inner(body: tuple[pg.Stmt, ...]) -> list[str]:
    return [f"  {line}" for stmt in body for line in statement_lines(stmt)]


def text(expr: pg.Expr) -> str:
    """Conversions appear as calls of the type; types are otherwise left out."""
    match expr:
        case pg.Const(_, type_, value):
            return f"{value}:{type_}"
        case pg.SymConst(_, _, symbol):
            return f"<{symbol}>"
        case pg.ScalarRead(_, _, symbol):
            return symbol.key
        case pg.CtxRead(_, _, field):
            return f"ctx.{field}"
        case pg.Load(_, _, place) | pg.TileRead(_, _, place):
            return place_text(place)
        case pg.Convert(_, type_, operand):
            return f"{type_.element if isinstance(type_, pg.TileType) else type_}({text(operand)})"
        case pg.Unary(_, _, op, operand):
            return f"{op}{text(operand)}"
        case pg.Binary(_, _, op, lhs, rhs) | pg.Compare(_, _, op, lhs, rhs):
            return f"({text(lhs)} {op} {text(rhs)})"
        case pg.Select(_, _, condition, then, orelse):
            return f"select({text(condition)}, {text(then)}, {text(orelse)})"
        case pg.Math(_, _, op, args):
            return f"{op}({', '.join(map(text, args))})"
        case pg.Iota(_, _, axis):
            return f"iota({axis})"
        case pg.Reduce(_, _, op, operand) | pg.Shape(_, _, op, operand):
            return f"{op}({text(operand)})"
        case pg.Gather(_, _, table, indices):
            return f"gather({place_text(table)}, {text(indices)})"
        case pg.Contract(_, _, op, lhs, rhs):
            return f"{op}({text(lhs)}, {text(rhs)})"
        case pg.RunElement(_, type_, place):
            return f"{place_text(place)}:{type_}"
        case pg.RunSum(_, type_, operand, length):
            return f"sum({text(operand)}, {length}):{type_}"
        case pg.Elem(_, type_, place, position):
            return f"elem({place_text(place)}, {position}):{type_}"
        case pg.Word(_, _, place, position):
            return f"word({place_text(place)}, {position})"
        case pg.Bits(_, type_, op, args):
            return f"{op}({', '.join(map(text, args))}):{type_}"
        case pg.Collective(_, type_, op, group, value, width, combine):
            folded = f", {text(combine.value)}" if combine else ""
            return f"{op}<{group}, {width}>({text(value)}{folded}):{type_}"
        case pg.Shuffle(_, type_, mode, value, source, width):
            return f"shfl<{mode} {text(source)}, {width}>({text(value)}):{type_}"
        case pg.Atomic(_, type_, op, place, args):
            return f"{op}({', '.join([place_text(place), *map(text, args)])}):{type_}"
        case pg.Sync(_, _, op, bar):
            return f"{op}({bar.root.key if bar else ''})"
    raise AssertionError(expr)


def place_text(place: pg.Place) -> str:
    name = f"flat({place.root.key})" if place.flat else place.root.key
    if place.axes is None:
        return name
    return f"{name}[{', '.join(map(_axis_text, place.axes))}]"


def _axis_text(axis: pg.Axis) -> str:
    if axis.point:
        return text(axis.start)
    return f"{text(axis.start)} :+ {axis.extent}{' unmasked' if axis.unmasked else ''}"
