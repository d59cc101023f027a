"""Concrete syntax of expressions, types and statement heads -> documents. Knows how Phobos is spaced.

A comment inside stands where it stood, after the token before it, and ends its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tree_sitter import Node

from phobos_core.language.operators import BINARY
from phobos_core.syntax.convert import COMMENT
from phobos_core.syntax.formatter.document import (
    Align,
    Break,
    Comment,
    Concat,
    Document,
    Fill,
    Group,
    Nest,
    OwnLine,
    concat,
    group,
    joined,
)

# How far a line that goes on outside of brackets is indented.
CONTINUED = 4


class Spelling:
    """Makes documents of the nodes of one text. `comments` has those that follow the token that ends at an offset."""

    def __init__(self, text: bytes, comments: Mapping[int, Sequence[Node]]) -> None:
        self._text = text
        self._comments = comments
        self._last = 0

    def piece(self, nodes: Sequence[Node]) -> Document:
        """Neighbouring nodes that make up lines of their own: a statement, or its head with the brace that opens its
        block. What follows the last token is left out."""
        self._last = nodes[-1].end_byte
        parts: list[Document] = []
        before = ""
        for node in nodes:
            tight = not parts or node.type in _TIGHT_IN_PIECE or before == "@" or (before, node.type) == ("{", "}")
            parts += [self.of(node)] if tight else [" ", self.of(node)]
            before = node.type
        return Group(Nest(CONTINUED, concat(*parts)))

    def of(self, node: Node) -> Document:
        if node.child_count == 0:
            return self._token(node)
        return _SPELLINGS.get(node.type, Spelling._together)(self, node)

    def _token(self, node: Node) -> Document:
        end = node.end_byte
        text = self._text[node.start_byte : end].decode("utf-8")
        comments = self._comments.get(end)
        if comments is None or end == self._last:
            return text
        row = node.end_point.row
        found: list[Document] = [text]
        for comment in comments:
            beside = comment.start_point.row == row
            found.append((Comment if beside else OwnLine)(comment_text(self._text, comment)))
        return concat(*found)

    def _children(self, node: Node) -> list[Node]:
        return [child for child in node.children if child.kind_id != COMMENT]

    def _together(self, node: Node) -> Document:
        return concat(*map(self.of, self._children(node)))

    def _spaced(self, node: Node) -> Document:
        return joined(map(self.of, self._children(node)), " ")

    def _list(self, node: Node) -> Document:
        """In brackets, as many items on a line as fit."""
        first, items, last = self._items(node)
        return Group(concat(first, Align(Fill(items)) if items else "", last))

    def _parameters(self, node: Node) -> Document:
        """On one line, or each on a line of its own."""
        first, items, last = self._items(node)
        return Group(concat(first, Align(joined(items, Break())), last))

    def _items(self, node: Node) -> tuple[Document, tuple[Document, ...], Document]:
        """The opening bracket, the items, each with the comma after it, and the closing bracket."""
        first, *inner, last = self._children(node)
        items: list[Document] = []
        for child in inner:
            if child.type == ",":
                items[-1] = concat(items[-1], self.of(child))
            else:
                items.append(group(self.of(child)))
        return self.of(first), tuple(items), self.of(last)

    def _parenthesized(self, node: Node) -> Document:
        first, value, last = self._children(node)
        return Group(concat(self.of(first), Align(self.of(value)), self.of(last)))

    def _binary(self, node: Node) -> Document:
        """Operators of one precedence in a row; lines end after an operator."""
        operands: list[Node] = []
        operators: list[Node] = []
        left: Node = node
        precedence = self._precedence(node)
        while left.type == "binary_expression" and self._precedence(left) == precedence:
            left_operand, operator, right = self._children(left)
            operands.append(right)
            operators.append(operator)
            left = left_operand
        parts = [self._operand(left)]
        for operator, operand in zip(reversed(operators), reversed(operands), strict=True):
            parts += [" ", self.of(operator), Break(), self._operand(operand)]
        return Concat(tuple(parts))

    def _precedence(self, node: Node) -> int:
        operator = node.child_by_field_name("operator")
        assert operator is not None
        return BINARY[self._text[operator.start_byte : operator.end_byte].decode()].level

    def _operand(self, node: Node) -> Document:
        document = self.of(node)
        return group(document) if node.type == "binary_expression" else document

    def _range(self, node: Node) -> Document:
        """`s : e`, but `s:` and `:e`."""
        parts = self._children(node)
        return (self._spaced if len(parts) == 3 else self._together)(node)

    def _named(self, node: Node) -> Document:
        """`name: type`."""
        name, colon, type_ = self._children(node)
        return concat(self.of(name), self.of(colon), " ", self.of(type_))

    def _binding(self, node: Node) -> Document:
        """`let x: type = value`: words with spaces between, but none before the colon."""
        parts: list[Document] = []
        for child in self._children(node):
            parts += [self.of(child)] if child.type == ":" or not parts else [" ", self.of(child)]
        return concat(*parts)

    def _headed(self, node: Node) -> Document:
        """`for<unroll n> i in range(lo, hi)` without its block, and `op<over ctx.lane, width 8>(x)`."""
        parts: list[Document] = []
        before = ""
        for child in self._children(node):
            if child.type == "block":
                break
            if before == ",":
                parts.append(Break())
            elif parts and before not in _TIGHT_AFTER and child.type not in _TIGHT_BEFORE:
                parts.append(" ")
            parts.append(self.of(child))
            before = child.type
        return Group(concat(*parts))


# What follows the name of a kernel, a function or an attribute, and the name of an attribute itself.
_TIGHT_IN_PIECE = frozenset({"parameters", "function_parameters", "attribute_arguments"})
# Where no space stands inside the head of a loop or the brackets of a collective.
_TIGHT_AFTER = frozenset({"<", "("})
_TIGHT_BEFORE = frozenset({"<", ">", "(", ")", ",", "arguments"})


def comment_text(text: bytes, comment: Node) -> str:
    """Without the white space at its end; a character that only Unicode calls white space is its own."""
    return text[comment.start_byte : comment.end_byte].rstrip().decode("utf-8", "surrogateescape")


_SPELLINGS: Mapping[str, Callable[[Spelling, Node], Document]] = {
    "parameters": Spelling._parameters,
    **dict.fromkeys(
        ("arguments", "subscripts", "dimensions", "choices", "attribute_arguments", "function_parameters"),
        Spelling._list,
    ),
    "parenthesized_expression": Spelling._parenthesized,
    "binary_expression": Spelling._binary,
    "range_subscript": Spelling._range,
    "parameter": Spelling._named,
    "let_statement": Spelling._binding,
    "var_statement": Spelling._binding,
    "for_statement": Spelling._headed,
    "collective_expression": Spelling._headed,
    **dict.fromkeys(("assignment", "search_argument", "keyword_argument", "span_subscript"), Spelling._spaced),
}
