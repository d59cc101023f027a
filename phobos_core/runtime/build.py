"""Many kernels, configurations and targets compiled, in this process or by an executor, and judged together.

In: checked sources and what to build of them. Out: the results in the order asked for, with the findings. What one
configuration alone cannot tell is decided here: whether one that does not fit is skipped or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Finding
from phobos_core.runtime.compiler import Compiled, Request
from phobos_core.runtime.places import at_line

OVER_LIMIT = "over-shared-limit"
# A warning names this many of the configurations that were skipped.
NAMED = 3

Mapper = Callable[[Callable[[Request], Compiled], Sequence[Request]], Iterable[Compiled]]


@dataclass(frozen=True, slots=True)
class Built:
    results: tuple[Compiled, ...]
    findings: tuple[Finding, ...]


def build(requests: Sequence[Request], compile_one: Callable[[Request], Compiled], mapper: Mapper = map) -> Built:
    """`mapper` is `map`, or an executor's. One group of requests is one kernel for one target."""
    results = list(mapper(compile_one, requests))
    judged: list[Compiled] = []
    findings: list[Finding] = []
    for _, group in groupby(results, key=lambda r: (r.request.source.name, r.request.placed.offset, r.request.target)):
        kept, found = judge(list(group))
        judged += kept
        findings += found
    return Built(tuple(judged), tuple(dict.fromkeys(findings)))


def judge(group: list[Compiled]) -> tuple[list[Compiled], list[Finding]]:
    """The configurations of one kernel for one target. Alone, one over a limit is an error.

    Of several, those over a limit are skipped, with one warning; that none fits is an error, with what the first
    one needs.
    """
    source = group[0].request.source
    over = [result for result in group if is_over_limit(result)]
    if len(group) == 1 or not over:
        return group, [Finding(source, found) for result in group for found in result.diagnostics]
    others = [Finding(source, d) for result in group if not is_over_limit(result) for d in result.diagnostics]
    if len(over) == len(group):
        return group, [Finding(source, _none_fits(over))]
    kept = [_skipped(result) if is_over_limit(result) else result for result in group]
    return kept, [Finding(source, _some_skipped(over, len(group))), *others]


def is_over_limit(result: Compiled) -> bool:
    return result.failed and all(found.code == OVER_LIMIT for found in result.diagnostics)


def _skipped(result: Compiled) -> Compiled:
    report = result.report and replace(result.report, status="skipped")
    return replace(result, report=report, diagnostics=())


def _none_fits(over: list[Compiled]) -> Diagnostic:
    """At the place of the first one's error, whose message lists its tiles."""
    first = over[0].diagnostics[0]
    request = over[0].request
    message = (
        f"none of the {len(over)} configurations of `{request.placed.kernel.name}` fits {request.target}; "
        f"{_bindings(request)}: {first.message}"
    )
    return replace(first, code="no-configuration-fits", message=message)


def _some_skipped(over: list[Compiled], count: int) -> Diagnostic:
    request = over[0].request
    named = "; ".join(_bindings(result.request) for result in over[:NAMED])
    more = "" if len(over) <= NAMED else f"; and {len(over) - NAMED} more"
    were = "was" if len(over) == 1 else "were"
    message = (
        f"{len(over)} of the {count} configurations of `{request.placed.kernel.name}` {were} skipped, over a limit of "
        f"{request.target}: {named}{more}"
    )
    return at_line(request.source, request.placed, None, "configuration-skipped", message)


def _bindings(request: Request) -> str:
    return " ".join(f"{name}={value}" for name, value in request.config.items())
