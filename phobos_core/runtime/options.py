"""What a user asks of a compilation, checked as far as it can be without a source.

In: the texts of `--target`, `-D` and `--config`, or the arguments of `compile`. Out: `Options`, or a `UsageError`
that says what would have been right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal, TypeAlias

from phobos_core.language.targets import DEFAULT, TARGETS

# "first": the first choice of every `@autotune` name; "all": every combination; a mapping: these, else the first.
ConfigRequest: TypeAlias = Literal["first", "all"] | Mapping[str, int]

MAX_VALUE = 2**31 - 1


class UsageError(ValueError):
    """The caller asked for something that does not exist or makes no sense; nothing is wrong with a source."""


@dataclass(frozen=True, slots=True)
class Options:
    """`bindings` are those of `-D`: they bind dynamic dimensions and override `@autotune` names."""

    target: str = DEFAULT
    bindings: Mapping[str, int] = field(default_factory=dict)
    config: ConfigRequest = "first"
    index_bits: Literal[32, 64] = 64


def known_target(name: str) -> str:
    if not isinstance(name, str):
        raise UsageError(f"a target is a text such as {DEFAULT!r}, not {name!r}")
    if name in TARGETS:
        return name
    if "," in name:
        raise UsageError(f"`{name}` is no target: give --target once for each")
    raise UsageError(f"unknown target `{name}`; the targets are {', '.join(TARGETS)}{near(name, TARGETS)}")


def parse_binding(text: str) -> tuple[str, int]:
    """`NAME=INT`."""
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\S+)\s*", text, re.ASCII)
    if match is None:
        raise UsageError(f"`{text}` is not NAME=INT, such as K=512")
    return match[1], positive(match[1], match[2])


def positive(name: str, text: str) -> int:
    # Digits only, and few: Python's int() takes `1_000`, other scripts' digits, and refuses very long texts.
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or not 0 < int(text) <= MAX_VALUE:
        raise UsageError(f"`{text}` is no value for `{name}`: it is an integer from 1 to {MAX_VALUE}")
    return int(text)


def checked(values: Mapping[str, int] | None, what: str) -> dict[str, int]:
    """The `config` or `dims` of a call, with Python's own integers."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise UsageError(f"`{what}` is a mapping from names to integers, not {values!r}")
    for name, value in values.items():
        if not isinstance(name, str):
            raise UsageError(f"`{what}` is a mapping from names to integers, and {name!r} is no name")
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 < value <= MAX_VALUE:
            raise UsageError(f"{value!r} is no value for `{name}`: it is an integer from 1 to {MAX_VALUE}")
    return {name: int(value) for name, value in values.items()}


def known_index_bits(bits: int) -> Literal[32, 64]:
    match bits:
        case 32 | 64:
            return bits
    raise UsageError(f"an index has 32 or 64 bits, not {bits!r}")


def parse_config(text: str) -> ConfigRequest:
    """`first`, `all`, or `NAME=V,NAME=V`."""
    if text == "first":
        return "first"
    if text == "all":
        return "all"
    if "=" not in text:
        raise UsageError(f"`{text}` is no configuration: write `first`, `all`, or NAME=V,NAME=V")
    return bindings_of(text.split(","))


def bindings_of(texts: Iterable[str]) -> dict[str, int]:
    values: dict[str, int] = {}
    for name, value in map(parse_binding, texts):
        if values.setdefault(name, value) != value:
            raise UsageError(f"`{name}` is given two values, {values[name]} and {value}")
    return values


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` where a known name is close, else nothing."""
    import difflib  # only to say what else was meant

    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{found[0]}`?" if found else ""
