"""What completion offers, as the protocol has it: names, built-ins, numbers, snippets, and the order they come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import evolve
from lsprotocol import types as lsp

from phobos_core.analysis.program import Symbol, SymbolKind
from phobos_core.language.builtins import Builtin
from phobos_core.language.types import Kind, ScalarType
from phobos_ls import words
from phobos_ls.places import Place
from phobos_ls.scopes import written_type

_KIND = lsp.CompletionItemKind
_INTEGERS = frozenset({Kind.INT, Kind.UINT, Kind.INDEX})
_PLACEHOLDER = re.compile(r"\$\{?\d")
_FIRST_WORD = re.compile(r"@?\w+")


def number(value: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(str(value), kind=_KIND.Value, sort_text=f"1{value:05}")


def symbol_items(symbols: Iterable[Symbol], place: Place) -> Iterator[lsp.CompletionItem]:
    """Those that are declared last come first, but where a number is wanted behind all that are one."""
    kinds = {SymbolKind.CONSTANT: _KIND.Constant, SymbolKind.DIM: _KIND.Constant, SymbolKind.TENSOR: _KIND.Field}
    for index, symbol in enumerate(reversed(list(symbols))):
        fits = place is not Place.INTEGER or (isinstance(symbol.type, ScalarType) and symbol.type.kind in _INTEGERS)
        rank, kind = f"{0 if fits else 1}{index:04}", kinds.get(symbol.kind, _KIND.Variable)
        yield plain(symbol.name, kind, None, detail=written_type(symbol.type), rank=rank)


def call_of(builtin: Builtin, kind: lsp.CompletionItemKind) -> lsp.CompletionItem:
    form = builtin.forms[0]
    needed = [p.name for p in form.params if not p.optional and not p.variadic]
    text = f"{builtin.name}({', '.join(f'${{{i}:{name}}}' for i, name in enumerate(needed, 1))})"
    rank = "2" if builtin.supported else "4"
    return snippet(builtin.name, text, kind, words.signature(builtin, form), {"builtin": builtin.name}, rank=rank)


def plain(
    label: str,
    kind: lsp.CompletionItemKind,
    data: dict[str, str] | None,
    *,
    detail: str | None = None,
    rank: str | None = None,
) -> lsp.CompletionItem:
    """`rank` comes before the label in the order. It is given here, as a change of an item that is made costs more."""
    return lsp.CompletionItem(label, kind=kind, data=data, detail=detail, sort_text=rank and rank + label)


def snippet(
    label: str,
    text: str,
    kind: lsp.CompletionItemKind,
    detail: str,
    data: dict[str, str] | None,
    *,
    rank: str | None = None,
) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label,
        kind=kind,
        detail=detail or None,
        data=data,
        sort_text=rank and rank + label,
        insert_text=text,
        insert_text_format=lsp.InsertTextFormat.Snippet,
    )


def bare(item: lsp.CompletionItem) -> lsp.CompletionItem:
    """Inserts the word that a snippet begins with, where it has something to fill in."""
    text = item.insert_text
    if item.insert_text_format is not lsp.InsertTextFormat.Snippet or text is None:
        return item
    if _PLACEHOLDER.search(text):
        word = _FIRST_WORD.match(text) or _FIRST_WORD.match(item.label)
        text = item.label if word is None else word[0]
    return evolve(item, insert_text=text, insert_text_format=None)
