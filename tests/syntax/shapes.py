"""Syntax trees written as text, so that a test can say what it expects in one line.

Every expression is in prefix form with its own parentheses, so that `a - b - c` is `(- (- a b) c)`.
"""

from phobos_core.syntax.ast import (
    Assign,
    Attribute,
    Binary,
    Block,
    BoolLit,
    Call,
    Collective,
    CtxField,
    ErrorExpr,
    ErrorStmt,
    ErrorTypeExpr,
    ExprStmt,
    FloatLit,
    For,
    Function,
    If,
    Index,
    IntLit,
    Jump,
    Kernel,
    KeywordArg,
    Let,
    Name,
    Param,
    PointSub,
    PositionalArg,
    RangeSub,
    ScalarTypeExpr,
    SearchArg,
    ShapedTypeExpr,
    SpanSub,
    Unary,
    Var,
    While,
)


def show(node: object) -> str:
    match node:
        case None:
            return "_"
        case Name(_, text):
            return text
        case IntLit(_, value):
            return str(value)
        case FloatLit(_, value):
            return repr(value)
        case BoolLit(_, value):
            return str(value).lower()
        case CtxField(_, field):
            return f"ctx.{field}"
        case Unary(_, op, operand):
            return f"({op} {show(operand)})"
        case Binary(_, op, _, lhs, rhs):
            return f"({op} {show(lhs)} {show(rhs)})"
        case PointSub(_, index):
            return show(index)
        case RangeSub(_, start, end):
            return f"(: {show(start)} {show(end)})"
        case SpanSub(_, start, length):
            return f"(:+ {show(start)} {show(length)})"
        case Index(_, base, subscripts):
            return f"(index {show(base)} {many(subscripts)})"
        case Call(_, callee, args):
            return f"(call {show(callee)} {many(args)})"
        case Collective(_, op, mode, operand, width, args):
            return f"(group {show(op)} {mode} {show(operand)} {show(width)} {many(args)})"
        case ErrorExpr() | ErrorStmt() | ErrorTypeExpr():
            return "?"
        case ScalarTypeExpr(_, name):
            return name
        case ShapedTypeExpr(_, constructor, element, dims):
            return f"({constructor} {show(element)} {many(dims)})"
        case Block(_, body):
            return "{" + "; ".join(show(statement) for statement in body) + "}"
        case Let(_, name, declared, value):
            return f"let {show(name)} {show(declared)} {show(value)}"
        case Var(_, name, declared, value):
            return f"var {show(name)} {show(declared)} {show(value)}"
        case Assign(_, target, op, value):
            return f"{show(target)} {op} {show(value)}"
        case For(_, unroll, var, lo, hi, step, body):
            return f"for {show(unroll)} {show(var)} {show(lo)} {show(hi)} {show(step)} {show(body)}"
        case While(_, condition, body):
            return f"while {show(condition)} {show(body)}"
        case If(_, condition, then, orelse):
            return f"if {show(condition)} {show(then)} {show(orelse)}"
        case Jump(_, kind):
            return kind
        case ExprStmt(_, value):
            return show(value)
        case SearchArg(_, name, choices):
            return f"{show(name)} in {many(choices)}"
        case KeywordArg(_, name, value):
            return f"{show(name)} = {show(value)}"
        case PositionalArg(_, value):
            return show(value)
        case Attribute(_, name, args):
            return f"@{show(name)}{many(args)}"
        case Param(_, name, declared):
            return f"{show(name)}: {show(declared)}"
        case Kernel(_, attributes, name, params, body):
            return " ".join([*map(show, attributes), f"kernel {show(name)}{many(params)} {show(body)}"])
        case Function(_, name, params, body):
            return f"fn {show(name)}{many(params)} {show(body)}"
        case _:
            raise TypeError(type(node))


def many(nodes: tuple[object, ...]) -> str:
    return "[" + ", ".join(show(node) for node in nodes) + "]"
