"""Feature: what can be done about the code under the cursor.

For a diagnostic: its fixes, each tried before it is offered, and its explanation. For code that is right: the
rewritings of `fixes.refactorings`. For the file: all fixes that are no guess in one edit, worked out when it is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability

from phobos_core.language.codes import CODES, Stage
from phobos_core.language.diagnostic import Diagnostic
from phobos_ls.edits import line_edits, workspace_edit
from phobos_ls.snapshot import Snapshot
from phobos_ls.unused import UNUSED, unused_names

if TYPE_CHECKING:
    from phobos_ls.fixes.problem import Change, Fix

FIX_ALL = "source.fixAll.phobos"
EXPLAIN, APPLY = "phobos.explain", "phobos.applyEdit"
KINDS = (
    lsp.CodeActionKind.QuickFix,
    lsp.CodeActionKind.RefactorRewrite,
    lsp.CodeActionKind.RefactorExtract,
    FIX_ALL,
)
# Of one request, and of one `fix all`.
MOST_PROBLEMS = 20
MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Client:
    """What a client takes: actions with an edit and a kind, or commands only; edits that come when they are asked for;
    a mark on the preferred one; edits of a version."""

    literals: bool = True
    resolves: bool = True
    prefers: bool = True
    versioned: bool = True


def client_of(capabilities: lsp.ClientCapabilities) -> Client:
    def of_actions(name: str) -> Any:
        return get_capability(capabilities, f"text_document.code_action.{name}")

    properties = of_actions("resolve_support.properties")
    return Client(
        of_actions("code_action_literal_support") is not None,
        isinstance(properties, Sequence) and "edit" in properties and bool(of_actions("data_support")),
        bool(of_actions("is_preferred_support")),
        bool(get_capability(capabilities, "workspace.workspace_edit.document_changes")),
    )


def code_actions(
    snapshot: Snapshot, start: int, end: int, context: lsp.CodeActionContext, client: Client
) -> list[lsp.CodeAction]:
    wanted = context.only
    found: list[lsp.CodeAction] = []
    if _asked(wanted, lsp.CodeActionKind.QuickFix):
        found += _quick_fixes(snapshot, start, end, context, client)
    for kind in (lsp.CodeActionKind.RefactorRewrite, lsp.CodeActionKind.RefactorExtract):
        if _asked(wanted, kind):
            found += _refactorings(snapshot, start, end, kind, client)
    if _asked(wanted, FIX_ALL) and (wanted or found):
        found += _fix_all(snapshot, client, sought=bool(wanted))
    return found


def resolve(snapshot: Snapshot, action: lsp.CodeAction, client: Client) -> lsp.CodeAction:
    """With its edit. An action of a version that is gone has none: the client asks again."""
    data = action.data
    if isinstance(data, dict) and data.get("action") == FIX_ALL and data.get("version") == snapshot.version:
        action.edit = _all_fixed(snapshot, client)
    return action


def as_command(action: lsp.CodeAction) -> lsp.Command | None:
    """For a client that knows commands only."""
    if action.command is not None:
        return action.command
    return None if action.edit is None else lsp.Command(action.title, APPLY, arguments=[action.edit])


def _asked(wanted: Sequence[str] | None, kind: str) -> bool:
    """Kinds are a hierarchy: `source.fixAll` asks for `source.fixAll.phobos`."""
    return wanted is None or any(each == "" or kind == each or kind.startswith(f"{each}.") for each in wanted)


# Fixes.


def problems(snapshot: Snapshot, start: int, end: int, told: Sequence[lsp.Diagnostic] = ()) -> Iterator[Diagnostic]:
    """What is wrong in a part of the text. What a build or a run found, the client tells."""
    for found in (*snapshot.checked.diagnostics, *_unused(snapshot), *_of_builds(snapshot, told)):
        if found.start <= end and start <= found.end:
            yield found


def _unused(snapshot: Snapshot) -> Iterator[Diagnostic]:
    for name in unused_names(snapshot):
        yield Diagnostic(UNUSED, "note", name.start, name.end, f"{name.what} `{name.text}` is never read")


def _of_builds(snapshot: Snapshot, told: Sequence[lsp.Diagnostic]) -> Iterator[Diagnostic]:
    for each in told:
        code = CODES.get(str(each.code))
        if code is not None and code.stage is not Stage.CHECK:
            text, _, help_ = each.message.partition("\nhelp: ")
            start, end = snapshot.offset(each.range.start), snapshot.offset(each.range.end)
            yield Diagnostic(code.code, code.severity, start, end, text, help=help_.split("\n")[0] or None)


def fixes(snapshot: Snapshot, found: Diagnostic) -> Iterator[Fix]:
    """Those that help, tried one by one."""
    # Loaded here, as below: the server starts without what only a mistake asks for.
    from phobos_ls.fixes.problem import Problem
    from phobos_ls.fixes.table import FIXES
    from phobos_ls.fixes.trial import helps

    fixer = FIXES.get(found.code)
    problem = Problem(snapshot, found)
    groups, titles = set(), set()
    for fix in fixer(problem) if fixer is not None else ():
        if (fix.group and fix.group in groups) or fix.title in titles or not helps(problem, fix):
            continue
        groups.add(fix.group)
        titles.add(fix.title)
        yield fix


def _quick_fixes(
    snapshot: Snapshot, start: int, end: int, context: lsp.CodeActionContext, client: Client
) -> Iterator[lsp.CodeAction]:
    explained: dict[str, list[lsp.Diagnostic]] = {}
    for found in islice(problems(snapshot, start, end, context.diagnostics), MOST_PROBLEMS):
        shown = _shown(snapshot, found, context.diagnostics)
        explained.setdefault(found.code, []).extend(shown)
        preferred = True
        for fix in fixes(snapshot, found):
            action = _edited(snapshot, lsp.CodeActionKind.QuickFix, fix, client)
            action.diagnostics = shown or None
            if fix.preferred and preferred and client.prefers:
                action.is_preferred = True
                preferred = False
            yield action
    for code, shown in explained.items():
        if code in CODES:
            title = f"Explain `{code}`"
            command = lsp.Command(title, EXPLAIN, arguments=[code])
            yield lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, diagnostics=shown or None, command=command)


def _shown(snapshot: Snapshot, found: Diagnostic, told: Sequence[lsp.Diagnostic]) -> list[lsp.Diagnostic]:
    """The client's own diagnostics that are this one."""
    start = snapshot.position(found.start)
    return [each for each in told if each.code == found.code and each.range.start == start]


def _edited(snapshot: Snapshot, kind: str, fix: Fix, client: Client) -> lsp.CodeAction:
    edits = [_text_edit(snapshot, change) for change in fix.changes]
    edit = workspace_edit(snapshot, edits, versioned=client.versioned)
    return lsp.CodeAction(fix.title, kind=kind, edit=edit)


def _text_edit(snapshot: Snapshot, change: Change) -> lsp.TextEdit:
    return lsp.TextEdit(snapshot.range(change.start, change.end), change.text)


def _refactorings(
    snapshot: Snapshot, start: int, end: int, kind: lsp.CodeActionKind, client: Client
) -> Iterator[lsp.CodeAction]:
    from phobos_ls.fixes.refactorings import refactorings

    for found in refactorings(snapshot, start, end):
        if kind.value.endswith(found.kind):
            yield _edited(snapshot, kind, found.fix, client)


# All of them.


def _fix_all(snapshot: Snapshot, client: Client, *, sought: bool) -> Iterator[lsp.CodeAction]:
    action = lsp.CodeAction("Apply every sure fix in this file", kind=FIX_ALL)
    if client.resolves:
        action.data = {"uri": snapshot.uri, "version": snapshot.version, "action": FIX_ALL}
        yield action
    elif sought:
        action.edit = _all_fixed(snapshot, client)
        yield action


def _all_fixed(snapshot: Snapshot, client: Client) -> lsp.WorkspaceEdit:
    edits = line_edits(snapshot, fixed(snapshot).text)
    return workspace_edit(snapshot, edits, versioned=client.versioned)


def fixed(snapshot: Snapshot) -> Snapshot:
    """The file with a preferred fix for each error that has one and where that is no guess; also for those that fixes
    bring to light. Editors apply this when a file is saved, and nobody looks."""
    seen = {snapshot.text}
    while len(seen) < MOST_ROUNDS:
        snapshot.checkpoint()
        after = _one_fixed(snapshot)
        if after is None or after.text in seen:
            break
        seen.add(after.text)
        snapshot = after
    return snapshot


def _one_fixed(snapshot: Snapshot) -> Snapshot | None:
    from phobos_ls.fixes.trial import applied

    for found in snapshot.checked.diagnostics:
        if found.severity == "error":
            sure = next((fix for fix in fixes(snapshot, found) if fix.preferred and not fix.guess), None)
            if sure is not None:
                return applied(snapshot, sure.changes)
    return None
