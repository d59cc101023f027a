"""Text -> `SourceFile`: the typed syntax trees of its items, and what is wrong with its syntax.

A text that the grammar accepts is converted from the tree-sitter tree, item by item. A text that it does not
accept is cut into one piece for each item, and only the pieces with an error go to the recovering parser, so
that one broken kernel costs the others nothing. Either way the result for an item depends on the item's own
text alone, so the next version of a file takes from the last what it did not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

import tree_sitter
from tree_sitter import Node, Point, Tree

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.language.records import dataclass
from phobos_core.syntax.ast import PlacedItem
from phobos_core.syntax.convert import COMMENT, LANGUAGE, convert
from phobos_core.syntax.pieces import cut

# White space and comments, as the grammar has them.
NO_CODE = re.compile(rb"(?:[ \t\r\n\v\f]|\xef\xbb\xbf|//[^\r\n]*)*")


@dataclass(frozen=True, slots=True)
class Piece:
    """What a part of a file holds; offsets are relative to the part."""

    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_item(self) -> bool:
        """Whether it is one item and nothing else."""
        return len(self.items) == 1 and self.items[0].offset == 0 and not self.diagnostics


@dataclass(frozen=True, slots=True)
class Part:
    """A piece where it stands in a file. An item without errors is its own text, without what follows it."""

    start: int
    text: bytes
    piece: Piece

    @staticmethod
    def of(start: int, text: bytes, piece: Piece) -> Part:
        return Part(start, piece.items[0].text if piece.is_item else text, piece)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`tree` is the tree-sitter tree of `text`; diagnostics and items are in the order of the text.

    `parts` are what the next version of the file takes from, where it keeps them.
    """

    text: bytes
    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]
    tree: Tree = field(repr=False, compare=False)
    parts: tuple[Part, ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes from `start` to `end` become `replacement`."""

    start: int
    end: int
    replacement: bytes

    def apply(self, text: bytes) -> bytes:
        return text[: self.start] + self.replacement + text[self.end :]

    def places(self, text: bytes) -> tuple[int, int, int, Point, Point, Point]:
        """The edit of `text` as tree-sitter takes it: start, old end and new end as offsets, then as points."""
        start = behind(Point(0, 0), text[: self.start])
        points = start, behind(start, text[self.start : self.end]), behind(start, self.replacement)
        return self.start, self.end, self.start + len(self.replacement), *points


def behind(point: Point, text: bytes) -> Point:
    """Where a text ends that stands at a point, as tree-sitter counts: rows end at `\\n` only, columns are bytes."""
    rows = text.count(b"\n")
    return Point(point.row + rows, len(text) - text.rindex(b"\n") - 1 if rows else point.column + len(text))


class Parser:
    """A tree-sitter parser. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._parser = tree_sitter.Parser(LANGUAGE)

    def parse(self, text: bytes | str, before: SourceFile | None = None) -> SourceFile:
        """The file that `text` is. Items that stood in the file `before` as well are taken from there."""
        source = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return self._read(source, self._parser.parse(source), _Before(before))

    def edit(self, file: SourceFile, edits: Iterable[Edit]) -> SourceFile:
        """The file after the edits, one after the other. It is equal to a fresh parse of the new text.

        tree-sitter reuses what the edits leave alone. Where a text has a syntax error, before or after, the
        shape of its tree would depend on the edits that led to it, so it is parsed as a whole.
        """
        text = file.text
        head = tail = len(text)
        tree = file.tree.copy()
        for edit in edits:
            tree.edit(*edit.places(text))
            head, tail = min(head, edit.start), min(tail, len(text) - edit.end)
            text = edit.apply(text)
        if not tree.root_node.has_error:
            tree = self._parser.parse(text, tree)
        if tree.root_node.has_error:
            tree = self._parser.parse(text)
        return self._read(text, tree, _Before(file, head, tail))

    def _read(self, text: bytes, tree: Tree, before: _Before) -> SourceFile:
        parts = []
        for start, end, node in _ranges(text, tree):
            part = before.unchanged(text, start, end)
            if part is None:
                own = text[start:end]
                piece = before.pieces.get(own)
                if piece is None:
                    piece = self._broken(own) if node is None else _piece(node, own)
                    before.pieces[own] = piece
                part = Part.of(start, own, piece)
            parts.append(part)
        return SourceFile(text, *_joined(parts), tree, tuple(parts))

    def _broken(self, text: bytes) -> Piece:
        """A part of a text with an error: perhaps another part's."""
        tree = self._parser.parse(text)
        if not tree.root_node.has_error:
            parts = [Part(start, own := text[start:end], _piece(node, own)) for start, end, node in _items(tree)]
            return Piece(*_joined(parts))
        # Loaded here: it takes as long as parsing hundreds of lines, and most texts have no error.
        from phobos_core.syntax.recover import recover

        items, diagnostics = recover(text)
        return Piece(items, diagnostics or (_unexplained(tree.root_node),))


class _Before:
    """What a text may take from the version before it, of which the first `head` and the last `tail` bytes stayed.
    `pieces` are those of the parts between."""

    def __init__(self, file: SourceFile | None, head: int = 0, tail: int = 0) -> None:
        parts = () if file is None else file.parts
        self._length = 0 if file is None else len(file.text)
        self._head, self._tail = head, tail
        self._parts = {part.start: part for part in parts}
        end = self._length - tail
        self.pieces = {p.text: p.piece for p in parts if p.start < end and p.start + len(p.text) > head}

    def unchanged(self, text: bytes, start: int, end: int) -> Part | None:
        """The part from start to end of a text, where it is one that the edits did not touch."""
        moved = 0
        if end > self._head:
            if start < len(text) - self._tail:
                return None
            moved = len(text) - self._length
        part = self._parts.get(start - moved)
        if part is None:
            return None
        stop = start + len(part.text)
        if stop != end and not (stop < end and part.piece.is_item and NO_CODE.fullmatch(text, stop, end)):
            return None
        return part if moved == 0 else Part(start, part.text, part.piece)


def _piece(node: Node, text: bytes) -> Piece:
    item, diagnostics = convert(node, text)
    return Piece((PlacedItem(0, item, text),), diagnostics)


def _ranges(text: bytes, tree: Tree) -> Iterator[tuple[int, int, Node | None]]:
    """Where each part of a text starts and ends, and its node unless the text has an error."""
    if not tree.root_node.has_error:
        yield from _items(tree)
        return
    for start, end in cut(text):
        yield start, start + len(text[start:end].rstrip()), None


def _items(tree: Tree) -> Iterator[tuple[int, int, Node]]:
    nodes = tree.root_node.named_children[::-1]
    while nodes:
        node = nodes.pop()  # with it goes all that is read below it
        if node.kind_id != COMMENT:
            yield node.start_byte, node.end_byte, node


def _joined(parts: Sequence[Part]) -> tuple[tuple[PlacedItem, ...], tuple[Diagnostic, ...]]:
    return (
        tuple([PlacedItem(part.start + p.offset, p.item, p.text) for part in parts for p in part.piece.items]),
        tuple([diagnostic.shifted(part.start) for part in parts for diagnostic in part.piece.diagnostics]),
    )


def _unexplained(node: Node) -> Diagnostic:
    """For an error of the tree that the recovering parser has no words for, so that it is never passed over."""
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error)
    return Diagnostic("syntax-error", "error", node.start_byte, node.end_byte, "this cannot be read as Phobos")


def parse(text: bytes | str) -> SourceFile:
    """Parses one text on its own."""
    return Parser().parse(text)
