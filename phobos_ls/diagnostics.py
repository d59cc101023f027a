"""Feature: diagnostics.

What `phobos check` reports, at every keystroke: what is wrong with the help that is known, related places, a link to
the explanation of the code; names that nothing reads are shown faded.

A client that can ask for diagnostics, and do so again when it is told to, asks; any other is sent them; no client gets
both. An answer has an id made of what it says, so that a client that has it already is told only that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lsprotocol import types as lsp
from pygls.capabilities import get_capability

from phobos_core.language.diagnostic import Diagnostic, Related, Severity
from phobos_ls.explanations import link
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


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client can show of a diagnostic besides its message. Related places that it cannot show go into that, and
    faded names that it cannot fade are left out."""

    related: bool = True
    unnecessary: bool = True
    links: bool = True


def shown_by(capabilities: lsp.ClientCapabilities) -> Shown:
    def capability(name: str) -> object:
        return get_capability(capabilities, f"text_document.publish_diagnostics.{name}")

    tags = capability("tag_support.value_set")
    return Shown(
        bool(capability("related_information")),
        isinstance(tags, Sequence) and lsp.DiagnosticTag.Unnecessary in tags,
        bool(capability("code_description_support")),
    )


def diagnostics(snapshot: Snapshot, shown: Shown) -> list[lsp.Diagnostic]:
    """What is wrong with a file, then what in it nothing reads."""
    found = [diagnostic(snapshot, each, shown) for each in snapshot.checked.diagnostics]
    return [*found, *_faded(snapshot)] if shown.unnecessary else found


def diagnostic(snapshot: Snapshot, found: Diagnostic, shown: Shown) -> lsp.Diagnostic:
    """One finding as the client shows it."""
    lines = [found.message, *([f"help: {found.help}"] if found.help else [])]
    if not shown.related:
        lines += [_told(snapshot, each) for each in found.related]
    address = link(found.code) if shown.links else None
    return lsp.Diagnostic(
        snapshot.range(found.start, found.end),
        "\n".join(lines),
        SEVERITIES[found.severity],
        found.code,
        lsp.CodeDescription(address) if address else None,
        SOURCE,
        related_information=[_related(snapshot, each) for each in found.related] or None if shown.related else None,
    )


def _related(snapshot: Snapshot, place: Related) -> lsp.DiagnosticRelatedInformation:
    return lsp.DiagnosticRelatedInformation(snapshot.location(place.start, place.end), place.message)


def _told(snapshot: Snapshot, place: Related) -> str:
    return f"line {snapshot.position(place.start).line + 1}: {place.message}"


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
