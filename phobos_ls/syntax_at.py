"""The token of the concrete syntax under an offset: what features that work on half-written text begin with."""

from __future__ import annotations

from tree_sitter import Node

from phobos_ls.snapshot import Snapshot

_SPACE = frozenset({"\n", "\r\n", "\r", ";", ",", "(", ")", "[", "]", "{", "}"})


def leaf_at(snapshot: Snapshot, offset: int) -> Node | None:
    """The token that the offset is in or touches; of two, the one that is a word. None in white space and comments."""
    root = snapshot.source.tree.root_node
    found: list[Node] = []
    for start, end in ((offset, offset + 1), (offset - 1, offset)):
        if start >= 0 and end <= len(snapshot.text):
            node = root.descendant_for_byte_range(start, end)
            if node is not None and node.child_count == 0 and node.type not in ("comment", "ERROR"):
                found.append(node)
    # A word with a meaning in one position only is a token inside the identifier that it is everywhere else.
    found = [node.parent if node.parent is not None and node.parent.type == "identifier" else node for node in found]
    words = [node for node in found if node.type not in _SPACE and node.end_byte > node.start_byte]
    return min(words, key=lambda node: not node.is_named, default=None)
