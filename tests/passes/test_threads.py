"""Barriers around per-thread code, by a simulator: random programs in which single threads load and store elements of
tiles, under control that differs between them, beside whole-tile operations.

The source orders what threads do to the elements of one tile; everything else is the pass's to order: whole-tile
operations against those, and tiles that share bytes, one tile's bytes in the next iteration of the loop that declares
it included. And no barrier may stand where not all threads come.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.ir.divergence import divergence
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.rewrite import Index, edit, walk, with_body
from phobos_core.ir.types import TOKEN
from phobos_core.ir.verifier import verify
from phobos_core.language.types import F32, INDEX
from phobos_core.passes import PASSES
from phobos_core.passes.materialize import materialize
from phobos_core.passes.place_barriers import place_barriers
from phobos_core.passes.place_shared import place_shared
from phobos_core.passes.schedule import schedule
from tests.passes.programs import SIDE, Programs
from tests.passes.simulator import Element, Simulation

PATHS = 8
MANY_PATHS = 400


class ThreadPrograms(Programs):
    """Adds to the programs of tiles what threads do alone. `varies` is a bool that differs between them."""

    def kernel(self) -> Kernel:
        self.thread = self.build.ctx("thread")
        self.three = self.build.index(3)
        self.row = self.build.binary("and", self.thread, self.build.index(SIDE // 2 - 1))
        self.next = self.build.binary("add", self.row, self.build.index(1))
        self.varies = self.build.cmp("lt", self.thread, self.three)
        self.sink = Value(F32, "sink")
        return super().kernel()

    def assign(self, tiles: list[Value], depth: int) -> None:
        makers = [super().assign, self.point, self.split, self.split_loop, self.sync]
        self.random.choices(makers, (4, 3, 3, 1, 1))[0](tiles, depth)

    def declare(self, tiles: list[Value], depth: int) -> None:
        """Perhaps without a value: threads then store its elements."""
        if self.random.random() < 0.6:
            super().declare(tiles, depth)
            return
        self.start_line()
        mem, token = self.build.alloc(f"t{self.line}", F32, (SIDE, SIDE))
        self.tokens[mem] = token
        for _ in range(self.random.randint(1, 2)):
            self.point([mem], depth)
        if self.random.random() < 0.5:
            tiles.append(mem)

    def at(self, mem: Value) -> tuple[Value, Value]:
        return self.random.choice([self.row, self.next, self.zero, self.build.index(SIDE - 1)]), self.zero

    def point(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        source, target = self.random.choice(tiles), self.random.choice(tiles)
        value = self.build.load_point(source, self.at(source), self.tokens[source])
        if self.random.random() < 0.6:
            self.tokens[target] = self.build.store_point(target, self.at(target), value, self.tokens[target], each=True)
        else:
            self.use(value)

    def use(self, value: Value) -> None:
        """Keeps a load: into a tensor that nothing else touches."""
        tensor = self.tensors[0]
        self.tokens[tensor] = self.build.store_point(
            tensor, (self.row, self.zero), value, self.tokens[tensor], each=True
        )

    def split(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        outer, before = self.build, dict(self.tokens)
        blocks = []
        for _ in range(2):
            self.build, self.tokens = type(outer)(self.line), dict(before)
            for _ in range(self.random.randint(0, 2)):
                self.point(tiles, depth)
            self.build.yield_([self.tokens[mem] for mem in before])
            blocks.append(self.build.block())
        self.build = outer
        branch = self.build.if_(self.varies, [TOKEN] * len(before), *blocks)
        self.tokens = dict(zip(before, branch.results, strict=True))

    def split_loop(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        outer, before = self.build, dict(self.tokens)
        inside = {mem: Value(TOKEN) for mem in before}
        i = Value(INDEX, "i")
        self.build, self.tokens = type(outer)(self.line), dict(inside)
        self.point(tiles, depth)
        self.build.yield_([self.tokens[mem] for mem in before])
        body = self.build.block((i, *inside.values()))
        self.build = outer
        loop = self.build.for_(self.thread, self.three, self.one, list(before.values()), body)
        self.tokens = dict(zip(before, loop.results, strict=True))

    def sync(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        mems = list(dict.fromkeys(tiles))
        self.tokens.update(zip(mems, self.build.sync([self.tokens[m] for m in mems]), strict=True))


# By byte, the threads that have accessed it since the last barrier, each with the tile whose element that was to it
# alone, and how often the tile had been declared; None for a whole-tile operation.
Accesses: TypeAlias = dict[int, set[tuple[int, tuple[Value, int] | None]]]


class ThreadSimulation(Simulation):
    """Each thread has its own scalars where they differ. What single threads do to one tile is not compared."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.active = range(self.kernel.threads)
        self.splits = divergence(self.kernel.body).splits
        self.own: tuple[Value, int] | None = None
        self.born: dict[Value, int] = {}
        self.writes: Accesses = {}
        self.reads_of: Accesses = {}

    def op(self, op: Op) -> None:
        match op.name:
            case "alloc":
                self.born[op.results[0]] = self.born.get(op.results[0], 0) + 1
            case "barrier" if len(self.active) != self.kernel.threads:
                self.conflicts.append(f"line {op.line}: a barrier that not all threads reach")
            case "barrier" | "sync":
                self.writes.clear()
                self.reads_of.clear()
            case "if" | "for" if op in self.splits:
                self.split(op)
            case "load_point":
                for thread in self.active:
                    self.as_own(op, lambda t=thread: self.read(op, t, op.operands[0], self.element(op, t, 1)))
            case "store_point" if op.attrs.get("each"):
                for thread in self.active:
                    self.as_own(op, lambda t=thread: self.write(op, t, op.operands[0], self.element(op, t, 2)))
            case _:
                super().op(op)

    def split(self, op: Op) -> None:
        everyone = self.active
        if op.name == "if":
            for region, threads in zip(op.regions, (range(3), range(3, self.kernel.threads)), strict=True):
                self.active = [t for t in threads if t in everyone]
                self.block(region)
        else:
            for turn in range(3):
                self.active = [t for t in everyone if t + turn < 3]
                self.block(op.regions[0])
        self.active = everyone

    def as_own(self, op: Op, access: object) -> None:
        self.own = op.operands[0], self.born.get(op.operands[0], 0)
        access()  # type: ignore[operator]
        self.own = None

    def element(self, op: Op, thread: int, operands: int) -> Element:
        return tuple(self.index(v, thread) for v in op.operands[1 : len(op.operands) - operands])

    def index(self, value: Value, thread: int) -> int:
        op = self.definition.get(value)
        if op is None or value in self.scalars:
            return self.scalars[value]
        row = thread & (SIDE // 2 - 1)
        return row if op.name == "and" else row + 1

    def read(self, op: Op, thread: int, buffer: Value, element: Element) -> None:
        for byte in self.addresses(buffer, element):
            self.touch(op, byte, thread, self.others(self.writes, byte))
            self.reads_of.setdefault(byte, set()).add((thread, self.own))

    def write(self, op: Op, thread: int, buffer: Value, element: Element) -> None:
        for byte in self.addresses(buffer, element):
            self.touch(op, byte, thread, self.others(self.writes, byte) | self.others(self.reads_of, byte))
            self.writes.setdefault(byte, set()).add((thread, self.own))

    def others(self, accesses: Accesses, byte: int) -> set[int]:
        """The threads with an access that the source does not order against this one."""
        return {t for t, owner in accesses.get(byte, ()) if self.own is None or owner != self.own}


def placed(kernel: Kernel) -> Kernel:
    for step in (materialize, schedule, place_shared, place_barriers):
        kernel = step(kernel)
    return kernel


def conflicts(kernel: Kernel, seed: int, shift: int = 0) -> list[str]:
    random = Random(seed)
    if seed < 2:
        return ThreadSimulation(kernel, lambda: 2, lambda: seed == 0, shift).run()
    return ThreadSimulation(kernel, lambda: random.randrange(4), lambda: random.random() < 0.5, shift).run()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_no_byte_crosses_threads_unordered(seed: int) -> None:
    program = ThreadPrograms(Random(seed)).kernel()
    verify(program)
    kernel = placed(program)
    verify(kernel)
    for path in range(PATHS):
        assert conflicts(kernel, path) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_every_pass_gives_a_well_formed_kernel(seed: int) -> None:
    kernel = ThreadPrograms(Random(seed)).kernel()
    for step in PASSES:
        kernel = step(kernel)
        verify(kernel)
    index, splits = Index(kernel.body), divergence(kernel.body)
    for op in walk(kernel.body):
        if op.name in ("barrier", "sync"):
            assert splits.around(index, op) is None


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_a_barrier_left_out_shows(seed: int) -> None:
    """Most of them: what is known of an index that differs is nothing, so a barrier may stand between two elements that
    never meet."""
    kernel = placed(ThreadPrograms(Random(seed)).kernel())
    barriers = [op for op in walk(kernel.body) if op.name == "barrier"]
    found = 0
    for barrier in barriers:
        fewer = with_body(kernel, edit(kernel.body, replaced={barrier: ()}).ops)
        found += any(conflicts(fewer, path, shift=1) for path in range(MANY_PATHS))
    assert found >= len(barriers) * 0.6
