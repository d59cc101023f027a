"""Many kernels, configurations and targets compiled, in this process or by an executor, and judged together.

In: checked sources and what to build of them. Out: the results in the order asked for, with the findings. What one
configuration alone cannot tell is decided here: whether one that does not fit is skipped or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Finding
from phobos_core.runtime.compiler import Compiled, Request
from phobos_core.runtime.options import ConfigRequest
from phobos_core.runtime.places import at_line

OVER_LIMIT = "over-shared-limit"
# A warning names this many of the configurations that were skipped.
NAMED = 3

Mapper = Callable[[Callable[[Request], Compiled], Iterable[Request]], Iterable[Compiled]]


@dataclass(frozen=True, slots=True)
class Built:
    results: tuple[Compiled, ...]
    findings: tuple[Finding, ...]


def build(requests: Sequence[Request], compile_one: Callable[[Request], Compiled], mapper: Mapper = map) -> Built:
    """`mapper` is `map`, or an executor's. One group of requests is one kernel for one target."""
    results = list(mapper(compile_one, requests))
    judged: list[Compiled] = []
    findings: list[Finding] = []
    for _, group in groupby(results, key=lambda r: (r.request.source.name, r.request.offset, r.request.target)):
        kept, found = judge(list(group))
        judged += kept
        findings += found
    return Built(tuple(judged), tuple(dict.fromkeys(findings)))
