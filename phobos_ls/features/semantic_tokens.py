"""Feature: colours by meaning: what each name is, whether it is declared there, may change, or differs between threads.

The modifier `varying` marks a value that differs between the lanes or warps, which no other colouring can know.
Keywords, numbers and comments are left to the grammar's own highlighting.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from lsprotocol import types as lsp
from tree_sitter import Node

from phobos_core.analysis import PlacedKernel
from phobos_core.analysis.program import Symbol, SymbolKind
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from phobos_core.language.context import Variation
from phobos_core.language.types import SPELLED, ScalarType
from phobos_core.syntax.ast import Span
from phobos_ls.snapshot import Snapshot

TYPES = ("function", "parameter", "variable", "type", "decorator", "property", "enumMember")
MODIFIERS = ("declaration", "readonly", "defaultLibrary", "varying")
LEGEND = lsp.SemanticTokensLegend(list(TYPES), list(MODIFIERS))

_KINDS = {
    SymbolKind.TENSOR: "parameter",
    SymbolKind.SCALAR_PARAM: "parameter",
    SymbolKind.DIM: "enumMember",
    SymbolKind.CONSTANT: "enumMember",
}


class Token(NamedTuple):
    start: int
    end: int
    type: str
    modifiers: frozenset[str] = frozenset()


class Edit(NamedTuple):
    start: int
    delete_count: int
    data: list[int]


def semantic_tokens(snapshot: Snapshot, start: int = 0, end: int | None = None) -> list[int]:
    """The tokens of the text, or of a part of it, as the protocol numbers them."""
    last = len(snapshot.text) if end is None else end
    data: list[int] = []
    line = column = 0
    for token in tokens(snapshot):
        if token.end <= start or token.start >= last:
            continue
        at, to = snapshot.position(token.start), snapshot.position(token.end)
        if at.line != to.line:
            continue
        data += [
            at.line - line,
            at.character - (column if at.line == line else 0),
            to.character - at.character,
            TYPES.index(token.type),
            sum(1 << MODIFIERS.index(name) for name in token.modifiers),
        ]
        line, column = at.line, at.character
    return data


def result_id(data: list[int]) -> str:
    return blake2b(repr(data).encode(), digest_size=12).hexdigest()


def difference(before: list[int], after: list[int]) -> list[Edit]:
    """What makes `after` of `before`: one edit around all that changed."""
    if before == after:
        return []
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return [Edit(head, len(before) - head - tail, after[head : len(after) - tail])]


def tokens(snapshot: Snapshot) -> list[Token]:
    """In the order of the text; no two overlap."""
    found: dict[int, Token] = {}
    for token in (*_of_words(snapshot), *_of_functions(snapshot), *_of_kernels(snapshot)):
        found[token.start] = token
    return [found[start] for start in sorted(found)]


def _of_kernels(snapshot: Snapshot) -> Iterator[Token]:
    offsets = snapshot.checked.library.offsets
    for kernel in snapshot.kernels():
        yield _token(kernel.ast.name.span, kernel.offset, "function", {"declaration"})
        for span, symbol in kernel.references:
            start = kernel.offset if span.frame is None else offsets[span.item]
            yield _of_symbol(kernel, symbol, span, start)
        for span, _ in kernel.calls:
            yield _token(span, kernel.offset if span.frame is None else offsets[span.item], "function")


def _of_symbol(kernel: PlacedKernel, symbol: Symbol, span: Span, start: int) -> Token:
    modifiers = set()
    if span == symbol.span:
        modifiers.add("declaration")
    if not symbol.mutable and symbol.kind not in (SymbolKind.TENSOR, SymbolKind.VIEW):
        modifiers.add("readonly")
    if isinstance(symbol.type, ScalarType) and kernel.uniformity.variation(symbol) is not Variation.UNIFORM:
        modifiers.add("varying")
    return _token(span, start, _KINDS.get(symbol.kind, "variable"), modifiers)


def _of_functions(snapshot: Snapshot) -> Iterator[Token]:
    for function in snapshot.checked.library.placed:
        yield _token(function.ast.name.span, function.offset, "function", {"declaration"})
        for span, definition in function.facts.references:
            kind = "parameter" if definition.kind == "parameter" else "variable"
            yield _token(span, function.offset, kind, {"declaration"} if span == definition.span else set())
        for name in function.facts.calls:
            yield _token(name.span, function.offset, "function")


def _of_words(snapshot: Snapshot) -> Iterator[Token]:
    """Words of the language that are no keywords: built-ins, types, attributes, the fields of `ctx`."""
    root = snapshot.source.tree.root_node
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        match node.type:
            case "call_expression" | "collective_expression":
                name = node.children[0]
                known = BUILTINS if node.type == "call_expression" else COLLECTIVES
                text = snapshot.spelled(name.start_byte, name.end_byte)
                if text in known:
                    yield Token(name.start_byte, name.end_byte, "function", frozenset({"defaultLibrary"}))
            case "scalar_type":
                if snapshot.spelled(node.start_byte, node.end_byte) in SPELLED:
                    yield Token(node.start_byte, node.end_byte, "type", frozenset({"defaultLibrary"}))
            case "attribute":
                attribute = node.child_by_field_name("name")
                if attribute is not None:
                    yield Token(node.start_byte, attribute.end_byte, "decorator", frozenset({"defaultLibrary"}))
            case "field_identifier":
                yield Token(node.start_byte, node.end_byte, "property", frozenset({"readonly", "defaultLibrary"}))
        pending += node.children


def _token(span: Span, offset: int, type_: str, modifiers: set[str] | None = None) -> Token:
    return Token(span.start + offset, span.end + offset, type_, frozenset(modifiers or ()))
