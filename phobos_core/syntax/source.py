"""Text -> `SourceFile`: the typed syntax trees of its items, and what is wrong with its syntax.

A text that the grammar accepts is converted from the tree-sitter tree, item by item. A text that it does not
accept is cut into one piece for each item, and only the pieces with an error go to the recovering parser, so
that one broken kernel costs the others nothing. Either way the result for an item depends on the item's own
text alone, so the next version of a file takes from the last what it did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter
from tree_sitter import Node, Point, Tree

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax.ast import Item, PlacedItem
from phobos_core.syntax.convert import COMMENT, LANGUAGE, convert
from phobos_core.syntax.pieces import cut


@dataclass(frozen=True, slots=True)
class Piece:
    """What a part of a file holds; offsets are relative to the part."""

    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]

    @staticmethod
    def of_item(item: Item, diagnostics: tuple[Diagnostic, ...]) -> Piece:
        return Piece((PlacedItem(0, item),), diagnostics)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`tree` is the tree-sitter tree of `text`; diagnostics and items are in the order of the text.

    `pieces` holds the parts of the file by their text, from which the next version of it takes what it keeps.
    """

    text: bytes
    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]
    tree: Tree = field(repr=False, compare=False)
    pieces: Mapping[bytes, Piece] = field(repr=False, compare=False)


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
        new_end = self.start + len(self.replacement)
        after = text[: self.start] + self.replacement
        points = point(text, self.start), point(text, self.end), point(after, new_end)
        return self.start, self.end, new_end, *points


def point(text: bytes, offset: int) -> Point:
    """A row and column as tree-sitter counts them: rows end at `\\n` only, columns are bytes."""
    return Point(text.count(b"\n", 0, offset), offset - (text.rfind(b"\n", 0, offset) + 1))


class Parser:
    """A tree-sitter parser. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._parser = tree_sitter.Parser(LANGUAGE)

    def parse(self, text: bytes | str, before: SourceFile | None = None) -> SourceFile:
        """The file that `text` is. Items that stood in the file `before` as well are taken from there."""
        source = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return self._read(source, self._parser.parse(source), before.pieces if before else {})

    def edit(self, file: SourceFile, edits: Iterable[Edit]) -> SourceFile:
        """The file after the edits, one after the other. It is equal to a fresh parse of the new text.

        tree-sitter reuses what the edits leave alone. Where a text has a syntax error, before or after, the
        shape of its tree would depend on the edits that led to it, so it is parsed as a whole.
        """
        text = file.text
        tree = file.tree.copy()
        for edit in edits:
            tree.edit(*edit.places(text))
            text = edit.apply(text)
        if not tree.root_node.has_error:
            tree = self._parser.parse(text, tree)
        if tree.root_node.has_error:
            tree = self._parser.parse(text)
        return self._read(text, tree, file.pieces)

    def _read(self, text: bytes, tree: Tree, known: Mapping[bytes, Piece]) -> SourceFile:
        pieces: dict[bytes, Piece] = {}
        placed = []
        for start, key, node in _parts(text, tree):
            piece = pieces.get(key) or known.get(key)
            if piece is None:
                piece = self._broken(key) if node is None else Piece.of_item(*convert(node, key))
            pieces[key] = piece
            placed.append((start, piece))
        return SourceFile(text, *_joined(placed), tree, pieces)

    def _broken(self, text: bytes) -> Piece:
        """A part of a text with an error: perhaps another part's."""
        tree = self._parser.parse(text)
        if not tree.root_node.has_error:
            parts = [(start, Piece.of_item(*convert(node, key))) for start, key, node in _items(text, tree)]
            return Piece(*_joined(parts))
        # Loaded here: it takes as long as parsing hundreds of lines, and most texts have no error.
        from phobos_core.syntax.recover import recover

        items, diagnostics = recover(text)
        return Piece(items, diagnostics or (_unexplained(tree.root_node),))


def _parts(text: bytes, tree: Tree) -> Iterator[tuple[int, bytes, Node | None]]:
    """Where each part of a text starts, its own text, and its node unless the text has an error."""
    if not tree.root_node.has_error:
        yield from _items(text, tree)
        return
    for start, end in cut(text):
        yield start, text[start:end].rstrip(), None


def _items(text: bytes, tree: Tree) -> Iterator[tuple[int, bytes, Node]]:
    nodes = tree.root_node.named_children[::-1]
    while nodes:
        node = nodes.pop()  # with it goes all that is read below it
        if node.kind_id != COMMENT:
            yield node.start_byte, text[node.start_byte : node.end_byte], node


def _joined(
    pieces: list[tuple[int, Piece]],
) -> tuple[tuple[PlacedItem, ...], tuple[Diagnostic, ...]]:
    return (
        tuple(PlacedItem(start + p.offset, p.item) for start, piece in pieces for p in piece.items),
        tuple(diagnostic.shifted(start) for start, piece in pieces for diagnostic in piece.diagnostics),
    )


def _unexplained(node: Node) -> Diagnostic:
    """For an error of the tree that the recovering parser has no words for, so that it is never passed over."""
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error)
    return Diagnostic("syntax-error", "error", node.start_byte, node.end_byte, "this cannot be read as Phobos")


def parse(text: bytes | str) -> SourceFile:
    """Parses one text on its own."""
    return Parser().parse(text)
