"""What can be told of an expression's type without the checker, which says nothing of a statement that is wrong."""

from __future__ import annotations

from typing import NamedTuple

from phobos_core.analysis.program import TensorType, TileType
from phobos_core.language.types import CONVERSIONS, SPELLED, ScalarType
from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Problem


class Value(NamedTuple):
    """An element type, and the extents as a source would spell them; no extents, it is a scalar."""

    element: str
    extents: tuple[str, ...] = ()

    @property
    def tile(self) -> str:
        return f"tile<{self.element}>[{', '.join(self.extents)}]"

    @property
    def scalar_type(self) -> ScalarType | None:
        return SPELLED.get(self.element)

    @property
    def is_float(self) -> bool:
        return self.scalar_type is not None and self.scalar_type.is_float


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_ROWS = frozenset({"rowmax", "rowsum", "rowargmax"})


def value_of(problem: Problem, node: ast.Expr) -> Value | None:
    match node:
        case ast.IntLit():
            return Value("index")
        case ast.FloatLit():
            return Value("f32")
        case ast.BoolLit():
            return Value("bool")
        case ast.CtxField():
            return Value("index")
        case ast.Name():
            return _named(problem, node)
        case ast.Index():
            return _part(problem, node)
        case ast.Unary(op=op, operand=operand):
            return Value("bool") if op == "!" else value_of(problem, operand)
        case ast.Binary():
            return _joined(problem, node)
        case ast.Call(callee=ast.Name(text=name), args=args) if args:
            return _called(problem, name, args)
    return None


def _named(problem: Problem, node: ast.Name) -> Value | None:
    symbol = problem.symbol(node)
    match symbol.type if symbol is not None else None:
        case ScalarType(name=name):
            return Value(name)
        case TileType(element, shape) | TensorType(element, shape):
            return Value(element.name, tuple(map(str, shape)))
    return None


def _part(problem: Problem, node: ast.Index) -> Value | None:
    whole = value_of(problem, node.base)
    if whole is None or len(whole.extents) != len(node.subscripts):
        return None
    if all(isinstance(each, ast.PointSub) for each in node.subscripts):
        return Value(whole.element if whole.is_float else "index")
    extents = []
    for extent, subscript in zip(whole.extents, node.subscripts, strict=True):
        match subscript:
            case ast.PointSub():
                extents.append("1")
            case ast.SpanSub(length=length):
                extents.append(problem.spelled(length))
            case ast.RangeSub(start=None, end=None):
                extents.append(extent)
            case ast.RangeSub(start=None, end=end) if end is not None:
                extents.append(problem.spelled(end))
            case _:
                return None
    return Value(whole.element, tuple(extents))


def _joined(problem: Problem, node: ast.Binary) -> Value | None:
    left, right = value_of(problem, node.lhs), value_of(problem, node.rhs)
    if left is None or right is None:
        return None
    extents = broadcast(left.extents, right.extents)
    if node.op in COMPARISONS or node.op in ("&&", "||"):
        return Value("bool", extents)
    wider = next((v for v in (left, right) if v.is_float and v.extents), None) or next(
        (v for v in (left, right) if v.is_float), None
    )
    return Value((wider or (left if left.extents else right)).element, extents)


def broadcast(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    if len(left) != len(right):
        return left or right
    return tuple(b if a == "1" else a for a, b in zip(left, right, strict=True))


def _called(problem: Problem, name: str, args: tuple[ast.Expr, ...]) -> Value | None:
    values = [value_of(problem, arg) for arg in args]
    first = values[0]
    if first is None:
        return None
    second = values[1] if len(values) > 1 else None
    match name:
        case _ if name in CONVERSIONS:
            return Value(name, first.extents)
        case "rowargmax" if len(first.extents) == 2:
            return Value("i32", (first.extents[0], "1"))
        case _ if name in _ROWS and len(first.extents) == 2:
            return Value(first.element, (first.extents[0], "1"))
        case "dot" | "dot_t" if second is not None and len(first.extents) == len(second.extents) == 2:
            element = "i32" if first.element == "i8" else "f32" if not first.is_float else first.element
            return Value(element, (first.extents[0], second.extents[1 if name == "dot" else 0]))
        case "transpose" if len(first.extents) == 2:
            return Value(first.element, first.extents[::-1])
        case "where":
            return second
        case _ if name in ("min", "max", "tmax", "pow") and second is not None:
            return Value(first.element, broadcast(first.extents, second.extents))
        case _:
            return first
