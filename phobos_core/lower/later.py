"""What the checker accepts and this version does not build: a diagnostic where it stands, never a wrong program.

An entry of `LATER` leaves when lowering knows the node. `tests/spec` runs what is left on the reference alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import walk
from phobos_core.lower.lines import LineTable, LowerError
from phobos_core.syntax.ast import Span

LATER: Mapping[type, str] = {}


def refuse_later_parts(body: Sequence[p.Stmt], lines: LineTable) -> None:
    for span, what in later_parts(body):
        raise LowerError("not-supported-yet", lines.line(span), f"{what} is not built yet")


def later_parts(body: Sequence[p.Stmt]) -> Iterator[tuple[Span, str]]:
    for node in walk(body):
        what = LATER.get(type(node))
        if what is not None and not isinstance(node, (p.Place, p.Axis)):
            yield node.span, what
