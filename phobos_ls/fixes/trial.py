"""What an edit would do: the text after it, checked.

A fix is offered where the diagnostic that it is for is gone afterwards, and nothing is wrong that was not before: an
edit that trades one mistake for another is no fix. A name or a text that can be read now may reveal what was hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from phobos_core.language.codes import CODES, Stage
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import Edit, Parser
from phobos_ls.fixes.problem import Change, Fix, Problem
from phobos_ls.memo import Memo
from phobos_ls.snapshot import Snapshot
from phobos_ls.text import encoded
from phobos_ls.unused import UNUSED, unused_names


def applied(snapshot: Snapshot, changes: Sequence[Change]) -> Snapshot:
    """The file after changes that do not overlap."""
    ordered = sorted(changes, key=lambda change: (change.start, change.end), reverse=True)
    edits = [Edit(change.start, change.end, encoded(change.text)) for change in ordered]
    source = Parser().edit(snapshot.source, edits)
    return replace(snapshot, source=source, known_lines=None, memo=Memo())


# A name that is right now, or a text that can be read, may show a mistake that was hidden before.
_REVEALING = frozenset(
    {
        "unknown-name",
        "unknown-ctx-field",
        "unknown-type",
        "unknown-attribute",
        "reserved-name",
        "not-callable",
    }
)


def helps(problem: Problem, fix: Fix) -> bool:
    """Whether the fix takes the problem away, and makes no other."""
    if not _disjoint(fix.changes):
        return False
    before, after = problem.snapshot, applied(problem.snapshot, fix.changes)
    found = problem.diagnostic
    if found.code == "syntax-error":
        return _syntax_errors(after) < _syntax_errors(before)
    errors = _errors(before)
    new = _errors(after) - errors
    if new.total() > (1 if found.code in _REVEALING else 0) or _errors(after).total() > errors.total():
        return False
    if found.code == UNUSED:
        return _unread(after, problem.written) < _unread(before, problem.written)
    if CODES[found.code].stage is not Stage.CHECK:
        return after.text != before.text  # whether it is gone, only a build or a run can tell
    return _count(after, found) < _count(before, found)


def harmless(snapshot: Snapshot, fix: Fix) -> bool:
    """Whether an edit of what is right leaves it right."""
    after = applied(snapshot, fix.changes)
    return after.text != snapshot.text and not _errors(after) - _errors(snapshot)


def _unread(snapshot: Snapshot, name: str) -> int:
    return sum(found.text == name for found in unused_names(snapshot))


def _disjoint(changes: Sequence[Change]) -> bool:
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    return all(a.end <= b.start for a, b in pairwise(ordered))


def _errors(snapshot: Snapshot) -> Counter[tuple[str, str]]:
    return Counter((d.code, d.message) for d in snapshot.checked.diagnostics if d.severity == "error")


def _syntax_errors(snapshot: Snapshot) -> int:
    return sum(found.code == "syntax-error" for found in snapshot.checked.diagnostics)


def _count(snapshot: Snapshot, like: Diagnostic) -> int:
    return sum((found.code, found.message) == (like.code, like.message) for found in snapshot.checked.diagnostics)
