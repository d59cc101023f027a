"""The one style of Phobos sources.

In: a text. Out: the text as it is to be written, with the same tokens and comments. Statements stand on lines of their
own, indented by two columns a block; a line that would be longer than 100 columns is broken in brackets and after
operators; one blank line between statements is kept, and stands between kernels. The layout depends on the tokens, the
comments and the blank lines alone, so that formatting twice is formatting once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tree_sitter
from tree_sitter import Node, Query, QueryCursor

from phobos_core.syntax.convert import COMMENT, LANGUAGE
from phobos_core.syntax.formatter.document import Line, layout
from phobos_core.syntax.formatter.expressions import Spelling, comment_text
from phobos_core.syntax.formatter.lines import text_of
from phobos_core.syntax.source import SourceFile, parse

INDENT = 2
WIDTH = 100
# Tokens that only tell where a statement ends.
SEPARATORS = frozenset({";", "\n", "\r\n", "\r"})
# What stands between tokens: white space, as the grammar has it, and semicolons.
BETWEEN = " \t\r\n\v\f;\ufeff"
ALL_COMMENTS = Query(LANGUAGE, "(comment) @comment")


class CannotFormat(ValueError):
    """The text has a syntax error, so that nobody can tell what belongs together."""


def formatted(text: bytes) -> bytes:
    """Raises CannotFormat where the text has a syntax error. Line ends stay what the first one is."""
    return format_file(parse(text))


def format_file(file: SourceFile) -> bytes:
    """Of a text that is parsed already."""
    if file.tree.root_node.has_error or any(d.severity == "error" for d in file.diagnostics):
        raise CannotFormat("the file has a syntax error")
    lines = _File(file.text, file.tree.root_node).lines()
    result = text_of(lines, _newline(file.text)).encode("utf-8", "surrogateescape")
    if result != file.text and not _same(file, result):
        raise AssertionError("the formatter changed a token or a comment")
    return result


def _same(before: SourceFile, text: bytes) -> bool:
    """Whether a text has the tokens and comments of a file: the same characters but for white space and the semicolons
    that a line end stands for, and with them the same tree."""
    if _characters(text) != _characters(before.text):
        return False
    root = tree_sitter.Parser(LANGUAGE).parse(text).root_node
    return not root.has_error and _shape(root) == _shape(before.tree.root_node)


def _characters(text: bytes) -> bytes:
    return text.replace("\ufeff".encode(), b"").translate(None, b" \t\r\n\v\f;")


def _shape(root: Node) -> str:
    """The tree without its comments, which belong to what they stand in, before a line end or after it."""
    return str(root).replace(" (comment)", "")


def _newline(text: bytes) -> str:
    end = text.find(b"\n")
    return "\r\n" if end > 0 and text[end - 1 : end] == b"\r" else "\n"


def _comments(text: bytes, root: Node) -> dict[int, list[Node]]:
    """The comments after each token, by where it ends; after 0 those that come first."""
    found: dict[int, list[Node]] = {}
    last = end = 0
    comments = QueryCursor(ALL_COMMENTS).captures(root).get("comment", [])
    # The order of what a query finds is nowhere promised.
    for comment in sorted(comments, key=lambda node: node.start_byte):
        code = text[end : comment.start_byte].decode("utf-8", "surrogateescape").rstrip(BETWEEN)
        last = end + len(code.encode("utf-8", "surrogateescape")) if code else last
        found.setdefault(last, []).append(comment)
        end = comment.end_byte
    return found


class _File:
    """Writes statement after statement, each with the comments that follow its last token.

    `_row` is where what was written last ends in the source, `_opened` says that it opened a block, and `_boundary` is
    the line before which a blank line parts an item from what stands above it.
    """

    def __init__(self, text: bytes, root: Node) -> None:
        self._text = text
        self._root = root
        self._lines: list[Line] = []
        self._row = 0
        self._opened = True
        self._boundary = 0
        self._comments = _comments(text, root)
        self._spelling = Spelling(text, self._comments)

    def lines(self) -> list[Line]:
        self._after(0, 0)
        before: Node | None = None
        for item in self._root.children:
            if item.type in ("kernel_definition", "function_definition"):
                if before is not None and not (_is_short(before) and _is_short(item)):
                    self._part(item)
                self._item(item)
                before = item
        return self._lines

    def _part(self, item: Node) -> None:
        """A blank line above the comments that stand above an item, if there is none between it and the item before."""
        if item.start_point.row <= self._row + 1 and all(
            line.code or line.comment for line in self._lines[self._boundary :]
        ):
            self._lines.insert(self._boundary, Line(0, ""))
            self._opened = len(self._lines) == self._boundary + 1

    def _item(self, item: Node) -> None:
        children = _without_comments(item)
        for attribute in children:
            if attribute.type == "attribute":
                self._write(_without_comments(attribute), 0)
        self._headed([child for child in children if child.type != "attribute"], 0)

    def _headed(self, nodes: Sequence[Node], depth: int) -> None:
        """A head with its block, or a piece without one."""
        *head, last = nodes
        if last.type != "block":
            self._write(nodes, depth)
        elif self._is_empty(last):
            opening, closing = _braces(last)
            self._write([*head, opening, closing], depth)
        else:
            self._block(head, last, depth)
            self._write([_braces(last)[1]], depth, closes=True)

    def _block(self, head: Sequence[Node], block: Node, depth: int, *, closes: bool = False) -> None:
        """A head and a block, without the brace that closes it."""
        self._write([*head, _braces(block)[0]], depth, closes=closes, opens=True)
        for statement in _without_comments(block)[1:-1]:
            match statement.type:
                case "if_statement":
                    self._if([], statement, depth + 1)
                case "for_statement":
                    # The head's spelling leaves the block out.
                    self._headed([statement, _without_comments(statement)[-1]], depth + 1)
                case "while_statement":
                    self._headed(_without_comments(statement), depth + 1)
                case kind if kind not in SEPARATORS:
                    self._write([statement], depth + 1)

    def _if(self, before: Sequence[Node], statement: Node, depth: int) -> None:
        """`before` is the `} else` that it follows."""
        if_, condition, then, *rest = _without_comments(statement)
        if not rest and not before:
            self._headed([if_, condition, then], depth)
            return
        self._block([*before, if_, condition], then, depth, closes=bool(before))
        if not rest:
            self._write([_braces(then)[1]], depth, closes=True)
            return
        else_, alternative = rest
        leading = [_braces(then)[1], else_]
        if alternative.type == "if_statement":
            self._if(leading, alternative, depth)
        else:
            self._block(leading, alternative, depth, closes=True)
            self._write([_braces(alternative)[1]], depth, closes=True)

    def _is_empty(self, block: Node) -> bool:
        opening, *inner, _ = _without_comments(block)
        return all(each.type in SEPARATORS for each in inner) and opening.end_byte not in self._comments

    def _write(self, nodes: Sequence[Node], depth: int, *, closes: bool = False, opens: bool = False) -> None:
        if not closes:
            self._gap(nodes[0])
        self._lines += layout(self._spelling.piece(nodes), depth * INDENT, WIDTH)
        self._row, self._opened = nodes[-1].end_point.row, opens
        self._after(nodes[-1].end_byte, depth + 1 if opens else depth)

    def _gap(self, node: Node) -> None:
        """Keeps one of the blank lines above a node; none at the start of a block or of the file."""
        if node.start_point.row > self._row + 1 and not self._opened:
            self._lines.append(Line(0, ""))

    def _after(self, end: int, depth: int) -> None:
        """The comments that follow the token that ends there: one beside it, the others on lines of their own."""
        comments = self._comments.get(end, [])
        if comments and self._lines and comments[0].start_point.row == self._row:
            self._lines[-1] = replace(self._lines[-1], comment=comment_text(self._text, comments[0]))
            comments = comments[1:]
        self._boundary = len(self._lines)
        for comment in comments:
            self._gap(comment)
            self._lines.append(Line(depth * INDENT, "", comment_text(self._text, comment)))
            self._row, self._opened = comment.end_point.row, False


def _without_comments(node: Node) -> list[Node]:
    return [child for child in node.children if child.kind_id != COMMENT]


def _braces(block: Node) -> tuple[Node, Node]:
    children = _without_comments(block)
    return children[0], children[-1]


def _is_short(item: Node) -> bool:
    """A function that is an expression."""
    return item.type == "function_definition" and _without_comments(item)[-1].type != "block"
