"""Feature: folding, and growing the selection by the syntax.

Blocks fold, and lists over several lines, runs of comments, and the attributes above a kernel. A selection grows from a
name to the expression, the statement, the block and the kernel around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp
from tree_sitter import Node

from phobos_core.syntax.formatter import SEPARATORS
from phobos_ls.snapshot import Snapshot

_FOLDED = frozenset({"block", "parameters", "arguments", "attribute_arguments", "subscripts", "choices"})
# A selection lies in the next one, and so on, in the answer too: readers of JSON give up on what is nested without end.
MOST_SELECTIONS = 100


def folding_ranges(snapshot: Snapshot) -> list[lsp.FoldingRange]:
    root = snapshot.source.tree.root_node
    found = [*_brackets(root), *_comments(root), *_attributes(root)]
    return [lsp.FoldingRange(first, last, kind=kind) for first, last, kind in sorted(set(found), key=str)]


def selection_ranges(snapshot: Snapshot, offsets: list[int]) -> list[lsp.SelectionRange]:
    return [_selection(snapshot, offset) for offset in offsets]


_Fold = tuple[int, int, lsp.FoldingRangeKind | None]


def _brackets(root: Node) -> Iterator[_Fold]:
    """From the line that opens to the line before the one that closes, which stays in sight."""
    pending = [root]
    while pending:
        node = pending.pop()
        first, last = node.start_point.row, node.end_point.row
        if last == first:
            continue
        if node.type in _FOLDED and last - 1 > first:
            yield first, last - 1, None
        pending += node.children


def _comments(root: Node) -> Iterator[_Fold]:
    """Two comments or more on lines of their own, one below the other."""
    pending = [root]
    while pending:
        node = pending.pop()
        run: list[int] = []
        before = -1
        for child in node.children:
            if child.type in SEPARATORS:
                continue
            row = child.start_point.row
            if child.type == "comment" and row > before and (not run or row == run[-1] + 1):
                run.append(row)
            else:
                if len(run) > 1:
                    yield run[0], run[-1], lsp.FoldingRangeKind.Comment
                run = [row] if child.type == "comment" and row > before else []
                if child.end_point.row > row:
                    pending.append(child)
            before = child.end_point.row if child.type != "comment" else row
        if len(run) > 1:
            yield run[0], run[-1], lsp.FoldingRangeKind.Comment


def _attributes(root: Node) -> Iterator[_Fold]:
    for item in root.children:
        attributes = [child for child in item.children if child.type == "attribute"]
        if attributes and attributes[-1].end_point.row > attributes[0].start_point.row:
            yield attributes[0].start_point.row, attributes[-1].end_point.row, lsp.FoldingRangeKind.Region


def _selection(snapshot: Snapshot, offset: int) -> lsp.SelectionRange:
    """The nodes around an offset, those with the same range once."""
    node: Node | None = snapshot.source.tree.root_node
    leaf = None if node is None else node.descendant_for_byte_range(offset, offset)
    ranges = [(0, len(snapshot.text))]
    # From the root down: the parent of a node is looked for from there each time.
    while node is not None:
        if (node.start_byte, node.end_byte) != ranges[-1]:
            ranges.append((node.start_byte, node.end_byte))
        node = None if leaf is None or node == leaf else node.child_with_descendant(leaf)
    if len(ranges) > MOST_SELECTIONS:
        ranges = [ranges[0], *ranges[1 - MOST_SELECTIONS :]]
    selected: lsp.SelectionRange | None = None
    for start, end in ranges:
        selected = lsp.SelectionRange(snapshot.range(start, end), selected)
    assert selected is not None
    return selected
