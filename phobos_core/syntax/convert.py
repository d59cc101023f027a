"""One top-level node of a tree-sitter tree without syntax errors -> its typed syntax tree.

Why it is written as it is: each attribute read from a node is a call into C, and a check of a file spends most
of its parsing time here. So children are read as one list, nodes are told apart by numeric kind, and names, half of all
nodes, are made where they are met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, cast

import tree_sitter
import tree_sitter_phobos
from tree_sitter import Node

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import build
from phobos_core.syntax.ast import (
    Assign,
    AttrArg,
    Attribute,
    Binary,
    Block,
    BoolLit,
    Call,
    Collective,
    CtxField,
    ErrorExpr,
    ErrorStmt,
    Expr,
    ExprStmt,
    For,
    Function,
    If,
    Index,
    Item,
    Jump,
    Kernel,
    KeywordArg,
    Let,
    Name,
    Param,
    PointSub,
    PositionalArg,
    RangeSub,
    SearchArg,
    Span,
    SpanSub,
    Stmt,
    Subscript,
    TypeExpr,
    Unary,
    Var,
    While,
)

# A named tuple's own constructor takes twice the time, and spans are half of all that is built here.
new_span = tuple.__new__

LANGUAGE = tree_sitter.Language(tree_sitter_phobos.language())


def kind_id(name: str) -> int:
    found = LANGUAGE.id_for_node_kind(name, True)
    if found is None:
        raise LookupError(f"the grammar has no node {name}")
    return found


COMMENT = kind_id("comment")
IDENTIFIER = kind_id("identifier")
KERNEL = kind_id("kernel_definition")
ATTRIBUTE = kind_id("attribute")
ATTRIBUTE_ARGUMENTS = kind_id("attribute_arguments")
SEARCH_ARGUMENT = kind_id("search_argument")
KEYWORD_ARGUMENT = kind_id("keyword_argument")
BLOCK = kind_id("block")
SCALAR_TYPE = kind_id("scalar_type")
SHAPED_TYPE = kind_id("shaped_type")
PARENTHESIZED = kind_id("parenthesized_expression")


def convert(node: Node, text: bytes) -> tuple[Item, tuple[Diagnostic, ...]]:
    """`node` is a kernel or function without errors and `text` its bytes. Spans are relative to the item."""
    converter = _Converter(node.start_byte, text)
    item = converter.kernel(node) if node.kind_id == KERNEL else converter.function(node)
    return item, tuple(converter.diagnostics)


class _Converter:
    """The state of one conversion. `text` has one character for each byte, so that offsets index it."""

    __slots__ = ("base", "cut_off", "depth", "diagnostics", "report", "text")

    def __init__(self, base: int, text: bytes) -> None:
        self.base = base
        self.text = text.decode("latin-1")
        self.depth = 0
        self.cut_off = False  # whether something was left out for its depth
        self.diagnostics: list[Diagnostic] = []
        self.report: build.Report = self.diagnostics.append

    def span(self, node: Node) -> Span:
        base = self.base
        return new_span(Span, (node.start_byte - base, node.end_byte - base, None, None))

    def slice(self, node: Node) -> str:
        base = self.base
        return self.text[node.start_byte - base : node.end_byte - base]

    def too_deep(self, span: Span) -> None:
        if not self.cut_off:
            self.report(build.too_deep(span))
        self.cut_off = True

    # Items

    def kernel(self, node: Node) -> Kernel:
        children = code(node)
        name, params, body = children[-3:]
        return Kernel(
            self.span(node),
            tuple([self.attribute(child) for child in children[:-3]]),
            self.name(name),
            tuple([self.param(child) for child in code(params)]),
            self.block(body),
        )

    def function(self, node: Node) -> Function:
        name, params, body = code(node)
        return Function(
            self.span(node),
            self.name(name),
            tuple([self.name(child) for child in code(params)]),
            self.block(body) if body.kind_id == BLOCK else self.expr(body),
        )

    def param(self, node: Node) -> Param:
        name, type_node = parts(node, 2)
        return Param(self.span(node), self.name(name), self.type(type_node))

    def attribute(self, node: Node) -> Attribute:
        name, *rest = code(node)
        args = [self.attribute_argument(child) for child in code(rest[0])] if rest else []
        return Attribute(self.span(node), self.name(name), tuple([arg for arg in args if arg]))

    def attribute_argument(self, node: Node) -> AttrArg | None:
        span = self.span(node)
        kind = node.kind_id
        if kind == SEARCH_ARGUMENT:
            name, choices = parts(node, 2)
            values = [build.choice(value, self.report) for value in self.exprs(choices)]
            return SearchArg(span, self.name(name), tuple([value for value in values if value]))
        if kind == KEYWORD_ARGUMENT:
            name, value_node = parts(node, 2)
            value = build.attribute_value(self.expr(value_node), self.report)
            return KeywordArg(span, self.name(name), value) if value else None
        value = build.attribute_value(self.expr(node), self.report)
        return PositionalArg(span, value) if value else None

    def type(self, node: Node) -> TypeExpr:
        if node.kind_id == SCALAR_TYPE:
            return build.scalar_type(self.span(node), self.slice(node), self.report)
        constructor, element, dims = parts(node, 3)
        return build.shaped_type(
            self.span(node),
            self.name(constructor),
            self.name(element),
            self.exprs(dims),
            self.report,
        )

    # Statements

    def block(self, node: Node) -> Block:
        convert_statement = STATEMENTS.get
        body: list[Stmt] = []
        self.depth += 1
        if self.depth > build.MAX_DEPTH:
            span = self.span(node)
            self.too_deep(span)
            body.append(ErrorStmt(span))
        else:
            for child in node.named_children:
                statement = convert_statement(child.kind_id)
                if statement:  # else a comment
                    body.append(statement(self, child, self.span(child)))
        self.depth -= 1
        return Block(self.span(node), tuple(body))

    def let(self, node: Node, span: Span) -> Let:
        name, *types, value = parts(node, 2)
        return Let(
            span,
            self.name(name),
            self.type(types[0]) if types else None,
            self.expr(value),
        )

    def var(self, node: Node, span: Span) -> Var:
        name, *rest = parts(node, 2)
        declared = self.type(rest.pop(0)) if rest[0].kind_id in (SCALAR_TYPE, SHAPED_TYPE) else None
        return Var(span, self.name(name), declared, self.expr(rest[0]) if rest else None)

    def assign(self, node: Node, span: Span) -> Assign | ErrorStmt:
        left, op, right = operands(node)
        written, value = self.expr(left), self.expr(right)
        target = build.target(written, self.span(left), self.report)
        if target is None:
            return ErrorStmt(span)
        return Assign(span, target, self.slice(op), value)

    def for_(self, node: Node, span: Span) -> For:
        field = node.child_by_field_name
        unroll, step = field("unroll"), field("step")
        return For(
            span,
            self.expr(unroll) if unroll else None,
            self.name(cast(Node, field("variable"))),
            self.expr(cast(Node, field("start"))),
            self.expr(cast(Node, field("end"))),
            self.expr(step) if step else None,
            self.block(cast(Node, field("body"))),
        )

    def while_(self, node: Node, span: Span) -> While:
        condition, body = parts(node, 2)
        return While(span, self.expr(condition), self.block(body))

    def if_(self, node: Node, span: Span) -> If:
        condition, then, *rest = parts(node, 2)
        self.depth += 1
        result = If(span, self.expr(condition), self.block(then), self.orelse(rest))
        self.depth -= 1
        return result

    def orelse(self, rest: list[Node]) -> Block | If | None:
        """The last of an if's children, where it has one. A chain of `else if` nests, so it has a depth."""
        if not rest:
            return None
        if rest[0].kind_id == BLOCK:
            return self.block(rest[0])
        span = self.span(rest[0])
        if self.depth < build.MAX_DEPTH:
            return self.if_(rest[0], span)
        self.too_deep(span)
        return Block(span, (ErrorStmt(span),))

    def jump(self, node: Node, span: Span) -> Jump:
        return Jump(span, cast(Literal["break", "continue", "return"], self.slice(node)))

    def expression_statement(self, node: Node, span: Span) -> ExprStmt:
        (value,) = parts(node, 1)
        return ExprStmt(span, self.expr(value))

    # Expressions

    def expr(self, node: Node) -> Expr:
        kind, base = node.kind_id, self.base
        start, end = node.start_byte - base, node.end_byte - base
        span = new_span(Span, (start, end, None, None))
        if self.depth == build.MAX_DEPTH:
            self.too_deep(span)
            return ErrorExpr(span)
        if kind == IDENTIFIER:
            return Name(span, self.text[start:end])
        self.depth += 1
        result = EXPRESSIONS[kind](self, node, span)
        self.depth -= 1
        return result

    def exprs(self, node: Node) -> tuple[Expr, ...]:
        """The expressions of a list."""
        return tuple([self.expr(child) for child in node.named_children if child.kind_id != COMMENT])

    def name(self, node: Node) -> Name:
        base = self.base
        start, end = node.start_byte - base, node.end_byte - base
        return Name(new_span(Span, (start, end, None, None)), self.text[start:end])

    def integer(self, node: Node, span: Span) -> Expr:
        return build.int_literal(span, self.text[span.start : span.end], self.report)

    def float_(self, node: Node, span: Span) -> Expr:
        return build.float_literal(span, self.slice(node), self.report)

    def boolean(self, node: Node, span: Span) -> BoolLit:
        return BoolLit(span, self.slice(node) == "true")

    def ctx_field(self, node: Node, span: Span) -> CtxField:
        return CtxField(span, ".".join([self.slice(child) for child in code(node)]))

    def parenthesized(self, node: Node, span: Span) -> Expr:
        (inner,) = parts(node, 1)
        return self.expr(inner)

    def unary(self, node: Node, span: Span) -> Unary:
        (operand,) = parts(node, 1)
        return Unary(span, self.text[span.start], self.expr(operand))

    def binary(self, node: Node, span: Span) -> Binary:
        left, op, right = operands(node)
        base = self.base
        start, end = op.start_byte - base, op.end_byte - base
        return Binary(
            span,
            self.text[start:end],
            new_span(Span, (start, end, None, None)),
            self.expr(left),
            self.expr(right),
        )

    def index(self, node: Node, span: Span) -> Index:
        base, subscripts = parts(node, 2)
        return Index(
            span,
            self.expr(base),
            tuple([SUBSCRIPTS[child.kind_id](self, child, self.span(child)) for child in code(subscripts)]),
        )

    def point(self, node: Node, span: Span) -> PointSub:
        (index,) = parts(node, 1)
        return PointSub(span, self.expr(index))

    def range(self, node: Node, span: Span) -> RangeSub:
        bounds = code(node)
        if len(bounds) == 1 and self.text[span.start] == ":":
            return RangeSub(span, None, self.expr(bounds[0]))
        start, end, *_ = [*(self.expr(bound) for bound in bounds), None, None]
        return RangeSub(span, start, end)

    def span_subscript(self, node: Node, span: Span) -> SpanSub:
        start, length = parts(node, 2)
        return SpanSub(span, self.expr(start), self.expr(length))

    def call(self, node: Node, span: Span) -> Call:
        callee, arguments = parts(node, 2)
        return Call(
            span,
            self.expr(callee),
            self.exprs(arguments),
        )

    def collective(self, node: Node, span: Span) -> Collective:
        field = node.child_by_field_name
        mode = cast(Literal["over", "from", "xor", "down", "up"], self.slice(cast(Node, field("mode"))))
        operand = self.expr(cast(Node, field("operand")))
        width = field("width")
        return Collective(
            span,
            self.name(cast(Node, field("operation"))),
            mode,
            operand,
            self.expr(width) if width else None,
            self.exprs(cast(Node, field("arguments"))),
        )


def code(node: Node) -> list[Node]:
    """The named children that are not comments."""
    return [child for child in node.named_children if child.kind_id != COMMENT]


def parts(node: Node, count: int) -> list[Node]:
    """The same for a node that has `count` of them at least: if it has no more children, none is a comment."""
    children = node.named_children
    return children if len(children) == count else code(node)


def operands(node: Node) -> list[Node]:
    """Of a node that is two operands with a token between them, all three."""
    children = node.children
    return children if len(children) == 3 else [child for child in children if child.kind_id != COMMENT]


_ToExpr: TypeAlias = Callable[[_Converter, Node, Span], Expr]
_ToStmt: TypeAlias = Callable[[_Converter, Node, Span], Stmt]
_ToSubscript: TypeAlias = Callable[[_Converter, Node, Span], Subscript]

EXPRESSIONS: dict[int, _ToExpr] = {
    kind_id("integer"): _Converter.integer,
    kind_id("float"): _Converter.float_,
    kind_id("boolean"): _Converter.boolean,
    kind_id("ctx_field"): _Converter.ctx_field,
    PARENTHESIZED: _Converter.parenthesized,
    kind_id("unary_expression"): _Converter.unary,
    kind_id("binary_expression"): _Converter.binary,
    kind_id("index_expression"): _Converter.index,
    kind_id("call_expression"): _Converter.call,
    kind_id("collective_expression"): _Converter.collective,
}

SUBSCRIPTS: dict[int, _ToSubscript] = {
    kind_id("point_subscript"): _Converter.point,
    kind_id("range_subscript"): _Converter.range,
    kind_id("span_subscript"): _Converter.span_subscript,
}

STATEMENTS: dict[int, _ToStmt] = {
    kind_id("let_statement"): _Converter.let,
    kind_id("var_statement"): _Converter.var,
    kind_id("assignment"): _Converter.assign,
    kind_id("for_statement"): _Converter.for_,
    kind_id("while_statement"): _Converter.while_,
    kind_id("if_statement"): _Converter.if_,
    kind_id("break_statement"): _Converter.jump,
    kind_id("continue_statement"): _Converter.jump,
    kind_id("return_statement"): _Converter.jump,
    kind_id("expression_statement"): _Converter.expression_statement,
}
