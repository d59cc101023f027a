"""Feature: what is under the mouse.

A name: its declaration with its type, the shape in symbols and in the configuration shown, how far its value differs
between threads with the chain of reasons, and for a tile its bytes. A built-in, attribute, type, keyword, operator or
field of `ctx`: what the language says of it, with an example. Where a kernel was built: its resources in each
configuration that is known, and where each tile is, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod

from lsprotocol import types as lsp
from tree_sitter import Node

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.functions import Definition
from phobos_core.analysis.program import Symbol, SymbolKind, TensorType, TileType
from phobos_core.analysis.symbolic import Sym
from phobos_core.language.context import Variation
from phobos_core.language.types import ScalarType
from phobos_core.report.text import bindings
from phobos_core.syntax import ast
from phobos_ls import reference, words
from phobos_ls.builds.builds import MOST_CONFIGURATIONS, Builds
from phobos_ls.builds.hints import tile_rows
from phobos_ls.builds.words import described, table
from phobos_ls.configurations import listed_configurations, shown_configuration, shown_values
from phobos_ls.names import Global, Local, Meaning, declaration, meanings_at
from phobos_ls.scopes import written_type
from phobos_ls.snapshot import Snapshot
from phobos_ls.syntax_at import leaf_at

# What may stand on the line of a declaration before the name, or before an item.
_BEFORE_NAME = re.compile(rb"\s*((let|var|for)\b\s*(<[^>]*>\s*)?)?")
# Kinds whose values live in each thread.
_SCALARS = (SymbolKind.SCALAR, SymbolKind.LOOP, SymbolKind.SCALAR_PARAM)


def hover(snapshot: Snapshot, offset: int, builds: Builds | None = None) -> lsp.Hover | None:
    leaf = leaf_at(snapshot, offset)
    if leaf is None:
        return None
    text = _meaning(snapshot, offset, leaf, builds) or _word(snapshot, leaf)
    if text is None:
        return None
    node = leaf.parent if leaf.parent is not None and leaf.parent.type == "ctx_field" else leaf
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), snapshot.range(node.start_byte, node.end_byte))


def _word(snapshot: Snapshot, leaf: Node) -> str | None:
    text = snapshot.spelled(leaf.start_byte, leaf.end_byte)
    parent = leaf.parent
    kind = "" if parent is None else parent.type
    if kind == "ctx_field" and parent is not None:
        return words.ctx_field(snapshot.spelled(parent.start_byte + len("ctx."), parent.end_byte)) or words.word("ctx")
    if kind == "attribute":
        return _with_page(words.attribute_named(text), f"@{text}")
    if kind == "call_expression":
        return _with_page(words.called(text, brackets=False), text)
    if kind == "collective_expression" and leaf.type == "identifier":
        return _with_page(words.called(text, brackets=True), text)
    if kind == "unary_expression" and not leaf.is_named:
        return words.symbol(text, unary=True)
    return words.symbol(text) or words.word(text)


def _with_page(text: str | None, word: str) -> str | None:
    """With a link to the page of the word, which can be kept open beside the code."""
    address = None if text is None else reference.link(word)
    return text if address is None else f"{text}\n\n[Page of `{word}`]({address})"


def _meaning(snapshot: Snapshot, offset: int, leaf: Node, builds: Builds | None) -> str | None:
    if leaf.type not in ("identifier", "field_identifier"):
        return None
    meanings = meanings_at(snapshot, offset)
    texts = dict.fromkeys(_described(snapshot, meaning, builds) for meaning in meanings)
    return "\n\n---\n\n".join(texts) or None


def _described(snapshot: Snapshot, meaning: Meaning, builds: Builds | None) -> str:
    match meaning:
        case Global(item):
            text = _with_comment(snapshot, item.offset, words.fenced(_head(snapshot, item)))
            built = [] if builds is None or isinstance(item, PlacedFunction) else _resources(snapshot, item, builds)
            return "\n\n".join([text, *built])
        case Local(PlacedKernel() as kernel, Symbol() as symbol):
            built = [] if builds is None else list(_storage(snapshot, kernel, symbol, builds))
            parts = [described_symbol(snapshot, kernel, symbol, sized=not built), *built]
            return _with_comment(snapshot, declaration(meaning, snapshot)[0], "\n\n".join(parts))
        case Local(PlacedFunction() as function, Definition() as definition):
            where = f"{definition.kind} of `{function.ast.name.text}`"
            return f"{words.fenced(definition.name)}\n\n{where}; its type is that of each call"
    raise AssertionError(f"{meaning} is no name")


def described_symbol(snapshot: Snapshot, kernel: PlacedKernel, symbol: Symbol, *, sized: bool = True) -> str:
    """What the checker knows of a name of a kernel. `sized` says that nothing else tells the bytes of a tile."""
    return "\n\n".join([words.fenced(_declared(symbol)), *_facts(snapshot, kernel, symbol, sized=sized)])


def _head(snapshot: Snapshot, item: PlacedKernel | PlacedFunction) -> str:
    """A kernel or function without its block."""
    node, body = item.ast, item.ast.body
    start = node.name.span.start if not isinstance(node, ast.Kernel) else _kernel_start(node)
    end = body.span.start if isinstance(body, ast.Block) else body.span.end
    text = snapshot.spelled(item.offset + start, item.offset + end).strip()
    return text if isinstance(node, ast.Kernel) else f"fn {text}"


def _kernel_start(kernel: ast.Kernel) -> int:
    return kernel.span.start


def _declared(symbol: Symbol) -> str:
    word = {
        SymbolKind.TENSOR: "",
        SymbolKind.SCALAR_PARAM: "",
        SymbolKind.DIM: "",
        SymbolKind.CONSTANT: "",
        SymbolKind.LOOP: "for ",
    }.get(symbol.kind, "var " if symbol.mutable else "let ")
    return f"{word}{symbol.name}: {written_type(symbol.type)}"


def _facts(snapshot: Snapshot, kernel: PlacedKernel, symbol: Symbol, *, sized: bool) -> Iterator[str]:
    yield f"{symbol.kind.value} of `{kernel.ast.name.text}`"
    names = shown_values(snapshot, kernel)
    match symbol.type:
        case TileType(element, shape) | TensorType(element, shape):
            extents = [_value(extent, names) for extent in shape]
            if any(e is None or s.constant is None for e, s in zip(extents, shape, strict=True)) and any(
                e is not None for e in extents
            ):
                text = ", ".join(str(s) if e is None else str(e) for e, s in zip(extents, shape, strict=True))
                yield f"Shown configuration: `[{text}]`"
            if sized and symbol.kind is SymbolKind.TILE and None not in extents:
                size = prod(e for e in extents if e is not None) * element.bytes
                yield f"{size:,} bytes"
        case ScalarType():
            if symbol.kind is SymbolKind.CONSTANT and kernel.kernel is not None:
                choices = kernel.kernel.search.get(symbol.name, ())
                shown = names.get(symbol.name)
                yield f"Choices: {', '.join(map(str, choices))}" + (f"; shown: {shown}" if shown is not None else "")
            if symbol.kind in _SCALARS:
                yield from _variation(snapshot, kernel, symbol)


def _variation(snapshot: Snapshot, kernel: PlacedKernel, symbol: Symbol) -> Iterator[str]:
    variation = kernel.uniformity.variation(symbol)
    if variation is Variation.UNIFORM:
        yield "Uniform: the same in every thread"
        return
    yield f"{variation.text.capitalize()}: it differs between {'lanes' if variation is Variation.VARYING else 'warps'}"
    lines = []
    for reason in kernel.uniformity.reasons(symbol):
        start = snapshot.checked.library.offsets[reason.item] if reason.item else kernel.offset
        line = snapshot.lines.position(start + reason.start).line + 1
        lines.append(f"- line {line}: {reason.message}")
    if lines:
        yield "\n".join(lines)


def _resources(snapshot: Snapshot, kernel: PlacedKernel, builds: Builds) -> Iterator[str]:
    """Of the newest build, and of every configuration of this text that was built; the rest is built now."""
    shown = builds.shown_of(snapshot, kernel)
    if shown is None:
        return
    yield "\n".join(f"- {shown.told(row)}" for row in described(shown.build))
    if shown.stale:
        yield "Stale: of the text before it was changed."
        return
    builds.want_configurations(snapshot, kernel)
    own = shown_configuration(snapshot, kernel)
    rows = [
        (bindings(config), builds.known(snapshot, kernel, config), config == own)
        for config in islice(listed_configurations(kernel), MOST_CONFIGURATIONS)
        if config
    ]
    rows += [(target, builds.known(snapshot, kernel, target=target), False) for target in snapshot.settings.targets[1:]]
    if len(rows) > 1:
        yield table((name, known.build if known else None, shown) for name, known, shown in rows)


def _storage(snapshot: Snapshot, kernel: PlacedKernel, symbol: Symbol, builds: Builds) -> Iterator[str]:
    if symbol.kind not in (SymbolKind.TILE, SymbolKind.VIEW) or symbol.span.frame is not None:
        return
    shown = builds.shown_of(snapshot, kernel)
    if shown is None or shown.build.report is None:
        return
    line = snapshot.lines.position(kernel.offset + symbol.span.start).line
    report = shown.build.report
    found = [tile for tile in report.tiles if tile.name == symbol.name and shown.line(tile.line) == line]
    for tile in found:
        reasons = [d for d in report.decisions if (d.line, d.op) == (tile.line, tile.name)]
        rows = [*tile_rows(tile), *(f"{d.choice}{f': {d.reason}' if d.reason else ''}" for d in reasons)]
        yield "\n".join(f"- {shown.told(row)}" for row in rows)
    if found and shown.stale:
        yield "Stale: of the text before it was changed."


def _value(extent: Sym, names: Mapping[str, int]) -> int | None:
    return extent.evaluate(names) if extent.names <= names.keys() else None


def _with_comment(snapshot: Snapshot, offset: int, text: str) -> str:
    """With the comment that stands above the declaration, where that begins its line: above a line that begins with
    something else, it is about that."""
    line = snapshot.lines.position(offset).line
    if _BEFORE_NAME.fullmatch(snapshot.text[snapshot.lines.starts[line] : offset]) is None:
        return text
    found: list[str] = []
    while line > 0:
        line -= 1
        content = snapshot.lines.line(line).strip()
        if not content.startswith(b"//"):
            break
        found.insert(0, content.removeprefix(b"//").strip().decode("utf-8", "replace"))
    return f"{text}\n\n{' '.join(found)}" if found else text
