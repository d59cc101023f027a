"""Generated views of views, read and written anywhere around their bounds, against a model of one page.

The model: a view is, per axis, a list of positions in the tensor, None where there is no element. A slice takes from
that list, and what it takes from outside is None too. A read of None is 0 and a write to it does nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import phobos_core as phobos

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "40"))
ROWS, COLUMNS = 12, 16

Axis: TypeAlias = list[int | None]
# A slice: row start, rows, column start, columns.
Step: TypeAlias = tuple[str, int, str, int]


@dataclass
class View:
    """`make` gives the axes for one block and one value of the loop variable, 0 outside a loop."""

    steps: list[Step]  # outermost first

    def axes(self, block: int, i: int) -> tuple[Axis, Axis]:
        rows: Axis = list(range(ROWS))
        columns: Axis = list(range(COLUMNS))
        for row, height, column, width in self.steps:
            names = {"block": block, "i": i}
            rows = taken(rows, eval(row, names), height)
            columns = taken(columns, eval(column, names), width)
        return rows, columns


def taken(axis: Axis, start: int, extent: int) -> Axis:
    return [axis[p] if 0 <= p < len(axis) else None for p in range(start, start + extent)]


def read(tensor: NDArray[Any], view: View, block: int, i: int) -> NDArray[Any]:
    rows, columns = view.axes(block, i)
    value = [[0 if r is None or c is None else tensor[r, c] for c in columns] for r in rows]
    return np.array(value, tensor.dtype).reshape(len(rows), len(columns))


def write(tensor: NDArray[Any], view: View, block: int, i: int, value: NDArray[Any]) -> None:
    rows, columns = view.axes(block, i)
    for a, r in enumerate(rows):
        for b, c in enumerate(columns):
            if r is not None and c is not None:
                tensor[r, c] = value[a, b]


@dataclass
class Program:
    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    copies: list[tuple[View, View, int, bool]] = field(default_factory=list)
    names: int = 0

    def start(self, *, loop: bool) -> str:
        terms = ["", "block * 4 + ", "block * 3 + ", "3 - block * 4 + "] + (
            ["i + ", "i * 2 + ", "block * 4 + i + "] if loop else []
        )
        up, down = self.draw(st.integers(0, 6)), self.draw(st.sampled_from([0, 0, 2, 5]))
        return f"{self.draw(st.sampled_from(terms))}{up} - {down}"

    def slice_of(self, steps: list[Step], rows: int, columns: int, *, loop: bool) -> View:
        step = (self.start(loop=loop), rows, self.start(loop=loop), columns)
        return View([*steps, step])

    def view(self, tensor: str, rows: int, columns: int, *, loop: bool) -> tuple[str, View]:
        """The text of a slice of `rows` x `columns` through up to two views."""
        depth = self.draw(st.integers(0, 2))
        name, steps = tensor, []
        indent = "    " if loop else "  "
        for _ in range(depth):
            outer = self.slice_of(steps, self.draw(st.integers(1, 14)), self.draw(st.integers(1, 18)), loop=loop)
            self.names += 1
            self.lines.append(f"{indent}let v{self.names} = {spelled(name, outer.steps[-1])}")
            name, steps = f"v{self.names}", outer.steps
        inner = self.slice_of(steps, rows, columns, loop=loop)
        return spelled(name, inner.steps[-1]), inner

    def copy(self, *, loop: bool) -> None:
        rows, columns = self.draw(st.sampled_from([1, 2, 4, 5])), self.draw(st.sampled_from([1, 3, 4, 8]))
        source, source_view = self.view("X", rows, columns, loop=loop)
        # Blocks do not share what they store: each has its own matrix.
        target, target_view = self.view("mine", rows, columns, loop=loop)
        added = self.draw(st.integers(0, 3))
        accumulate = self.draw(st.booleans())
        indent = "    " if loop else "  "
        self.lines.append(f"{indent}{target} {'+=' if accumulate else '='} {source} + {added}")
        self.copies.append((target_view, source_view, added, accumulate))


def spelled(name: str, step: Step) -> str:
    row, rows, column, columns = step
    return f"{name}[{row} :+ {rows}, {column} :+ {columns}]"


@dataclass(frozen=True)
class Drawn:
    source: str
    before: list[tuple[View, View, int, bool]]
    inside: list[tuple[View, View, int, bool]]
    trips: int


@st.composite
def programs(draw: st.DrawFn) -> Drawn:
    program = Program(draw)
    for _ in range(draw(st.integers(0, 2))):
        program.copy(loop=False)
    before = program.copies
    program.copies = []
    trips = draw(st.integers(0, 5))
    bound = draw(st.sampled_from([str(trips), "n"]))
    program.lines.append(f"  for i in range(0, {bound}) {{")
    for _ in range(draw(st.integers(1, 2))):
        program.copy(loop=True)
    program.lines.append("  }")
    rows, columns = (ROWS, COLUMNS) if draw(st.booleans()) else ("R", "C")
    threads = draw(st.sampled_from([1, 32, 64]))
    body = "\n".join(program.lines)
    source = (
        f"@launch({threads})\n"
        f"kernel k(X: tensor<i32>[{rows}, {columns}], Y: tensor<i32>[{2 * ROWS}, {columns}], n: i32) {{\n"
        f"  let block = ctx.block.x\n  let mine = Y[block * {ROWS} :+ {ROWS}, :]\n{body}\n}}\n"
    )
    return Drawn(source, before, program.copies, trips)


def model(drawn: Drawn, x: NDArray[Any], y: NDArray[Any]) -> None:
    for block in range(2):
        mine = y[block * ROWS : (block + 1) * ROWS]
        for i, copies in [(0, drawn.before), *((i, drawn.inside) for i in range(drawn.trips))]:
            for target, source, added, accumulate in copies:
                value = read(x, source, block, i) + added
                if accumulate:
                    value = read(mine, target, block, i) + value
                write(mine, target, block, i, value)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="PHOBOS_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(programs(), st.integers(0, 2**16))
def test_views(drawn: Drawn, seed: int) -> None:
    note(drawn.source)
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (ROWS, COLUMNS)).astype(np.int32)
    before = rng.integers(-9, 10, (2 * ROWS, COLUMNS)).astype(np.int32)
    expected = before.copy()
    model(drawn, x, expected)
    kernel = phobos.compile_text(drawn.source, name="views.ph")["k"]
    for device in ("reference", "emulator"):
        y = before.copy()
        kernel.launch((2,), x, y, drawn.trips, device=device)
        np.testing.assert_array_equal(y, expected, err_msg=device)
