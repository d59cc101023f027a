"""Feature: the signature of the call or attribute that the cursor is in, with what the argument under it may be."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lsprotocol import types as lsp

from phobos_core.language.attributes import ATTRIBUTES, Attribute, slot_text
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin, Form
from phobos_core.language.builtins.schema import parameter_text
from phobos_ls import words
from phobos_ls.comments import comment_above
from phobos_ls.places import begin
from phobos_ls.snapshot import Snapshot

TRIGGERS = ("(", ",")
# Half-written calls are found in the text: the tree may not have them.
_OPENING, _CLOSING = b"([{", b")]}"


class Call(NamedTuple):
    """What is called at a place: `kind` says by what brackets or mark, `argument` counts from 0."""

    name: str
    kind: Literal["call", "collective", "attribute"]
    argument: int


def signature_help(snapshot: Snapshot, offset: int) -> lsp.SignatureHelp | None:
    call = call_around(snapshot.text, offset)
    if call is None:
        return None
    if call.kind == "attribute":
        entry = ATTRIBUTES.get(call.name)
        return None if entry is None or not entry.slots else _of_attribute(entry, call.argument)
    builtin = (COLLECTIVES if call.kind == "collective" else BUILTINS).get(call.name)
    if builtin is not None:
        shown = [_signature(builtin, form) for form in builtin.forms]
        fitting = [_takes(form, call.argument) for form in builtin.forms]
        active = fitting.index(True) if True in fitting else 0
        form = builtin.forms[active]
        last = len(form.params) - 1
        return lsp.SignatureHelp(shown, active, min(call.argument, max(last, 0)))
    for function in snapshot.checked.library.placed:
        if function.ast.name.text == call.name and call.kind == "call":
            params = [param.text for param in function.ast.params]
            label = f"{call.name}({', '.join(params)})"
            comment = comment_above(snapshot, function.offset) or None
            information = lsp.SignatureInformation(label, comment, _ranges(label, params))
            return lsp.SignatureHelp([information], 0, call.argument)
    return None


def _of_attribute(entry: Attribute, argument: int) -> lsp.SignatureHelp:
    label = entry.signature
    parameters = _ranges(label, [slot_text(slot) for slot in entry.slots])
    for shown, slot in zip(parameters, entry.slots, strict=True):
        shown.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, words.slot(slot))
    summary = lsp.MarkupContent(lsp.MarkupKind.Markdown, entry.summary)
    active = min(argument, len(entry.slots) - 1)
    return lsp.SignatureHelp([lsp.SignatureInformation(label, summary, parameters)], 0, active)


def _takes(form: Form, argument: int) -> bool:
    return form.most_arguments is None or argument < form.most_arguments


def _signature(builtin: Builtin, form: Form) -> lsp.SignatureInformation:
    label = builtin.signature(form)
    texts = [parameter_text(param) for param in form.params]
    parameters = _ranges(label, texts)
    for shown, param in zip(parameters, form.params, strict=True):
        shown.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, words.parameter(param))
    summary = builtin.summary + (f"\n\n`{form.shape_text}`" if form.shape_text else "")
    return lsp.SignatureInformation(label, lsp.MarkupContent(lsp.MarkupKind.Markdown, summary), parameters)


def _ranges(label: str, texts: list[str]) -> list[lsp.ParameterInformation]:
    """Where each parameter stands in the label; labels are ASCII."""
    at, found = label.index("(") + 1 if "(" in label else 0, []
    for text in texts:
        start = label.index(text, at)
        at = start + len(text)
        found.append(lsp.ParameterInformation((start, at)))
    return found


def call_around(text: bytes, offset: int) -> Call | None:
    """What is called around an offset, and the argument that the offset is in."""
    depth = argument = 0
    at, first = offset, begin(text, offset)
    while at > first:
        at -= 1
        letter = text[at : at + 1]
        if letter in (b"{", b"}", b";"):
            return None
        if letter == b"\n" and _is_comment_line(text, at):
            continue
        if letter in _CLOSING_SET:
            depth += 1
        elif letter in _OPENING_SET:
            if depth == 0 and letter == b"(":
                return _callee(text, at, argument)
            # Subscripts and choices are a part of the argument that they stand in.
            argument = argument if depth else 0
            depth = max(depth - 1, 0)
        elif letter == b"," and depth == 0:
            argument += 1
    return None


_OPENING_SET = frozenset(bytes([c]) for c in _OPENING)
_CLOSING_SET = frozenset(bytes([c]) for c in _CLOSING)


def _is_comment_line(text: bytes, at: int) -> bool:
    return text[at + 1 :].lstrip(b" \t").startswith(b"//")


def _callee(text: bytes, at: int, argument: int) -> Call | None:
    kind: Literal["call", "collective", "attribute"] = "call"
    end = at
    while end > 0 and text[end - 1 : end].isspace():
        end -= 1
    if text[end - 1 : end] == b">":
        opening = text.rfind(b"<", 0, end)
        if opening < 0 or b"\n" in text[opening:end]:
            return None
        kind, end = "collective", opening
    start = end
    while start > 0 and (text[start - 1 : start].isalnum() or text[start - 1 : start] == b"_"):
        start -= 1
    if text[start - 1 : start] == b"@":
        kind = "attribute"
    name = text[start:end].decode("ascii", "replace")
    return Call(name, kind, argument) if name else None
