"""The settings of a folder, as users write them below `phobos`.

In: any JSON that a client sends. Out: settings, with a line for each value that is none. A wrong value never takes the
others with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from phobos_core.language.targets import DEFAULT
from phobos_core.runtime.options import Options, UsageError, known_target, parse_binding, parse_config

BuildWhen: TypeAlias = Literal["onType", "onSave", "off"]
# The kinds of hints that a user can switch.
HintCategory: TypeAlias = Literal["resources", "tiles", "contractions", "loops", "accesses", "lines", "types"]
HINTS: tuple[HintCategory, ...] = get_args(HintCategory)


@dataclass(frozen=True, slots=True)
class Settings:
    """`options` are those of the first target, which is the one shown; `targets` are all. `picked` has configurations
    that were picked for kernels of a file, by the kernel's name; they are no settings that a user writes."""

    targets: tuple[str, ...] = (DEFAULT,)
    options: Options = field(default_factory=Options)
    hints: frozenset[HintCategory] = frozenset(("resources", "tiles", "contractions", "loops"))
    build: BuildWhen = "onType"
    ptxas: str | None = None
    picked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def read_settings(given: Any) -> tuple[Settings, tuple[str, ...]]:
    """The settings in what is below `phobos`, and what is wrong with it."""
    if given is None:
        return Settings(), ()
    if not isinstance(given, Mapping):
        return Settings(), ("`phobos` is an object of settings",)
    problems: list[str] = []
    targets = _targets(given.get("target"), problems)
    options = Options(
        target=targets[0],
        bindings=_bindings(given.get("dims"), problems),
        config=_config(given.get("config"), problems),
        index_bits=32 if given.get("indexBits") == 32 else 64,
    )
    return (
        Settings(
            targets,
            options,
            _hints(given.get("hints"), problems),
            _build(given.get("build"), problems),
            _text(given.get("ptxas"), "ptxas", problems),
        ),
        tuple(problems),
    )


def _targets(given: Any, problems: list[str]) -> tuple[str, ...]:
    wanted = given if isinstance(given, list) else [] if given in (None, "") else [given]
    known = []
    for name in wanted:
        try:
            known.append(known_target(name))
        except UsageError as error:
            problems.append(f"`phobos.target`: {error}")
    return tuple(dict.fromkeys(known)) or (DEFAULT,)


def _bindings(given: Any, problems: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        try:
            found.update([parse_binding(f"{name}={value}")])
        except UsageError as error:
            problems.append(f"`phobos.dims`: {error}")
    return found


def _config(given: Any, problems: list[str]) -> Any:
    """`first`, `NAME=V,..` or an object. All configurations are the background build's business."""
    if given in (None, "", "all"):
        return "first"
    text = ",".join(f"{name}={value}" for name, value in given.items()) if isinstance(given, Mapping) else str(given)
    try:
        return parse_config(text) if text else "first"
    except UsageError as error:
        problems.append(f"`phobos.config`: {error}")
        return "first"


def _hints(given: Any, problems: list[str]) -> frozenset[HintCategory]:
    """A switch for all, or an object with a switch for each category."""
    if isinstance(given, bool):
        return frozenset(HINTS) if given else frozenset()
    if not isinstance(given, Mapping):
        if given is not None:
            problems.append("`phobos.hints` is a switch, or an object with a switch for each kind of hint")
        return Settings().hints
    for name in given:
        if name not in HINTS:
            problems.append(f"`phobos.hints.{name}`: the kinds of hints are {', '.join(HINTS)}")
    return frozenset(name for name in HINTS if given.get(name, name in Settings().hints) is True)


def _build(given: Any, problems: list[str]) -> BuildWhen:
    for when in get_args(BuildWhen):
        if given == when:
            chosen: BuildWhen = when
            return chosen
    if given is not None:
        problems.append(f"`phobos.build` is one of {', '.join(get_args(BuildWhen))}, not {given!r}")
    return "onType"


def _text(given: Any, name: str, problems: list[str]) -> str | None:
    if given in (None, ""):
        return None
    if not isinstance(given, str):
        problems.append(f"`phobos.{name}` is a path")
        return None
    return given
