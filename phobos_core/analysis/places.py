"""From spans to what a diagnostic says of places: whose text it is, and through which calls it was reached."""

from __future__ import annotations

from phobos_core.language.diagnostic import Diagnostic, Related, Severity
from phobos_core.syntax.ast import Function, Span


def see(span: Span, message: str) -> Related:
    """A second place that explains a diagnostic."""
    shown = span.shown
    return Related(shown.start, shown.end, message, shown.item)


def declared_function(function: Function) -> Related:
    span = function.name.span
    return Related(span.start, span.end, f"`{function.name.text}` is declared here", function.name.text)


def calls_of(span: Span) -> tuple[Related, ...]:
    """The calls through which a place in a function's body was reached, the innermost first."""
    calls = []
    frame = span.frame
    while frame is not None:
        calls.append(Related(frame.call.start, frame.call.end, f"`{frame.function}` is called here", frame.call.item))
        frame = frame.call.frame
    return tuple(calls)


def diagnostic(
    code: str,
    severity: Severity,
    span: Span,
    message: str,
    related: tuple[Related, ...] = (),
    help: str | None = None,
) -> Diagnostic:
    """A diagnostic where the span is shown; in a function's body with the calls that led there."""
    shown = span.shown
    return Diagnostic(code, severity, shown.start, shown.end, message, (*related, *calls_of(shown)), help, shown.item)
