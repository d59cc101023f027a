"""The one style of Phobos sources.

In: a text. Out: the text as it is to be written, with the same tokens and comments. Statements stand on lines of their
own, indented by two columns a block; a line that would be longer than 100 columns is broken in brackets and after
operators; one blank line between statements is kept, and stands between kernels. The layout depends on the tokens, the
comments and the blank lines alone, so that formatting twice is formatting once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tree_sitter import Node

from phobos_core.syntax.formatter.document import Line, layout
from phobos_core.syntax.formatter.expressions import Spelling, comment_text
from phobos_core.syntax.formatter.lines import text_of
from phobos_core.syntax.source import Parser, SourceFile, parse

INDENT = 2
WIDTH = 100
# Tokens that only tell where a statement ends.
SEPARATORS = frozenset({";", "\n", "\r\n", "\r"})


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
    if _kept(result) != _kept(file.text):
        raise AssertionError("the formatter changed a token or a comment")
    return result


def _kept(text: bytes) -> list[bytes]:
    """What formatting keeps: the tokens, without the semicolons that a line end stands for, and the comments."""
    root = Parser().parse(text).tree.root_node
    return [text[token.start_byte : token.end_byte].rstrip() for token in _tokens(root)]


def _newline(text: bytes) -> str:
    end = text.find(b"\n")
    return "\r\n" if end > 0 and text[end - 1 : end] == b"\r" else "\n"


def _tokens(node: Node) -> Iterator[Node]:
    """Tokens and comments in order, without what only separates statements."""
    pending = [node]
    while pending:
        node = pending.pop()
        if node.child_count:
            pending += reversed(node.children)
        elif node.type not in SEPARATORS and node.end_byte > node.start_byte:
            yield node


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
        self._comments: dict[int, list[Node]] = {}
        last = 0
        for token in _tokens(root):
            if token.type == "comment":
                self._comments.setdefault(last, []).append(token)
            else:
                last = token.end_byte
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
    return [child for child in node.children if child.type != "comment"]


def _braces(block: Node) -> tuple[Node, Node]:
    children = _without_comments(block)
    return children[0], children[-1]


def _is_short(item: Node) -> bool:
    """A function that is an expression."""
    return item.type == "function_definition" and _without_comments(item)[-1].type != "block"
