"""What is inferred to be the same in several threads is the same there, when the reference runs the kernel.

The reference knows the threads one by one. Each value that it computes is compared between the threads that run, of the
whole CTA or of each warp, and each block that control enters is held against what was inferred of its control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from phobos_core import reference
from phobos_core.analysis import PlacedKernel, check
from phobos_core.analysis import program as pg
from phobos_core.analysis.walk import walk
from phobos_core.language.context import Variation
from phobos_core.language.targets import LANES
from phobos_core.reference import attention, expressions, statements, synchronization
from phobos_core.reference.frame import Frame
from phobos_core.syntax import parse
from tests.analysis.thread_programs import PARAMS, SIZE, THREADS, Body, bodies

RULES = {"once-per-cta", "differs-between-lanes", "once-per-warp", "missing-barrier"}


def accepted(body: Body) -> tuple[str, PlacedKernel]:
    """The kernel without the lines that break a rule."""
    left = dict(enumerate(body.lines))
    while True:
        numbers = list(left)
        source = f"@launch({THREADS})\nkernel k({PARAMS}) {{\n" + "\n".join(left.values()) + "\n}\n"
        file = check(parse(source))
        errors = [d for d in file.diagnostics if d.severity == "error"]
        if not errors:
            return source, file.kernels[0]
        for found in errors:
            number = numbers[file.source.text[: found.start].count(b"\n") - 2]
            assert found.code in RULES, (found, source)
            assert number in body.together, (found, source)
            left.pop(number, None)


@dataclass
class Watch:
    """Compares what the reference computes with what was inferred. `seen` counts what it compared."""

    placed: PlacedKernel
    nodes: dict[int, Any] = field(default_factory=dict)
    known: dict[int, Variation] = field(default_factory=dict)
    seen: dict[Variation, int] = field(default_factory=lambda: dict.fromkeys(Variation, 0))

    def __post_init__(self) -> None:
        assert self.placed.kernel is not None
        self.nodes = {id(node): node for node in walk(self.placed.kernel.body)}
        for stmt in self.nodes.values():
            if isinstance(stmt, pg.StorePoint) and not stmt.per_thread:
                for expr in (stmt.value, *(axis.start for axis in stmt.place.axes or ())):
                    self.known[id(expr)] = Variation.UNIFORM

    def value(self, expr: Any, value: Any, frame: Frame) -> None:
        if id(expr) not in self.nodes or isinstance(expr.type, pg.TileType):
            return
        variation = self.known.get(id(expr))
        if variation is None:
            variation = self.known[id(expr)] = self.placed.uniformity.variation(expr)
        self.same(variation, np.asarray(value), frame, expr)

    def same(self, variation: Variation, value: Any, frame: Frame, what: Any) -> None:
        self.seen[variation] += 1
        if value.ndim == 0 or value.shape[-1] != THREADS:
            return
        for group in groups(variation):
            of_group = value[..., group][..., frame.running[group]]
            assert (of_group == of_group[..., :1]).all(), (variation, what, value)

    def control(self, control: Variation, frame: Frame, what: pg.Stmt) -> None:
        for group in groups(control):
            running = frame.running[group]
            assert running.all() or not running.any(), (control, what)

    def statement(self, stmt: pg.Stmt, frame: Frame) -> None:
        """Before it is run."""
        if isinstance(stmt, pg.StorePoint) and not stmt.per_thread:
            self.control(Variation.UNIFORM, frame, stmt)

    def bound(self, symbol: pg.Symbol, frame: Frame) -> None:
        self.same(self.placed.uniformity.variation(symbol), np.asarray(frame.scalars[symbol]), frame, symbol)


def groups(variation: Variation) -> list[slice]:
    match variation:
        case Variation.UNIFORM:
            return [slice(0, THREADS)]
        case Variation.WARP_UNIFORM:
            return [slice(first, first + LANES) for first in range(0, THREADS, LANES)]
    return []


def watched(watch: Watch, patch: pytest.MonkeyPatch) -> None:
    """Puts the comparisons into the reference."""
    evaluate, run_block, run = expressions.evaluate, statements.run_block, statements.run
    inner = {
        id(block): stmt.control
        for stmt in watch.nodes.values()
        if isinstance(stmt, (pg.If, pg.For, pg.While))
        for block in ((stmt.then, stmt.orelse) if isinstance(stmt, pg.If) else (stmt.body,))
        if block
    }

    def comparing(expr: Any, frame: Frame) -> Any:
        value = evaluate(expr, frame)
        watch.value(expr, value, frame)
        return value

    def entering(body: Any, frame: Frame) -> Iterator[Any]:
        if id(body) in inner:
            watch.control(inner[id(body)], frame, body[0])
        return (yield from run_block(body, frame))

    def running(stmt: pg.Stmt, frame: Frame) -> Iterator[Any]:
        watch.statement(stmt, frame)
        jump = yield from run(stmt, frame)
        if isinstance(stmt, (pg.BindScalar, pg.AssignScalar)):
            watch.bound(stmt.symbol, frame)
        return jump

    for module in (expressions, statements, synchronization, attention):
        patch.setattr(module, "evaluate", comparing)
    patch.setattr(statements, "run_block", entering)
    patch.setattr(statements, "run", running)


def launch(placed: PlacedKernel, seed: int) -> None:
    assert placed.kernel is not None
    rng = np.random.default_rng(seed)
    arrays = [
        rng.integers(-4, 9, SIZE).astype(np.int32),
        rng.integers(-4, 9, SIZE),
        np.zeros(4, np.int32),
        rng.integers(-4, 9, (32, 8)).astype(np.int32),
        np.zeros((32, 8), np.int32),
    ]
    reference.run(placed.kernel, (2, 1, 1), [*arrays, 3], config={}, dims={})


def trial(run: Callable[[Watch], None], body: Body) -> Watch:
    source, placed = accepted(body)
    note(source)
    watch = Watch(placed)
    with pytest.MonkeyPatch.context() as patch:
        watched(watch, patch)
        run(watch)
    return watch


def test_what_is_uniform_is_the_same_in_every_thread() -> None:
    """A fold, barrier or tile operation that only some threads reach is a fault of the reference, too."""
    seen = dict.fromkeys(Variation, 0)

    @settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(bodies())
    def each(body: Body) -> None:
        watch = trial(lambda watch: launch(watch.placed, len(body.lines)), body)
        for variation, count in watch.seen.items():
            seen[variation] += count

    each()
    assert all(count > 500 for count in seen.values()), seen


@pytest.mark.parametrize("variation", [Variation.UNIFORM, Variation.WARP_UNIFORM])
def test_a_wrong_claim_is_found(variation: Variation, monkeypatch: pytest.MonkeyPatch) -> None:
    file = check(parse(f"@launch({THREADS})\nkernel k({PARAMS}) {{\nlet x = ctx.lane\nY[x] = x\n}}\n"))
    watch = Watch(file.kernels[0])
    watched(watch, monkeypatch)
    launch(watch.placed, 0)
    watch.known = dict.fromkeys(watch.nodes, variation)
    with pytest.raises(AssertionError):
        launch(watch.placed, 0)
