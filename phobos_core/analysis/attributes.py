"""Attributes: their arguments against the table, and what a kernel's header says with them.

Names in the arguments are resolved by `header`, once dimensions and tiles are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal, cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.context import Context, see
from phobos_core.analysis.names import suggestion
from phobos_core.language.attributes import (
    ATTRIBUTES,
    DEFAULT_THREADS,
    ArgumentForm,
    ArgumentSlot,
    Attribute,
    Status,
    autotune_choices,
)
from phobos_core.syntax import ast

# Every combination of choices is a kernel of its own: a space beyond this is a mistake, or hours of building.
MOST_CONFIGURATIONS = 100_000
LARGEST_CHOICE = 2**31 - 1


@dataclass(slots=True)
class Header:
    """What the attributes said. `promises` and `registers` hold names that are not resolved yet."""

    search: dict[str, tuple[int, ...]] = field(default_factory=dict)
    search_names: dict[str, ast.Name] = field(default_factory=dict)
    # Names of search arguments that are in error: declared, so that their uses are not errors too.
    lost: list[ast.Name] = field(default_factory=list)
    cluster: dict[str, tuple[int, ...]] = field(default_factory=dict)
    launch: pg.Launch = field(default_factory=lambda: pg.Launch(DEFAULT_THREADS))
    tensorcore: Literal["auto", "wmma", "sync"] | None = None
    promises: list[ast.KeywordArg] = field(default_factory=list)
    registers: list[ast.Name] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


def read_attributes(cx: Context, attributes: tuple[ast.Attribute, ...]) -> Header:
    header = Header()
    first: dict[str, ast.Span] = {}
    for node in attributes:
        if cx.damage.touches(node.span):
            continue
        entry = _known(cx, node)
        if entry is None:
            header.lost.extend(argument.name for argument in node.args if isinstance(argument, ast.SearchArg))
            continue
        earlier = first.setdefault(entry.name, node.span)
        if earlier != node.span and not entry.repeatable:
            cx.error(
                "duplicate-attribute",
                node.span,
                f"`@{entry.name}` stands on this kernel already",
                related=(see(earlier, "the first one"),),
            )
        elif _arguments_fit(cx, node, entry):
            _apply(cx, node, header)
        elif entry.name == "autotune":
            header.lost.extend(_names(node))
    count = prod(len(choices) for choices in header.search.values())
    if count > MOST_CONFIGURATIONS:
        name = next(iter(header.search_names.values()))
        cx.error(
            "too-many-configurations",
            name.span,
            f"the choices of `@autotune` combine to {count} configurations, and at most {MOST_CONFIGURATIONS} are"
            " searched",
            help="list fewer choices, or fix a name with a single one",
        )
    return header


def _names(node: ast.Attribute) -> Iterator[ast.Name]:
    """Every name that the arguments of a search attribute may have meant to declare."""
    for argument in node.args:
        if not isinstance(argument, ast.PositionalArg):
            yield argument.name
        elif isinstance(argument.value, ast.Name):
            yield argument.value


def _known(cx: Context, node: ast.Attribute) -> Attribute | None:
    entry = ATTRIBUTES.get(node.name.text)
    if entry is None:
        acting = [name for name, known in ATTRIBUTES.items() if known.status is not Status.PLANNED]
        cx.error(
            "unknown-attribute",
            node.name.span,
            f"`@{node.name.text}` is not an attribute",
            help=suggestion(node.name.text, acting) or f"the attributes are {', '.join(acting)}",
        )
        return None
    if entry.status is Status.PLANNED:
        cx.error("planned-attribute", node.name.span, f"`@{entry.name}` is planned, and an error until then")
        return None
    return entry


def _arguments_fit(cx: Context, node: ast.Attribute, entry: Attribute) -> bool:
    count, most = len(node.args), entry.most_arguments
    if count < entry.least_arguments or (most is not None and count > most):
        cx.error(
            "attribute-argument",
            node.span,
            f"`{entry.signature}` has {count} argument{'' if count == 1 else 's'} here",
        )
        return False
    fits = True
    for position, argument in enumerate(node.args):
        fits &= _argument_fits(cx, argument, entry, entry.slots[min(position, len(entry.slots) - 1)])
    return fits


def _argument_fits(cx: Context, argument: ast.AttrArg, entry: Attribute, slot: ArgumentSlot) -> bool:
    match slot.form, argument:
        case (ArgumentForm.SEARCH, ast.SearchArg()):
            return True
        case (ArgumentForm.KEYWORD, ast.KeywordArg(value=ast.Name())):
            return True
        case (ArgumentForm.KEYWORD, ast.KeywordArg(value=ast.IntLit(span, value))):
            return _within(cx, span, entry, slot, value)
        case (ArgumentForm.INTEGER, ast.PositionalArg(_, ast.IntLit(span, value))):
            return _within(cx, span, entry, slot, value)
        case (ArgumentForm.NAME, ast.PositionalArg(_, ast.Name())):
            return True
        case (ArgumentForm.WORD, ast.PositionalArg(_, ast.Name(_, text))) if text in slot.words:
            return True
    expected = " or ".join(f"`{word}`" for word in slot.words) or slot.form.value
    cx.error("attribute-argument", argument.span, f"`{slot.name}` of `{entry.signature}` is {expected}")
    return False


def _within(cx: Context, span: ast.Span, entry: Attribute, slot: ArgumentSlot, value: int) -> bool:
    low = slot.low if slot.low is not None else value
    high = slot.high if slot.high is not None else max(value, low)
    if low <= value <= high and value <= LARGEST_CHOICE:
        return True
    bounds = f"at least {low}" if slot.high is None else f"{low} to {slot.high}"
    cx.error("attribute-argument", span, f"`{slot.name}` of `@{entry.name}` is {bounds}, and this is {value}")
    return False


def _apply(cx: Context, node: ast.Attribute, header: Header) -> None:
    match node.name.text:
        case "autotune":
            _search(cx, node, header.search, header.search_names, cx.options.dims)
        case "cluster":
            _search(cx, node, header.cluster, {}, {})
        case "aligned":
            header.promises.extend(cast(ast.KeywordArg, argument) for argument in node.args)
        case "launch":
            values = [cast(ast.IntLit, cast(ast.PositionalArg, a).value).value for a in node.args]
            header.launch = pg.Launch(*values)
        case "tensorcore":
            words = [cast(ast.Name, cast(ast.PositionalArg, a).value).text for a in node.args]
            header.tensorcore = cast(Literal["wmma", "sync"], words[0]) if words else "auto"
        case "registers":
            header.registers.extend(cast(ast.Name, cast(ast.PositionalArg, a).value) for a in node.args)
        case flag:
            header.flags.add(flag)


def _search(
    cx: Context,
    node: ast.Attribute,
    space: dict[str, tuple[int, ...]],
    names: dict[str, ast.Name],
    overrides: Mapping[str, int],
) -> None:
    """Adds the names and choices of one search attribute."""
    for argument in node.args:
        assert isinstance(argument, ast.SearchArg)
        name = argument.name
        if name.text in space:
            earlier = names.get(name.text)
            cx.error(
                "duplicate-name",
                name.span,
                f"`{name.text}` is searched twice",
                related=(see(earlier.span, "searched here"),) if earlier else (),
            )
            continue
        names[name.text] = name
        override = overrides.get(name.text)
        values = [choice.value for choice in argument.choices] if override is None else [override]
        choices = autotune_choices(values)
        if not isinstance(choices, str) and max(choices) > LARGEST_CHOICE:
            choices = f"a choice is at most {LARGEST_CHOICE}, and {max(choices)} is not"
        if isinstance(choices, str):
            bound = " (as bound by `-D`)" if override is not None else ""
            cx.error("autotune-range", argument.span, f"`{name.text}`: {choices}{bound}")
            # The name is declared all the same, so that its uses are not errors too.
            choices = tuple(v for v in values if 0 < v <= LARGEST_CHOICE)[:1] or (1,)
        space[name.text] = choices
