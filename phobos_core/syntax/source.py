"""Text -> `SourceFile`: the typed syntax trees of its items, and what is wrong with its syntax.

A text that the grammar accepts is converted from the tree-sitter tree, item by item. A text that it does not
accept is cut into one piece for each item, and only the pieces with an error go to the recovering parser, so
that one broken kernel costs the others nothing. Either way the result for an item depends on the item's own
text alone, and a `Parser` remembers it by that text.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import tree_sitter
from tree_sitter import Tree

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


class Parser:
    """Parses texts, and remembers the items it has seen. Not for use by two threads at once."""

    def __init__(self, capacity: int = 4096) -> None:
        self._parser = tree_sitter.Parser(LANGUAGE)
        self._memo: OrderedDict[bytes, Piece] = OrderedDict()
        self._capacity = capacity

    def parse(self, text: bytes | str) -> SourceFile:
        source = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return self.read(source, self.tree(source))

    def tree(self, text: bytes, old: Tree | None = None) -> Tree:
        """The tree-sitter tree; `old` is the edited tree of the text before."""
        return self._parser.parse(text, old) if old else self._parser.parse(text)

    def read(self, text: bytes, tree: Tree) -> SourceFile:
        """The file that `tree`, the tree of `text`, describes."""
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
        tree = self.tree(text)
        if tree.root_node.has_error:
            return Piece(*recover(text))
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


def parse(text: bytes | str) -> SourceFile:
    """Parses one text on its own."""
    return Parser().parse(text)
