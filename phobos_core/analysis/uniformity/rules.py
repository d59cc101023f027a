"""The rules of per-thread code: who must reach an operation, what it may take, and what it may read.

In: the operations of a kernel and what was inferred. Out: diagnostics, at most one for each statement, for the first of
its operations that breaks a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phobos_core.analysis import program as pg
from phobos_core.analysis.places import calls_of, diagnostic, see
from phobos_core.analysis.uniformity.buffers import Early
from phobos_core.analysis.uniformity.collect import Collector
from phobos_core.analysis.uniformity.events import Branch, Event, Loop, Operand, Operation, Step, Store
from phobos_core.analysis.uniformity.graph import Link
from phobos_core.analysis.uniformity.reasons import Texts, name_of, shown, why_controlled, why_used
from phobos_core.language.builtins import Scope
from phobos_core.language.codes import FIXED_MESSAGES
from phobos_core.language.context import Variation
from phobos_core.language.diagnostic import Diagnostic, Related


@dataclass(frozen=True, slots=True)
class Rules:
    c: Collector
    early: Mapping[Operation, Early]
    text: Texts


def broken_rules(rules: Rules) -> Iterator[Diagnostic]:
    for step in _steps(rules.c.events):
        for op in step.operations:
            found = _broken(rules, op)
            if found is not None:
                yield found
                break


def _steps(events: list[Event]) -> Iterator[Step]:
    for event in events:
        match event:
            case Step():
                yield event
            case Branch(then, orelse):
                yield from _steps(then)
                yield from _steps(orelse)
            case Loop(test, body):
                if test is not None:
                    yield test
                yield from _steps(body)


def _broken(rules: Rules, op: Operation) -> Diagnostic | None:
    if op.scope is not Scope.THREAD:
        control = rules.c.graph.levels[op.region]
        if control is Variation.VARYING or (control and op.scope is Scope.CTA):
            return _unreached(rules, op)
    for operand in op.operands:
        use = rules.c.graph.worst(operand.uses)
        if use is not None:
            return _differing(rules, op, operand)
    early = rules.early.get(op)
    return None if early is None else _missing(rules, op, early)


def _unreached(rules: Rules, op: Operation) -> Diagnostic:
    code = "once-per-cta" if op.scope is Scope.CTA else "once-per-warp"
    return diagnostic(
        code,
        "error",
        op.span.own,
        FIXED_MESSAGES[code].format(op=op.name),
        why_controlled(rules.c.graph, rules.text, op.region),
        _way_out(rules, op),
    )


def _way_out(rules: Rules, op: Operation) -> str:
    """What to do about control that differs, by what made it differ."""
    _, cause = rules.c.graph.decision(op.region)
    if cause.link is Link.CONDITION:
        return "move it to where the condition does not decide who gets there"
    if cause.link is Link.BOUND or (cause.span.frame is op.span.frame and op.span.start < cause.span.start):
        return "move it out of the loop"
    return f"move it before the `{rules.text(cause.span)}`"


def _differing(rules: Rules, op: Operation, operand: Operand) -> Diagnostic:
    use = rules.c.graph.worst(operand.uses)
    assert use is not None
    if operand.offset:
        help_ = "a slice at a per-thread offset is not a tile; each thread reads elements of its own, as in `A[i, j]`"
    else:
        help_ = "a fold such as `sum<over ctx.thread>(..)` has one value for every thread"
    return diagnostic(
        "differs-between-lanes",
        "error",
        operand.span,
        FIXED_MESSAGES["differs-between-lanes"].format(op=op.name, x=shown(rules.text, operand.span)),
        why_used(rules.c.graph, rules.text, use),
        help_,
    )


def _missing(rules: Rules, op: Operation, early: Early) -> Diagnostic:
    name = name_of(rules.text, early.read.root, early.read.span)
    return diagnostic(
        "missing-barrier",
        "error",
        op.span.own,
        FIXED_MESSAGES["missing-barrier"].format(op=op.name, t=name),
        (*_aliases(rules, early.read.root), *_stored(rules, op, early.store)),
        "put `barrier()` between, where every thread reaches it",
    )


def _name(rules: Rules, place: pg.Place) -> str:
    return name_of(rules.text, place.root, place.span)


def _aliases(rules: Rules, root: pg.Symbol) -> Iterator[Related]:
    """The views between the name that is read and the buffer itself."""
    view = rules.c.views.get(root)
    while view is not None:
        if view.is_named:
            yield see(view.symbol.span, f"`{view.symbol.name}` is a view of `{_name(rules, view.place)}`")
        view = rules.c.views.get(view.place.root)


def _stored(rules: Rules, op: Operation, store: Store) -> Iterator[Related]:
    """The store, and why each thread does it for itself."""
    graph, stmt = rules.c.graph, store.stmt
    around = stmt.span.frame is op.span.frame and stmt.span.start > op.span.start
    when = ", in the iteration before" if around else ""
    yield see(stmt.span, f"the per-thread store to `{_name(rules, stmt.place)}`{when}")
    here = calls_of(op.span)
    yield from (call for call in calls_of(stmt.span) if call not in here)
    yield from _aliases(rules, stmt.place.root)
    use = graph.worst(store.uses)
    if graph.levels[store.region] > (Variation.UNIFORM if use is None else graph.levels[use.node]):
        yield from why_controlled(graph, rules.text, store.region)
    elif use is not None:
        yield from why_used(graph, rules.text, use)
