"""Rules whose outcome depends on the configuration: collected while checking, decided for every choice of the names.

Each constraint is evaluated over the choices of the names that it mentions, not over the whole search space, so a
space of a million configurations costs no more than its largest rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

from phobos_core.analysis.places import diagnostic
from phobos_core.language.diagnostic import Diagnostic, Related
from phobos_core.syntax.ast import Span

Holds: TypeAlias = Callable[[Mapping[str, int]], bool]

# Choices tried for one constraint: beyond this, the first ones stand for the rest.
LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Constraint:
    """`holds` says whether the rule is kept under values for `names`; `message` is the text when it is not."""

    code: str
    span: Span
    message: str
    names: tuple[str, ...]
    holds: Holds
    related: tuple[Related, ...] = ()
    help: str | None = None


def evaluate(constraint: Constraint, search: Mapping[str, tuple[int, ...]]) -> Diagnostic | None:
    """The diagnostic of a constraint that some configuration breaks: it says which."""
    failed: list[dict[str, int]] = []
    tried = 0
    for choice in islice(choices(constraint.names, search), LIMIT):
        tried += 1
        if not _holds(constraint, choice):
            failed.append(choice)
    if not failed:
        return None
    message = constraint.message
    if constraint.names:
        message += f" ({_which(failed, tried)})"
    return diagnostic(constraint.code, "error", constraint.span, message, constraint.related, constraint.help)


def _holds(constraint: Constraint, choice: Mapping[str, int]) -> bool:
    try:
        return constraint.holds(choice)
    except ZeroDivisionError:
        return True  # the division has a constraint of its own, which fails


def choices(names: tuple[str, ...], search: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, int]]:
    """Every combination of the choices of `names`, the first choices first."""
    for values in product(*(search[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def _which(failed: list[dict[str, int]], tried: int) -> str:
    shown = "; ".join(", ".join(f"{name} = {value}" for name, value in choice.items()) for choice in failed[:3])
    if len(failed) == tried:
        return f"in every configuration, as {shown}" if tried > 1 else f"with {shown}"
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return f"with {shown}{more}"
