"""One kernel: syntax tree -> checked program, with its diagnostics. Everything is relative to the kernel's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from phobos_core.analysis import calls, collectives, expressions, runs
from phobos_core.analysis import program as pg
from phobos_core.analysis.attributes import Header, read_attributes
from phobos_core.analysis.constraints import evaluate
from phobos_core.analysis.context import Context, Options, Rule
from phobos_core.analysis.damage import Damage
from phobos_core.analysis.header import declare_params, declare_search, resolve_aligned, resolve_registers
from phobos_core.analysis.inlining import argument_rule
from phobos_core.analysis.library import Library
from phobos_core.analysis.statements import block
from phobos_core.analysis.uniformity import EVERYTHING_UNIFORM, Inferred, Uniformity, infer
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.language.records import dataclass
from phobos_core.syntax import ast

T = TypeVar("T")

RULES: Mapping[type, Rule] = {**expressions.RULES, **runs.RULES, **collectives.RULES, **calls.RULES}
INLINED_RULES: Mapping[type, Rule] = {kind: argument_rule(rule) for kind, rule in RULES.items()}


@dataclass(frozen=True, slots=True)
class KernelResult:
    """What is known about a kernel; `kernel` is None where it has errors.

    `references` has each name with the symbol that it means, in the bodies of functions too, where the span names the
    call, and `calls` each call of a function by its name. `called` are all the functions that were asked for: besides
    the kernel's text and the options, the result depends on those only.
    """

    kernel: pg.CheckedKernel | None
    diagnostics: tuple[Diagnostic, ...]
    references: tuple[tuple[ast.Span, pg.Symbol], ...]
    symbols: tuple[pg.Symbol, ...]
    calls: tuple[tuple[ast.Span, str], ...]
    called: frozenset[str]
    uniformity: Uniformity


def check_kernel(node: ast.Kernel, text: bytes, library: Library, options: Options, damage: Damage) -> KernelResult:
    """`text` is the kernel's."""
    cx = Context(options, RULES, INLINED_RULES, library, damage)
    kernel: pg.CheckedKernel | None = None
    inferred = EVERYTHING_UNIFORM
    try:
        kernel, inferred = _checked(cx, node, text)
    except RecursionError:
        cx.error(
            "nesting-too-deep",
            node.name.span,
            f"`{node.name.text}` is nested too deeply to be checked",
            help="bind a part of the expression to a name with `let`",
        )
    cx.diagnostics.extend(_broken_constraints(cx))
    failed = any(diagnostic.severity == "error" for diagnostic in cx.diagnostics)
    return KernelResult(
        None if failed else kernel,
        tuple(cx.diagnostics),
        _unique(cx.references) if cx.calls else tuple(cx.references),
        tuple(cx.symbols),
        _unique(cx.calls),
        frozenset(cx.called),
        inferred.uniformity,
    )


def _unique(found: list[tuple[ast.Span, T]]) -> tuple[tuple[ast.Span, T], ...]:
    """An argument that a body uses twice is read twice."""
    return tuple(dict.fromkeys((span.own, meaning) for span, meaning in found))


def _broken_constraints(cx: Context) -> Iterator[Diagnostic]:
    """One diagnostic for each mistake: both axes of a shape may break a rule, and a value whose operand broke one
    says nothing new when it does not fit either."""
    reported: list[ast.Span] = []
    for constraint in cx.constraints:
        span = constraint.span
        if any(_within(inner, span) for inner in reported):
            continue
        diagnostic = evaluate(constraint, cx.search)
        if diagnostic is not None:
            reported.append(span)
            yield diagnostic


def _within(inner: ast.Span, outer: ast.Span) -> bool:
    """Whether one place is a part of another, or in the body of a function that is called there."""
    frame = inner.frame
    while frame is not None and frame is not outer.frame:
        inner = frame.call
        frame = inner.frame
    return frame is outer.frame and outer.start <= inner.start and inner.end <= outer.end


def _checked(cx: Context, node: ast.Kernel, text: bytes) -> tuple[pg.CheckedKernel, Inferred]:
    header: Header = read_attributes(cx, node.attributes)
    cx.threads = header.launch.threads
    cx.persistent = "persistent" in header.flags
    declare_search(cx, header)
    params = declare_params(cx, node.params)
    aligned = resolve_aligned(cx, header, node.params)
    body = block(cx, node.body)
    registers = resolve_registers(cx, header)
    inferred = EVERYTHING_UNIFORM
    if cx.per_thread:
        whole = not any(diagnostic.severity == "error" for diagnostic in cx.diagnostics)
        items = {name: known for name, (known, _) in cx.library.texts.items()}
        inferred = infer(body, {**items, "": text}, whole=whole)
        body = inferred.body
        cx.diagnostics.extend(inferred.diagnostics)
    kernel = pg.CheckedKernel(
        name=node.name.text,
        span=node.span,
        name_span=node.name.span,
        params=params,
        dims=tuple(cx.dims),
        search=dict(cx.search),
        cluster=header.cluster,
        launch=header.launch,
        aligned=aligned,
        tensorcore=header.tensorcore,
        pipeline="pipeline" in header.flags,
        padstage="padstage" in header.flags,
        dynshared="dynshared" in header.flags,
        persistent=cx.persistent,
        registers=registers,
        body=body,
        requires=tuple(cx.requires.values()),
    )
    return kernel, inferred
