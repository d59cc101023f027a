"""What the language's own words mean, as Markdown: built-ins, attributes, types, keywords, operators, fields of `ctx`.

Read by hover, completion and signature help, from the tables of `phobos_core.language`; nothing is described here.
"""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.language.attributes import ATTRIBUTES, ArgumentSlot, Attribute, Status
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin, Form, Param, Scope, Use
from phobos_core.language.context import CTX_FIELDS
from phobos_core.language.keywords import CONTEXTUAL, KEYWORDS, RESERVED_DOC, SUBSCRIPT_MARKS
from phobos_core.language.operators import BINARY, COMPOUND, UNARY, Operator
from phobos_core.language.type_docs import TYPE_DOCS

LANGUAGE = "phobos"
_REACH = {
    Scope.CTA: "Runs once per CTA: every thread must reach it.",
    Scope.WARP: "Runs once per warp: every lane must reach it.",
    Scope.THREAD: "",
}


def fenced(code: str) -> str:
    return f"```{LANGUAGE}\n{code.rstrip()}\n```"


def builtin(entry: Builtin) -> str:
    # Forms may differ in what they take only, which is said of each parameter.
    signatures = dict.fromkeys(signature(entry, form) for form in entry.forms)
    parts = [fenced("\n".join(signatures)), entry.summary, *_facts(entry)]
    if entry.brackets:
        parts.append("\n".join(f"- `{b.word} {b.operand}`: {b.doc}" for b in entry.brackets))
    return "\n\n".join([*parts, "Example:", fenced(entry.example)])


def signature(entry: Builtin, form: Form) -> str:
    shapes = f"  // {form.shape_text}" if form.shape_text else ""
    return f"{entry.signature(form)}{shapes}"


def _facts(entry: Builtin) -> Iterator[str]:
    reach = _REACH[max((form.scope for form in entry.forms), key=list(_REACH).index)]
    if entry.once_per_cta or entry.brackets:
        yield reach or _REACH[Scope.CTA]
    if entry.min_target:
        yield f"Needs sm_{entry.min_target} or later."
    if entry.min_index_bits == 64:
        yield "Compiled at 64-bit indices."
    if entry.use is not Use.VALUE:
        yield f"Stands as {entry.use.value}."
    yield from entry.notes
    if not entry.supported:
        yield "Not supported yet."


def parameter(param: Param) -> str:
    kinds = " or ".join(kind.value for kind in param.accepts)
    shape = f" `[{', '.join(param.shape)}]`" if param.shape else ""
    elements = f" of {', '.join(t.name for t in param.elements)}" if param.elements else ""
    uniform = "; the same in every thread" if param.uniform else ""
    return f"{kinds}{shape}{elements}{uniform}. {param.doc}"


def attribute(entry: Attribute) -> str:
    parts = [fenced(entry.signature), entry.summary, *entry.notes]
    if entry.status is not Status.ACTS:
        parts.append(f"Status: {entry.status.value}.")
    parts += [f"- `{slot.name}`: {slot.doc}" for slot in entry.slots]
    return "\n\n".join([*parts, "Example:", fenced(entry.example)])


def slot(entry: ArgumentSlot) -> str:
    """What an argument of an attribute may be."""
    bounds = "" if entry.low is None else f", at least {entry.low}"
    if entry.low is not None and entry.high is not None:
        bounds = f", {entry.low} to {entry.high}"
    chosen = f": {' or '.join(f'`{word}`' for word in entry.words)}" if entry.words else ""
    return f"{entry.form.value}{chosen}{bounds}{'' if entry.required else '; optional'}. {entry.doc}"


def operator(entry: Operator) -> str:
    tiles = "Scalars and tiles." if entry.tiles else "Scalars; tiles inside the condition of `where` only."
    level = (
        f"Precedence {entry.level} of {max(o.level for o in UNARY.values())}, the higher the tighter; left-associative."
    )
    return "\n\n".join([f"`{entry.symbol}`", entry.doc, tiles, level])


def ctx_field(name: str) -> str | None:
    field = CTX_FIELDS.get(name)
    if field is None:
        return None
    constant = " A compile-time constant." if field.constant else ""
    return f"{fenced(f'ctx.{field.name}: {field.type}')}\n\n{field.doc}{constant}\n\nKind: {field.variation.text}."


def word(text: str) -> str | None:
    """A keyword, a type, a contextual word, what stands in subscripts."""
    if text == "ctx":
        return f"`ctx`\n\n{RESERVED_DOC}"
    for table in (KEYWORDS, TYPE_DOCS, CONTEXTUAL, SUBSCRIPT_MARKS):
        if text in table:
            return f"`{text}`\n\n{table[text]}"
    return None


def symbol(text: str, *, unary: bool = False) -> str | None:
    """An operator, a compound assignment too."""
    if unary:
        return operator(UNARY[text]) if text in UNARY else None
    if text in BINARY:
        return operator(BINARY[text])
    if text in COMPOUND:
        base = COMPOUND[text]
        meaning = f"`x {text} e` is `x = x {base} e`, with the target read again."
        return f"{meaning}\n\n{operator(BINARY[base])}"
    return None


def called(name: str, *, brackets: bool) -> str | None:
    entry = (COLLECTIVES if brackets else BUILTINS).get(name)
    return None if entry is None else builtin(entry)


def attribute_named(name: str) -> str | None:
    entry = ATTRIBUTES.get(name)
    return None if entry is None else attribute(entry)
