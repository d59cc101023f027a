"""Feature: diagnostics.

What `phobos check` reports, at every keystroke: what is wrong with the help that is known, related places, a link to
the explanation of the code; names that nothing reads are shown faded.

A client that can ask for diagnostics asks, and any other is sent them; no client gets both. An answer has an id made of
what it says, so that a client that has it already is told only that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from lsprotocol import types as lsp

from phobos_core.language.diagnostic import Diagnostic, Severity
from phobos_ls.snapshot import Snapshot
from phobos_ls.unused import UNUSED, unused_names

SOURCE = "phobos"
SEVERITIES: Mapping[Severity, lsp.DiagnosticSeverity] = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}

Report: TypeAlias = lsp.RelatedFullDocumentDiagnosticReport | lsp.RelatedUnchangedDocumentDiagnosticReport
WorkspaceReport: TypeAlias = lsp.WorkspaceFullDocumentDiagnosticReport | lsp.WorkspaceUnchangedDocumentDiagnosticReport


def diagnostics(snapshot: Snapshot) -> list[lsp.Diagnostic]:
    """What is wrong with a file, then what in it nothing reads."""
    found = [shown(snapshot, each) for each in snapshot.checked.diagnostics]
    return [*found, *_faded(snapshot)]


def shown(snapshot: Snapshot, found: Diagnostic) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        snapshot.range(found.start, found.end),
        f"{found.message}\nhelp: {found.help}" if found.help else found.message,
        SEVERITIES[found.severity],
        found.code,
        lsp.CodeDescription(explanation(found.code)),
        SOURCE,
        related_information=[
            lsp.DiagnosticRelatedInformation(snapshot.location(each.start, each.end), each.message)
            for each in found.related
        ]
        or None,
    )


def _faded(snapshot: Snapshot) -> Iterator[lsp.Diagnostic]:
    for name in unused_names(snapshot):
        yield lsp.Diagnostic(
            snapshot.range(name.start, name.end),
            f"{name.what} `{name.text}` is never read",
            lsp.DiagnosticSeverity.Hint,
            UNUSED,
            source=SOURCE,
            tags=[lsp.DiagnosticTag.Unnecessary],
        )


def explanation(code: str) -> str:
    """Where the explanation of a code is, that `phobos explain` prints."""
    return f"phobos-explain:/{code}"


def result_id(found: Sequence[lsp.Diagnostic]) -> str:
    """The same for the same diagnostics, and for no others."""
    return hashlib.blake2b(repr(found).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def document_report(found: list[lsp.Diagnostic], known: str | None) -> Report:
    own = result_id(found)
    if own == known:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(own)
    return lsp.RelatedFullDocumentDiagnosticReport(found, result_id=own)


def workspace_report(uri: str, version: int | None, found: list[lsp.Diagnostic], known: str | None) -> WorkspaceReport:
    own = result_id(found)
    if own == known:
        return lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, own, version)
    return lsp.WorkspaceFullDocumentDiagnosticReport(uri, found, version, result_id=own)
