"""Answers as plain as a client needs them: not every editor shows Markdown, trees of symbols, or places in labels.

In: an answer and what the client said of itself. Out: the answer in terms that it knows. What a client says nothing of
stays as it is, but a list of formats without Markdown says that it shows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability

_FENCE = re.compile(r"^ *```.*\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_MARKS = re.compile(r"`|\*\*")
_TABLE_RULE = re.compile(r"^\|[-|: ]+\|\n", re.MULTILINE)
# A line that only leads to another page.
_LINK_LINE = re.compile(r"\n*^\[[^\]\n]+\]\([^)\n]*\)$", re.MULTILINE)


def plain(markdown: str) -> str:
    """A text to be read as it is."""
    text = _TABLE_RULE.sub("", _FENCE.sub("", _LINK_LINE.sub("", markdown)))
    return _MARKS.sub("", _LINK.sub(r"\1", text)).strip()


def hover(found: lsp.Hover | None, client: lsp.ClientCapabilities) -> lsp.Hover | None:
    if found is not None and isinstance(found.contents, lsp.MarkupContent):
        found.contents = _content(found.contents, client, "hover.content_format")
    return found


def documented(item: lsp.CompletionItem, client: lsp.ClientCapabilities) -> lsp.CompletionItem:
    if isinstance(item.documentation, lsp.MarkupContent):
        item.documentation = _content(item.documentation, client, "completion.completion_item.documentation_format")
    return item


def signature(found: lsp.SignatureHelp | None, client: lsp.ClientCapabilities) -> lsp.SignatureHelp | None:
    """A parameter is named by its text where its place in the label says nothing to the client."""
    information = "signature_help.signature_information"
    told = _capability(client, information)
    placed = told is None or _capability(client, f"{information}.parameter_information.label_offset_support")
    for each in [] if found is None else found.signatures:
        parts: list[lsp.SignatureInformation | lsp.ParameterInformation] = [each, *(each.parameters or ())]
        for part in parts:
            if isinstance(part.documentation, lsp.MarkupContent):
                part.documentation = _content(part.documentation, client, f"{information}.documentation_format")
        for parameter in each.parameters or ():
            if not placed and not isinstance(parameter.label, str):
                start, end = parameter.label
                parameter.label = each.label[start:end]
    return found


def outline(
    symbols: list[lsp.DocumentSymbol], uri: str, client: lsp.ClientCapabilities
) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation]:
    """A list of what is in the tree, each with the name of what it is in, where the client shows no trees."""
    told = _capability(client, "document_symbol")
    if told is None or _capability(client, "document_symbol.hierarchical_document_symbol_support"):
        return symbols
    return list(_listed(symbols, uri, None))


def _listed(symbols: list[lsp.DocumentSymbol], uri: str, within: str | None) -> Iterator[lsp.SymbolInformation]:
    for symbol in symbols:
        place = lsp.Location(uri, symbol.selection_range)
        yield lsp.SymbolInformation(place, symbol.name, symbol.kind, container_name=within)
        yield from _listed(list(symbol.children or ()), uri, symbol.name)


def _content(content: lsp.MarkupContent, client: lsp.ClientCapabilities, formats: str) -> lsp.MarkupContent:
    known = _capability(client, formats)
    if not known or lsp.MarkupKind.Markdown in known:
        return content
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, plain(content.value))


def _capability(client: lsp.ClientCapabilities, name: str) -> Any:
    return get_capability(client, f"text_document.{name}")
