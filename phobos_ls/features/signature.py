"""Feature: the signature of the call that the cursor is in, with what the argument under it may be."""

from __future__ import annotations

from lsprotocol import types as lsp

from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin, Form
from phobos_core.language.builtins.schema import parameter_text
from phobos_ls import words
from phobos_ls.snapshot import Snapshot

TRIGGERS = ("(", ",")
# Half-written calls are found in the text: the tree may not have them.
_OPENING, _CLOSING = b"([{", b")]}"


def signature_help(snapshot: Snapshot, offset: int) -> lsp.SignatureHelp | None:
    found = _call_around(snapshot.text, offset)
    if found is None:
        return None
    name, brackets, argument = found
    builtin = (COLLECTIVES if brackets else BUILTINS).get(name)
    if builtin is not None:
        shown = [_signature(builtin, form) for form in builtin.forms]
        fitting = [_takes(form, argument) for form in builtin.forms]
        active = fitting.index(True) if True in fitting else 0
        form = builtin.forms[active]
        last = len(form.params) - 1
        return lsp.SignatureHelp(shown, active, min(argument, max(last, 0)))
    for function in snapshot.checked.library.placed:
        if function.ast.name.text == name and not brackets:
            params = [param.text for param in function.ast.params]
            label = f"{name}({', '.join(params)})"
            return lsp.SignatureHelp([lsp.SignatureInformation(label, None, _ranges(label, params))], 0, argument)
    return None


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


def _call_around(text: bytes, offset: int) -> tuple[str, bool, int] | None:
    """The name called, whether with angle brackets, and the number of the argument that the offset is in."""
    depth = argument = 0
    at = offset
    while at > 0:
        at -= 1
        letter = text[at : at + 1]
        if letter in (b"{", b"}", b";"):
            return None
        if letter == b"\n" and _is_comment_line(text, at):
            continue
        if letter in _CLOSING_SET:
            depth += 1
        elif letter in _OPENING_SET:
            if depth == 0:
                return _callee(text, at, argument) if letter == b"(" else None
            depth -= 1
        elif letter == b"," and depth == 0:
            argument += 1
    return None


_OPENING_SET = frozenset(bytes([c]) for c in _OPENING)
_CLOSING_SET = frozenset(bytes([c]) for c in _CLOSING)


def _is_comment_line(text: bytes, at: int) -> bool:
    return text[at + 1 :].lstrip(b" \t").startswith(b"//")


def _callee(text: bytes, at: int, argument: int) -> tuple[str, bool, int] | None:
    brackets = False
    end = at
    while end > 0 and text[end - 1 : end].isspace():
        end -= 1
    if text[end - 1 : end] == b">":
        opening = text.rfind(b"<", 0, end)
        if opening < 0 or b"\n" in text[opening:end]:
            return None
        brackets, end = True, opening
    start = end
    while start > 0 and (text[start - 1 : start].isalnum() or text[start - 1 : start] == b"_"):
        start -= 1
    name = text[start:end].decode("ascii", "replace")
    return (name, brackets, argument) if name else None
