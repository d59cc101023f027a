"""Chooses which thread writes which element of each store, and the width of its accesses.

In: stores whose trees hold at most one anchor (`materialize`). Out: each store has a `schedule`: a `Contraction` for
a `dot`, a `RowReduction` for a `reduce`, a `ColumnScan` for a `cumsum`, else a `Sweep`. The path of each contraction
is a decision; an access width that leans on the assumed divisor of an extent adds a requirement of the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from phobos_core.ir.divisors import Vectors, Width
from phobos_core.ir.module import Decision, Kernel, Op, Requirement, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index, rewrite, with_attrs
from phobos_core.ir.schedule import ColumnScan, Contraction, RowReduction, Schedule, Sweep
from phobos_core.ir.tree import INNER, Node, held, nodes
from phobos_core.ir.types import TileType, ViewType, element_of
from phobos_core.language.targets import LANES, LEAST_SM, MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM, TARGETS
from phobos_core.language.types import F64, I8
from phobos_core.passes.materialize import name_of

_SIDES = (8, 4, 2, 1)
# Registers that a contraction needs beside its outputs: per row and column of the patch, and for addresses and loops.
_REGISTERS_PER_SIDE = 2
_REGISTERS_BESIDE = 24
# What reading an element of an operand costs, in products; more where the index has to be kept inside the tile.
_READ_COST = 2
_CLAMPED_READ_COST = 3


def schedule(kernel: Kernel) -> Kernel:
    planner = _Planner(kernel, Index(kernel.body))
    body = rewrite(kernel.body, planner.visit)
    return replace(
        kernel,
        body=body,
        decisions=(*kernel.decisions, *dict.fromkeys(planner.decisions)),
        requires=(*kernel.requires, *(r for r in planner.requirements() if r not in kernel.requires)),
    )


@dataclass(slots=True)
class _Planner:
    kernel: Kernel
    index: Index
    decisions: list[Decision] = field(default_factory=list)
    relied_on: set[str] = field(default_factory=set)
    vectors: Vectors = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = Vectors(self.kernel, self.index)

    def requirements(self) -> list[Requirement]:
        return self.vectors.requirements(sorted(self.relied_on))

    def visit(self, op: Op) -> Sequence[Op] | None:
        if op.name != "store" or "schedule" in op.attrs:
            return None
        return [with_attrs(op, schedule=self.choose(op))]

    def choose(self, store: Op) -> Schedule:
        view, tile, _ = store.operands
        tree = list(nodes(self.index, tile))
        anchor = next((n.op for n in tree if OPS[n.op.name].anchor), None)
        match anchor.name if anchor else "":
            case "dot":
                assert anchor is not None
                return self.contraction(store, anchor, tree)
            case "reduce":
                assert anchor is not None
                return self.row_reduction(anchor, tree)
            case "cumsum":
                return ColumnScan()
            case _:
                return Sweep(self.sweep_vector(view, tile, tree))

    def use(self, width: Width) -> int:
        self.relied_on.update(width.relies_on)
        return width.vector

    def sweep_vector(self, view: Value, tile: Value, tree: Sequence[Node]) -> int:
        """What registers hold already fixes it; else the widest that all accesses along the last axis allow."""
        for value in held(self.index, tile):
            assert isinstance(value.type, TileType)
            assert value.type.layout is not None
            return value.type.layout.vector
        assert isinstance(view.type, ViewType)
        last = len(view.type.shape) - 1
        return self.use(self.vectors.widest([view, *_along(tree, last)], view.type.shape[-1]))

    def row_reduction(self, anchor: Op, tree: Sequence[Node]) -> RowReduction:
        rows, columns = _shape(anchor.operands[0])
        along = list(_along(tree, INNER))
        # Where nothing is read along the row, a run saves no access, and lanes do more.
        vector = self.use(self.vectors.widest(along, columns)) if along else 1
        lanes = 1
        while lanes < LANES and self.kernel.threads % (lanes * 2) == 0:
            enough_threads = lanes * 2 * rows <= self.kernel.threads
            if not enough_threads or lanes * vector >= columns:
                break
            lanes *= 2
        return RowReduction(lanes, vector)

    def contraction(self, store: Op, dot: Op, tree: Sequence[Node]) -> Contraction:
        (rows, columns), (_, inner) = _shape(dot.result), _shape(dot.operands[0])
        tm, tn = self.thread_tile(rows, columns, dot)
        across = -(-columns // tn)
        dp4a, reason = self.dp4a(dot, inner)
        along = [store.operands[0], *_along(tree, 1)]
        # A run that does not divide the columns would cross into the next row.
        run = self.use(self.vectors.widest(along, gcd(tn, columns, 4 if dp4a else 16)))
        plan = Contraction(tm, tn, -(-rows // tm), across, dp4a, run)
        path = "dp4a" if dp4a else "FMA" if element_of(dot.result.type).is_float else "scalar"
        outputs = "1 output a thread" if tm * tn == 1 else f"{tm}x{tn} outputs a thread"
        self.decisions.append(Decision(dot.line, name_of(dot), f"{path}, {outputs}", reason))
        return plan

    def dp4a(self, dot: Op, inner: int) -> tuple[bool, str]:
        if dot.operands[0].type != TileType(I8, _shape(dot.operands[0])):
            return False, "tensor cores are for kernels with @tensorcore"
        if not dot.attrs["transposed"] or inner % 4:
            return False, f"dp4a takes four products at a time, and K = {inner} is no multiple of 4"
        if TARGETS[self.kernel.target].sm < LEAST_SM["dp4a"]:
            return False, f"{self.kernel.target} has no dp4a"
        return True, f"i8 operands, and K = {inner} is a multiple of 4"

    def thread_tile(self, rows: int, columns: int, dot: Op) -> tuple[int, int]:
        """The patch that costs a thread the least, of those whose sums fit its registers."""
        fixed = self.kernel.config.get("TILE_TM"), self.kernel.config.get("TILE_TN")
        words = 2 if dot.result.type == TileType(F64, (rows, columns)) else 1
        room = self.registers() - _REGISTERS_BESIDE

        def registers(tm: int, tn: int) -> int:
            return words * (tm * tn + _REGISTERS_PER_SIDE * (tm + tn))

        def cost(tile: tuple[int, int]) -> tuple[int, int]:
            """Products and elements read for each k, over the turns that it takes; then, the wider the better."""
            tm, tn = tile
            turns = -(-(-(-rows // tm) * -(-columns // tn)) // self.kernel.threads)
            whole = rows % tm == 0 and columns % tn == 0
            return turns * (tm * tn + (_READ_COST if whole else _CLAMPED_READ_COST) * (tm + tn)), -tn

        tall = [min(fixed[0], rows)] if fixed[0] else [s for s in _SIDES if s <= rows]
        wide = [min(fixed[1], columns)] if fixed[1] else [s for s in _SIDES if s <= columns]
        tiles = [(tm, tn) for tm in tall for tn in wide]
        return min([t for t in tiles if registers(*t) <= room] or tiles[-1:], key=cost)

    def registers(self) -> int:
        """What a thread may use, by the caps of `@launch` and by the register file."""
        blocks = self.kernel.min_blocks or 1
        return min(
            self.kernel.max_registers or MAX_REGISTERS_PER_THREAD,
            MAX_REGISTERS_PER_THREAD,
            REGISTERS_PER_SM // (self.kernel.threads * blocks),
        )


def _shape(value: Value) -> tuple[int, int]:
    assert isinstance(value.type, TileType)
    rows, columns = value.type.shape
    return rows, columns


def _along(tree: Sequence[Node], axis: int) -> Iterator[Value]:
    """The views whose last axis follows `axis` of the root (or what the anchor folds), so that runs are contiguous."""
    return (n.op.operands[0] for n in tree if n.op.name == "load" and n.axes[-1] == axis)
