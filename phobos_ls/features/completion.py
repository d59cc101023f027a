"""Feature: completion.

Where a value stands: the names in scope, the functions of the file, the built-ins, and `ctx`. After `ctx.` its fields,
after `@` the attributes, after `:` and in brackets of a type the types and dimensions, at the start of a statement the
statements as snippets, inside the angle brackets of a collective its words. Where a new name is to be thought of, or
only an operator can follow, there is nothing. Documentation comes with `completionItem/resolve`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.program import Symbol, SymbolKind, TensorType
from phobos_core.language.attributes import ATTRIBUTES, ArgumentForm, Attribute
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin, Use
from phobos_core.language.context import CTX_FIELDS
from phobos_core.language.formats import FORMATS
from phobos_core.language.types import CONVERSIONS, I8, SPELLED, Kind, ScalarType
from phobos_ls import words
from phobos_ls.features.signature import Call, call_around
from phobos_ls.places import Place, place_at
from phobos_ls.scopes import (
    OF_THE_KERNEL,
    definitions_before,
    dimensions_written,
    item_at,
    names_written,
    symbols_in_scope,
    written_type,
)
from phobos_ls.snapshot import Snapshot

TRIGGERS = (".", "@", "<")

_KIND = lsp.CompletionItemKind
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*$")
_CTX = re.compile(rb"\bctx\s*\.\s*((?:blocks?\s*\.\s*)?)[A-Za-z_]*$")
_BRACKET = re.compile(rb"\b(sum|max|min|any|all|argmax|reduce|shfl)\s*<\s*[a-z]*$")
_OVER = re.compile(rb"<\s*over\s+[a-z.]*$")
_WIDTH = re.compile(rb"<\s*(?:over\s+ctx\.lane|(?:from|xor|down|up)\s+[^<>]*?)\s*,\s*[a-z]*$")
_UNROLL = re.compile(rb"\bfor\s*<\s*[a-z]*$")

_FIRST_WORD = re.compile(r"@?\w+")
_PLACEHOLDER = re.compile(r"\$\{?\d")
_INTEGERS = frozenset({Kind.INT, Kind.UINT, Kind.INDEX})
_VALUE = re.compile(rb"=\s*\w*$")
# Extents of tiles, and the numbers that `@launch` is given, as kernels have them.
_TILES = (8, 16, 32, 64, 128, 256)
_COUNTS = {"threads": (32, 64, 128, 256, 512, 1024), "min_blocks": (1, 2, 3, 4), "max_regs": (64, 96, 128, 168, 255)}
# The tables come after `a`, `a_scales`, `qb` and `d`.
_BEFORE_TABLES = 4
TABLE_OPERANDS = {
    f"{name}_{family.value}": tables for name, entry in FORMATS.items() for family, tables in entry.tables.items()
}

_STATEMENTS = {
    "let": "let ${1:name} = ${0:value}",
    "var": "var ${1:name} = ${0:value}",
    "for": "for ${1:i} in range(${2:0}, ${3:n}) {\n  $0\n}",
    "for<unroll>": "for<unroll ${1:4}> ${2:i} in range(${3:0}, ${4:n}) {\n  $0\n}",
    "while": "while ${1:condition} {\n  $0\n}",
    "if": "if ${1:condition} {\n  $0\n}",
    "else": "else {\n  $0\n}",
    "break": "break",
    "continue": "continue",
    "return": "return",
}
_ITEMS = {
    "kernel": "kernel ${1:name}(${2:A: tensor<f32>[N]}) {\n  $0\n}",
    "fn": "fn ${1:name}(${2:x}) = ${0:x}",
}


def completion(snapshot: Snapshot, offset: int, *, snippets: bool = True) -> lsp.CompletionList:
    """`snippets` says that the client fills in what has placeholders."""
    items = _items(snapshot, offset)
    return lsp.CompletionList(is_incomplete=False, items=list(items if snippets else map(_plain_text, items)))


def _plain_text(item: lsp.CompletionItem) -> lsp.CompletionItem:
    """Inserts the word that a snippet begins with, where it has something to fill in."""
    if item.insert_text_format is lsp.InsertTextFormat.Snippet and item.insert_text is not None:
        item.insert_text_format = None
        if _PLACEHOLDER.search(item.insert_text):
            word = _FIRST_WORD.match(item.insert_text) or _FIRST_WORD.match(item.label)
            item.insert_text = item.label if word is None else word[0]
    return item


def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
    """With its documentation."""
    data: Any = item.data
    text = _documentation(data) if isinstance(data, dict) else None
    if text is not None:
        item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return item


def _documentation(data: dict[str, Any]) -> str | None:
    match data:
        case {"builtin": str(name)}:
            return words.called(name, brackets=False)
        case {"collective": str(name)}:
            return words.called(name, brackets=True)
        case {"attribute": str(name)}:
            return words.attribute_named(name)
        case {"ctx": str(name)}:
            return words.ctx_field(name)
        case {"word": str(name)}:
            return words.word(name)
    return None


def _items(snapshot: Snapshot, offset: int) -> Iterator[lsp.CompletionItem]:
    before = _line_before(snapshot, offset)
    if b"//" in before:
        return
    if (over := _OVER.search(before)) is not None:
        yield from _groups(b"." in over[0])
        return
    if (ctx := _CTX.search(before)) is not None:
        yield from _ctx_fields(bytes(ctx[1]))
        return
    word = _WORD.search(before)
    stem = before[: word.start()] if word else before
    item = item_at(snapshot, offset)
    in_body = item is not None and _in_body(item, offset)
    if stem.rstrip().endswith(b"@"):
        if in_body:
            return
        yield from (
            _snippet(a.name, a.snippet, _KIND.Keyword, a.signature, {"attribute": a.name}) for a in _attributes()
        )
        return
    if _inside_angle(before):
        yield from _bracket_words(before)
        return
    call = call_around(snapshot.text, offset)
    if call is not None and call.kind == "attribute" and call.name in ATTRIBUTES:
        yield from _attribute_arguments(snapshot, ATTRIBUTES[call.name], call.argument, offset, before)
        return
    place = place_at(snapshot.text, offset - (len(before) - len(stem)))
    match place:
        case Place.NOTHING:
            return
        case Place.START if not in_body:
            yield from _beginnings()
        case Place.START:
            yield from _names(snapshot, item, offset, place)
            yield from _functions(snapshot)
            for name, text in _STATEMENTS.items():
                yield _ranked(_snippet(name, text, _KIND.Snippet, "", {"word": name}), "1")
            yield from (_call(b, _KIND.Function) for b in BUILTINS.values() if b.use is not Use.VALUE)
        case Place.TYPE:
            yield from _types()
        case Place.ELEMENT:
            yield from _elements()
        case Place.IN:
            yield _plain("in", _KIND.Keyword, {"word": "in"})
        case Place.RANGE:
            yield _snippet("range", "range(${1:0}, ${2:n})", _KIND.Keyword, "range(lo, hi[, step])", {"word": "range"})
        case Place.ELSE:
            yield _snippet("if", _STATEMENTS["if"], _KIND.Snippet, "", {"word": "if"})
        case Place.EXTENT:
            yield from _extents(snapshot, item, offset)
        case Place.VALUE | Place.INTEGER:
            if item is not None and call is not None:
                yield from _table_operands(snapshot, item, call)
            yield from _names(snapshot, item, offset, place)
            yield from _values(snapshot)


def _line_before(snapshot: Snapshot, offset: int) -> bytes:
    return snapshot.text[snapshot.lines.starts[snapshot.lines.position(offset).line] : offset]


def _groups(dotted: bool) -> Iterator[lsp.CompletionItem]:
    """What `over` names; `dotted`, where `ctx.` is there already."""
    for name in ("lane", "thread"):
        yield _plain(name if dotted else f"ctx.{name}", _KIND.Field, {"ctx": name})


def _inside_angle(before: bytes) -> bool:
    return any(pattern.search(before) for pattern in (_BRACKET, _WIDTH, _UNROLL))


def _bracket_words(before: bytes) -> Iterator[lsp.CompletionItem]:
    if _UNROLL.search(before):
        yield _plain("unroll", _KIND.Keyword, {"word": "unroll"})
    elif _WIDTH.search(before):
        yield _plain("width", _KIND.Keyword, {"word": "width"})
    elif (bracket := _BRACKET.search(before)) is not None:
        for choice in dict.fromkeys(b.word for b in COLLECTIVES[bracket[1].decode()].brackets):
            yield _plain(choice, _KIND.Keyword, {"word": choice})


def _ctx_fields(axis_of: bytes) -> Iterator[lsp.CompletionItem]:
    prefix = axis_of.replace(b" ", b"").decode()
    for name, field in CTX_FIELDS.items():
        if name.startswith(prefix):
            label = name.removeprefix(prefix)
            item = _plain(label, _KIND.Field, {"ctx": name})
            item.detail = f"{field.type}, {field.variation.text}"
            yield item


def _attributes() -> Iterator[Any]:
    return iter(ATTRIBUTES.values())


def _attribute_arguments(
    snapshot: Snapshot, entry: Attribute, argument: int, offset: int, before: bytes
) -> Iterator[lsp.CompletionItem]:
    """What the argument may be: names of the kernel below, words, or numbers that are common."""
    if not entry.slots:
        return
    slot = entry.slots[min(argument, len(entry.slots) - 1)]
    if argument >= len(entry.slots) and not slot.repeats:
        return
    kernel = next((k for k in snapshot.kernels() if offset <= k.offset + k.ast.body.span.start), None)
    symbols = () if kernel is None else kernel.symbols
    match slot.form:
        case ArgumentForm.SEARCH if not _inside_list(before):
            yield _snippet("NAME in [..]", "${1:TILE} in [${2:32}, ${3:128}]", _KIND.Snippet, slot.doc, None)
        case ArgumentForm.SEARCH:
            yield from (_number(value) for value in _TILES)
        case ArgumentForm.KEYWORD if _VALUE.search(before):
            yield from _symbols((s for s in symbols if s.kind is SymbolKind.CONSTANT), Place.EXTENT)
            yield from (_number(value) for value in _TILES)
        case ArgumentForm.KEYWORD:
            for name in () if kernel is None else dimensions_written(kernel.ast):
                yield _ranked(_snippet(name, f"{name} = ${{1:tile}}", _KIND.Constant, slot.doc, None), "0")
        case ArgumentForm.INTEGER:
            fitting = [v for v in _COUNTS[slot.name] if (slot.low or 0) <= v <= (slot.high or v)]
            yield from (_number(value) for value in fitting)
        case ArgumentForm.WORD:
            yield from (_plain(word, _KIND.EnumMember, None, detail=slot.doc) for word in slot.words)
        case ArgumentForm.NAME:
            tiles = (s for s in symbols if s.kind is SymbolKind.TILE and s.mutable and s.span.frame is None)
            yield from _symbols(tiles, Place.VALUE)


def _inside_list(before: bytes) -> bool:
    return before.rfind(b"[") > before.rfind(b"]")


def _number(value: int) -> lsp.CompletionItem:
    item = _plain(str(value), _KIND.Value, None)
    item.sort_text = f"1{value:05}"
    return item


def _table_operands(
    snapshot: Snapshot, item: PlacedKernel | PlacedFunction, call: Call
) -> Iterator[lsp.CompletionItem]:
    """Where a quantized built-in takes a table of its format: the parameters that may hold it, and the table by the
    name that the host has for it, which becomes a parameter of the kernel."""
    operands = TABLE_OPERANDS.get(call.name, ())
    number = call.argument - _BEFORE_TABLES
    if not isinstance(item, PlacedKernel) or not 0 <= number < len(operands):
        return
    operand, table = operands[number]
    for symbol in item.symbols:
        if isinstance(symbol.type, TensorType) and symbol.type.element == I8 and str(symbol.type.dims[0]) == "1":
            found = _plain(f"{symbol.name}[:, :]", _KIND.Field, None, detail=f"for `{operand}`: {table.name}")
            yield _ranked(found, "00")
    name = table.name.upper()
    if all(symbol.name != name for symbol in item.symbols) and item.ast.params:
        found = _plain(f"{name}[:, :]", _KIND.Constant, None, detail=f"`{operand}`, {table.size} bytes: {table.doc}")
        end = item.offset + item.ast.params[-1].span.end
        parameter = f", {name}: tensor<i8>[1, {table.size}]"
        found.additional_text_edits = [lsp.TextEdit(snapshot.range(end, end), parameter)]
        yield _ranked(found, "01")


def _beginnings() -> Iterator[lsp.CompletionItem]:
    """Between items."""
    yield from (_snippet(name, text, _KIND.Snippet, "", {"word": name}) for name, text in _ITEMS.items())
    yield from (
        _snippet("@" + a.name, "@" + a.snippet, _KIND.Keyword, a.signature, {"attribute": a.name})
        for a in _attributes()
    )


def _types() -> Iterator[lsp.CompletionItem]:
    yield from _elements()
    yield _snippet("tensor", "tensor<${1:f32}>[${2:N}]", _KIND.Struct, "", {"word": "tensor"})
    yield _snippet("tile", "tile<${1:f32}>[${2:R}, ${3:C}]", _KIND.Struct, "", {"word": "tile"})


def _elements() -> Iterator[lsp.CompletionItem]:
    yield from (_plain(name, _KIND.TypeParameter, {"word": name}) for name in SPELLED)


def _extents(
    snapshot: Snapshot, item: PlacedKernel | PlacedFunction | None, offset: int
) -> Iterator[lsp.CompletionItem]:
    """What is known when a kernel is compiled, and the dimensions that a kernel is given."""
    if isinstance(item, PlacedKernel) and not _in_body(item, offset):
        written = dict.fromkeys(dimensions_written(item.ast))
        searched = (s for s in item.symbols if s.kind in OF_THE_KERNEL and s.name not in written)
        yield from _symbols((*searched, *(s for s in item.symbols if s.name in written)), Place.EXTENT)
    elif isinstance(item, PlacedKernel):
        known = symbols_in_scope(snapshot, item, offset)
        yield from _symbols((s for s in known if s.kind in (*OF_THE_KERNEL, SymbolKind.SCALAR)), Place.EXTENT)
    elif item is not None:
        yield from _names(snapshot, item, offset, Place.EXTENT)
    yield from (_number(value) for value in _TILES)


def _names(
    snapshot: Snapshot, item: PlacedKernel | PlacedFunction | None, offset: int, place: Place
) -> Iterator[lsp.CompletionItem]:
    """The names in scope, what is near first."""
    if isinstance(item, PlacedKernel):
        known = list(symbols_in_scope(snapshot, item, offset))
        unknown = dict.fromkeys(names_written(snapshot, item, offset)).keys() - {s.name for s in known}
        yield from (_ranked(_plain(name, _KIND.Variable, None), "00000") for name in sorted(unknown))
        yield from _symbols(known, place)
    elif item is not None:
        names = definitions_before(snapshot, item, offset)
        yield from (_ranked(_plain(name, _KIND.Variable, None, detail=d.kind), "0") for name, d in names.items())


def _symbols(symbols: Iterable[Symbol], place: Place) -> Iterator[lsp.CompletionItem]:
    """Those that are declared last come first, but where a number is wanted behind all that are one."""
    kinds = {SymbolKind.CONSTANT: _KIND.Constant, SymbolKind.DIM: _KIND.Constant, SymbolKind.TENSOR: _KIND.Field}
    for number, symbol in enumerate(reversed(list(symbols))):
        item = _plain(symbol.name, kinds.get(symbol.kind, _KIND.Variable), None, detail=written_type(symbol.type))
        fits = place is not Place.INTEGER or (isinstance(symbol.type, ScalarType) and symbol.type.kind in _INTEGERS)
        yield _ranked(item, f"{0 if fits else 1}{number:04}")


def _functions(snapshot: Snapshot) -> Iterator[lsp.CompletionItem]:
    for function in snapshot.checked.library.placed:
        name, params = function.ast.name.text, [p.text for p in function.ast.params]
        text = f"{name}({', '.join(f'${{{i}:{p}}}' for i, p in enumerate(params, 1))})"
        yield _ranked(_snippet(name, text, _KIND.Function, f"fn {name}({', '.join(params)})", None), "1")


def _values(snapshot: Snapshot) -> Iterator[lsp.CompletionItem]:
    """What a value may be made of beside the names in scope."""
    yield from _functions(snapshot)
    for builtin in BUILTINS.values():
        if builtin.use is not Use.STATEMENT:
            kind = _KIND.TypeParameter if builtin.name in CONVERSIONS else _KIND.Function
            yield _call(builtin, kind)
    for builtin in COLLECTIVES.values():
        bracket = builtin.brackets[0]
        operand = bracket.operand if bracket.word == "over" else "${1:s}"
        text = f"{builtin.name}<{bracket.word} {operand}>(${{2:x}})"
        item_ = _snippet(
            f"{builtin.name}<>",
            text,
            _KIND.Function,
            words.signature(builtin, builtin.forms[0]),
            {"collective": builtin.name},
        )
        yield _ranked(item_, "3")
    yield _ranked(_plain("ctx", _KIND.Keyword, {"word": "ctx"}), "1")
    yield from (_ranked(_plain(name, _KIND.Keyword, {"word": name}), "3") for name in ("true", "false"))


def _call(builtin: Builtin, kind: lsp.CompletionItemKind) -> lsp.CompletionItem:
    form = builtin.forms[0]
    needed = [p.name for p in form.params if not p.optional and not p.variadic]
    text = f"{builtin.name}({', '.join(f'${{{i}:{name}}}' for i, name in enumerate(needed, 1))})"
    item = _snippet(builtin.name, text, kind, words.signature(builtin, form), {"builtin": builtin.name})
    return _ranked(item, "2" if builtin.supported else "4")


def _plain(
    label: str, kind: lsp.CompletionItemKind, data: dict[str, str] | None, *, detail: str | None = None
) -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, data=data, detail=detail)


def _snippet(
    label: str, text: str, kind: lsp.CompletionItemKind, detail: str, data: dict[str, str] | None
) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label,
        kind=kind,
        detail=detail or None,
        data=data,
        insert_text=text,
        insert_text_format=lsp.InsertTextFormat.Snippet,
    )


def _ranked(item: lsp.CompletionItem, rank: str) -> lsp.CompletionItem:
    item.sort_text = rank + item.label
    return item


def _in_body(item: PlacedKernel | PlacedFunction, offset: int) -> bool:
    return item.offset + item.ast.body.span.start < offset
