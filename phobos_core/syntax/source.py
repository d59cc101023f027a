"""Text -> `SourceFile`: the typed syntax trees of its items, and what is wrong with its syntax.

A text that the grammar accepts is converted from the tree-sitter tree, item by item. A text that it does not
accept is cut into one piece for each item, and only the pieces with an error go to the recovering parser, so
that one broken kernel costs the others nothing. Either way the result for an item depends on the item's own
text alone, and a `Parser` remembers it by that text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import tree_sitter
from tree_sitter import Node, Point, Tree

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax.ast import PlacedItem
from phobos_core.syntax.convert import COMMENT, LANGUAGE, convert
from phobos_core.syntax.pieces import cut
from phobos_core.syntax.recover import recover


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`tree` is the tree-sitter tree of `text`; diagnostics and items are in the order of the text."""

    text: bytes
    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]
    tree: Tree = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a part of a file holds; offsets are relative to the part."""

    items: tuple[PlacedItem, ...]
    diagnostics: tuple[Diagnostic, ...]


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
    """Parses texts, and remembers the items it has seen. Not for use by two threads at once."""

    def __init__(self, capacity: int = 4096) -> None:
        self._parser = tree_sitter.Parser(LANGUAGE)
        self._memo: OrderedDict[bytes, Piece] = OrderedDict()
        self._capacity = capacity

    def parse(self, text: bytes | str) -> SourceFile:
        source = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return self._read(source, self._parser.parse(source))

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
        return self._read(text, tree)

    def _read(self, text: bytes, tree: Tree) -> SourceFile:
        pieces = self._broken(text) if tree.root_node.has_error else self._whole(text, tree)
        return SourceFile(
            text,
            tuple(PlacedItem(start + placed.offset, placed.item) for start, piece in pieces for placed in piece.items),
            tuple(diagnostic.shifted(start) for start, piece in pieces for diagnostic in piece.diagnostics),
            tree,
        )

    def _whole(self, text: bytes, tree: Tree) -> list[tuple[int, Piece]]:
        pieces = []
        for node in tree.root_node.named_children:
            if node.kind_id == COMMENT:
                continue
            start = node.start_byte
            key = text[start : node.end_byte]
            piece = self._recall(key)
            if piece is None:
                item, diagnostics = convert(node, key)
                piece = self._remember(key, Piece((PlacedItem(0, item),), diagnostics))
            pieces.append((start, piece))
        return pieces

    def _broken(self, text: bytes) -> list[tuple[int, Piece]]:
        pieces = []
        for start, end in cut(text):
            key = text[start:end]
            piece = self._recall(key)
            if piece is None:
                piece = self._remember(key, self._piece(key))
            pieces.append((start, piece))
        return pieces

    def _piece(self, text: bytes) -> Piece:
        tree = self._parser.parse(text)
        if tree.root_node.has_error:
            items, diagnostics = recover(text)
            return Piece(items, diagnostics or (_unexplained(tree.root_node),))
        whole = self._whole(text, tree)
        return Piece(
            tuple(PlacedItem(start + p.offset, p.item) for start, piece in whole for p in piece.items),
            tuple(d.shifted(start) for start, piece in whole for d in piece.diagnostics),
        )

    def _recall(self, key: bytes) -> Piece | None:
        piece = self._memo.get(key)
        if piece is not None:
            self._memo.move_to_end(key)
        return piece

    def _remember(self, key: bytes, piece: Piece) -> Piece:
        self._memo[key] = piece
        if len(self._memo) > self._capacity:
            self._memo.popitem(last=False)
        return piece


def _unexplained(node: Node) -> Diagnostic:
    """For an error of the tree that the recovering parser has no words for, so that it is never passed over."""
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error)
    return Diagnostic("syntax-error", "error", node.start_byte, node.end_byte, "this cannot be read as Phobos")


def parse(text: bytes | str) -> SourceFile:
    """Parses one text on its own."""
    return Parser().parse(text)
