"""What the checker accepts and this version does not build: a diagnostic where it stands, never a wrong program.

An entry of `LATER` leaves when lowering knows the node. `tests/spec` runs what is left on the reference alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import walk
from phobos_core.lower.lines import LineTable, LowerError

LATER: Mapping[type, str] = {
    p.WarpPartial: "`warp_partial`",
}


def refuse_later_parts(body: Sequence[p.Stmt], lines: LineTable) -> None:
    for node in walk(body):
        what = LATER.get(type(node))
        if what is not None and not isinstance(node, (p.Place, p.Axis)):
            raise LowerError("not-supported-yet", lines.line(node.span), f"{what} is not built yet")
