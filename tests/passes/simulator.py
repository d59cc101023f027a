"""Runs a scheduled and placed kernel as far as its memory goes: which thread touches which byte, between barriers.

An oracle for the pass that places barriers, written from the documents of the ops and schedules and sharing nothing
with the analysis: it enumerates elements, walks loops as often as it is told, and reports each byte that two threads
touch without a barrier between, one of them writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.schedule import ColumnScan, Contraction, PatchSweep, RowFold, RowReduction, RowSweep, Sweep
from phobos_core.ir.types import Patches, Rows

Element = tuple[int, ...]
LANES = 32
# Tensors lie this far apart, past all of shared memory.
TENSORS = 1 << 20


@cache
def numbers(rows: int, columns: int, across: int) -> dict[tuple[int, int], int]:
    """The number of the patch at each place of the grid."""
    return {in_grid(columns, across, n): n for n in range(rows * columns)}


def in_grid(columns: int, across: int, number: int) -> tuple[int, int]:
    """The place of a patch in the grid."""
    if not across:
        return divmod(number, columns)
    block, lane = divmod(number, LANES)
    block_row, block_column = divmod(block, columns // across)
    row, column = divmod(lane, across)
    return block_row * (LANES // across) + row, block_column * across + column


@dataclass
class Simulation:
    """`trips` and `takes` decide how often each loop runs and which way each branch goes. `shift` renumbers the
    threads, by another distance for each kind of schedule and each grid of patches: in small tiles two of them may by
    chance agree on the few bytes that matter, which no analysis needs to see."""

    kernel: Kernel
    trips: Callable[[], int]
    takes: Callable[[], bool]
    shift: int = 0
    conflicts: list[str] = field(default_factory=list)
    definition: dict[Value, Op] = field(default_factory=dict)
    scalars: dict[Value, int] = field(default_factory=dict)
    writer: dict[int, int] = field(default_factory=dict)
    readers: dict[int, set[int]] = field(default_factory=dict)

    def run(self) -> list[str]:
        self.block(self.kernel.body)
        return self.conflicts

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.definition.update(dict.fromkeys(op.results, op))
            self.op(op)

    def op(self, op: Op) -> None:
        match op.name:
            case "const":
                self.scalars[op.result] = op.attrs["value"]
            case "add" | "mul" if op.result in self.scalars or all(v in self.scalars for v in op.operands):
                a, b = (self.scalars[v] for v in op.operands)
                self.scalars[op.result] = a + b if op.name == "add" else a * b
            case "for":
                lo, step = self.scalars[op.operands[0]], self.scalars[op.operands[2]]
                for turn in range(self.trips()):
                    self.scalars[op.regions[0].args[0]] = lo + turn * step
                    self.block(op.regions[0])
            case "if":
                self.block(op.regions[0 if self.takes() else 1])
            case "barrier":
                self.writer.clear()
                self.readers.clear()
            case "store":
                self.store(op)
            case "hold":
                self.hold(op)
            case "load_point":
                element = tuple(self.scalars[v] for v in op.operands[1:-1])
                for thread in range(self.kernel.threads):
                    self.read(op, thread, op.operands[0], element)
            case "store_point":
                self.write(op, 0, op.operands[0], tuple(self.scalars[v] for v in op.operands[1:-2]))
            case _:
                pass

    def store(self, op: Op) -> None:
        view, tile, _ = op.operands
        shape = view.type.shape
        self.folds(tile, op)
        for element in product(*map(range, shape)):
            thread = self.thread(op.attrs["schedule"], shape, element)
            for reader, buffer, place in self.reads(tile, element, thread, op.attrs["schedule"]):
                self.read(op, reader, buffer, place)
        for element in product(*map(range, shape)):
            buffer, place = self.in_buffer(view, element)
            self.write(op, self.thread(op.attrs["schedule"], shape, element), buffer, place)

    def hold(self, op: Op) -> None:
        """Each thread evaluates its runs, and past the extents those of the last row and run: the layout's document."""
        self.folds(op.operands[0], op)
        for thread, element in self.places(op.result.type.layout, op.result.type.shape):
            for reader, buffer, place in self.reads(op.operands[0], element, thread, op.attrs["schedule"]):
                self.read(op, reader, buffer, place)

    def folds(self, tile: Value, op: Op) -> None:
        """What a `RowFold` reads below its anchor: whatever the thread's patch has, past the extents the last again."""
        schedule = op.attrs["schedule"]
        if isinstance(schedule, RowFold):
            (operand,) = self.anchor(tile).operands
            for thread, element in self.places(schedule.layout, operand.type.shape):
                for reader, buffer, place in self.reads(operand, element, thread, schedule):
                    self.read(op, reader, buffer, place)

    def anchor(self, tile: Value) -> Op:
        op = self.definition[tile]
        if op.name == "reduce":
            return op
        return next(self.anchor(v) for v in op.operands if self.holds_anchor(v))

    def holds_anchor(self, tile: Value) -> bool:
        op = self.definition[tile]
        if op.name in ("load", "splat") or tile.type.layout is not None:
            return False
        return op.name == "reduce" or any(map(self.holds_anchor, op.operands))

    def places(self, layout: Patches | Rows, shape: Sequence[int]) -> Iterator[tuple[int, Element]]:
        rows, columns = shape
        tn, vector = (1, 1) if isinstance(layout, Rows) else (layout.tn, layout.vector)
        for patch in range(layout.rows * layout.columns):
            r, c = in_grid(layout.columns, layout.across, patch)
            thread = self.of_patch(layout, r, c, vector)
            for i, j in product(range(layout.tm), range(tn // vector)):
                run_of_rows, within = divmod(i, layout.height)
                row = min(r + run_of_rows * layout.rows, rows // layout.height - 1) * layout.height + within
                run = min(c + j * layout.columns, columns // vector - 1)
                for n in range(vector):
                    yield thread, (row, run * vector + n)

    def thread(self, schedule: object, shape: Sequence[int], element: Element) -> int:
        """Which thread writes the element: the documents of the schedules, word for word."""
        threads = self.kernel.threads
        row, column = element
        match schedule:
            case Sweep(vector, first):
                return (first + (row * shape[1] + column) // vector) % threads
            case Contraction():
                return self.of_patch(schedule, row // schedule.height, column // schedule.run, schedule.run)
            case PatchSweep(layout):
                return self.of_patch(layout, row // layout.height, column // layout.vector, layout.vector)
            case RowSweep(layout):
                return self.of_patch(layout, row // layout.height, 0, 1)
            case RowFold(layout):
                return self.of_patch(layout, row // layout.height, column * LANES, 1)
            case RowReduction(lanes, _):
                return (row % (threads // lanes) * lanes + 3 * self.shift) % threads
            case ColumnScan():
                return (column + 5 * self.shift) % threads
        raise AssertionError(schedule)

    def of_patch(self, grid: Contraction | Patches | Rows, row: int, column: int, vector: int) -> int:
        """The thread of a patch, by its row in the grid or a run of its rows, and likewise of columns."""
        moved = self.shift * (grid.rows + 3 * grid.columns + 5 * vector)
        number = numbers(grid.rows, grid.columns, grid.across)[row % grid.rows, column % grid.columns]
        return (number + moved) % self.kernel.threads

    def reads(self, tile: Value, at: Element, thread: int, schedule: object) -> Iterator[tuple[int, Value, Element]]:
        if tile.type.layout is not None:
            return
        op = self.definition[tile]
        match op.name:
            case "load":
                yield thread, *self.in_buffer(op.operands[0], at)
            case "splat":
                pass
            case "broadcast":
                shape = op.operands[0].type.shape
                inner = tuple(0 if n == 1 else i for n, i in zip(shape, at, strict=True))
                yield from self.reads(op.operands[0], inner, thread, schedule)
            case "transpose":
                yield from self.reads(op.operands[0], at[::-1], thread, schedule)
            case "dot":
                lhs, rhs = op.operands
                for k in range(lhs.type.shape[1]):
                    yield from self.reads(lhs, (at[0], k), thread, schedule)
                    there = (at[1], k) if op.attrs["transposed"] else (k, at[1])
                    yield from self.reads(rhs, there, thread, schedule)
            case "reduce" if isinstance(schedule, RowFold):
                pass
            case "reduce" if isinstance(schedule, RowSweep):
                for c in range(op.operands[0].type.shape[1]):
                    yield from self.reads(op.operands[0], (at[0], c), thread, schedule)
            case "reduce":
                assert isinstance(schedule, RowReduction)
                for c in range(op.operands[0].type.shape[1]):
                    lane = (thread + c // schedule.vector % schedule.lanes) % self.kernel.threads
                    yield from self.reads(op.operands[0], (at[0], c), lane, schedule)
            case "cumsum":
                for r in range(at[0] + 1):
                    yield from self.reads(op.operands[0], (r, at[1]), thread, schedule)
            case _:
                for operand in op.operands:
                    yield from self.reads(operand, at, thread, schedule)

    def in_buffer(self, view: Value, element: Element) -> tuple[Value, Element]:
        mem, *offsets = self.definition[view].operands[: 1 + len(element)]
        return mem, tuple(self.scalars[o] + i for o, i in zip(offsets, element, strict=True))

    # Bytes

    def addresses(self, buffer: Value, element: Element) -> range:
        """None for an element outside a tensor, which a mask keeps from being touched."""
        rows, columns = buffer.type.shape
        if not (0 <= element[0] < rows and 0 <= element[1] < columns):
            assert buffer.type.space == "global"
            return range(0)
        size = buffer.type.element.bytes
        if buffer.type.space == "global":
            start, pitch = TENSORS * (1 + self.kernel.body.args.index(buffer)), columns
        else:
            alloc = self.definition[buffer]
            start, pitch = alloc.attrs["offset"], alloc.attrs.get("pitch", columns)
        first = start + (element[0] * pitch + element[1]) * size
        return range(first, first + size)

    def read(self, op: Op, thread: int, buffer: Value, element: Element) -> None:
        for byte in self.addresses(buffer, element):
            self.touch(op, byte, thread, {self.writer.get(byte, thread)})
            self.readers.setdefault(byte, set()).add(thread)

    def write(self, op: Op, thread: int, buffer: Value, element: Element) -> None:
        for byte in self.addresses(buffer, element):
            self.touch(op, byte, thread, {self.writer.get(byte, thread), *self.readers.get(byte, ())})
            self.writer[byte] = thread

    def touch(self, op: Op, byte: int, thread: int, others: set[int]) -> None:
        if others - {thread}:
            self.conflicts.append(f"line {op.line} {op.name}: byte {byte}, threads {sorted(others | {thread})}")
