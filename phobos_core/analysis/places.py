"""From spans to what a diagnostic says of places: whose text it is, and through which calls it was reached."""

from __future__ import annotations

from phobos_core.language.diagnostic import Diagnostic, Related, Severity
from phobos_core.syntax.ast import Span


def see(span: Span, message: str) -> Related:
    """A second place that explains a diagnostic."""
    return Related(span.start, span.end, message)


def diagnostic(
    code: str,
    severity: Severity,
    span: Span,
    message: str,
    related: tuple[Related, ...] = (),
    help: str | None = None,
) -> Diagnostic:
    """A diagnostic where the span is shown."""
    return Diagnostic(code, severity, span.start, span.end, message, related, help)
