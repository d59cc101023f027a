"""Chooses which thread writes which element of each store, and the width of its accesses.

In: stores whose trees hold at most one anchor (`materialize`). Out: each store has a `schedule`: a `Contraction` for
a `dot`, a `RowReduction` for a `reduce`, a `ColumnScan` for a `cumsum`, else a `Sweep`. The path of each contraction
is a decision; an access width that leans on the assumed divisor of an extent adds a requirement of the launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from phobos_core.ir.divisors import Vectors, Width
from phobos_core.ir.module import Decision, Kernel, Op, Requirement, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index, indexed, rewrite, with_attrs
from phobos_core.ir.schedule import (
    ColumnScan,
    Contraction,
    PatchSweep,
    RowFold,
    RowReduction,
    RowSweep,
    Schedule,
    Sweep,
)
from phobos_core.ir.tree import INNER, Node, buffer_of, held, nodes
from phobos_core.ir.types import Cyclic, Layout, Patches, Rows, TileType, ViewType, element_of
from phobos_core.language.targets import LANES, LEAST_SM, TARGETS
from phobos_core.language.types import I8
from phobos_core.passes import pairs
from phobos_core.passes.materialize import name_of
from phobos_core.passes.thread_tiles import (
    along,
    asked_warp,
    contractions_of,
    covers,
    patches_of,
    row_run,
    shape_of,
    thread_tile,
    warp_columns,
)
from phobos_core.passes.turned import copy_layout


def schedule(kernel: Kernel) -> Kernel:
    planner = _Planner(kernel, indexed(kernel.body))
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
    paired: Mapping[Op, tuple[Width, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = Vectors(self.kernel, self.index)
        self.paired = pairs.stores(self.kernel, self.index, self.vectors)

    def requirements(self) -> list[Requirement]:
        return self.vectors.requirements(sorted(self.relied_on))

    def visit(self, op: Op) -> Sequence[Op] | None:
        if op.name not in ("store", "hold") or "schedule" in op.attrs:
            return None
        return [with_attrs(op, schedule=self.choose(op))]

    def choose(self, op: Op) -> Schedule:
        view, tile = (op.operands[0], op.operands[1]) if op.name == "store" else (None, op.operands[0])
        tree = list(nodes(self.index, tile))
        anchor = next((n.op for n in tree if OPS[n.op.name].anchor), None)
        layout = self.layout(op, tile)
        match anchor.name if anchor else "":
            case "dot":
                assert anchor is not None
                return self.contraction(view, anchor, tree, layout)
            case "reduce":
                assert anchor is not None
                return self.fold(anchor, tree, layout)
            case "cumsum":
                return ColumnScan()
        match layout:
            case Rows() if shape_of(tile)[1] == 1:
                return RowSweep(layout)
            case Rows():
                columns = shape_of(tile)[1]
                patches = patches_of(layout, columns, self.widest(view, tree, columns).vector)
                return PatchSweep(patches, self.vector(view, tree, patches.vector))
            case Patches() if self.walks_down(tree) and layout.height > 1:
                return PatchSweep(layout, 1, down=True)
            case Patches():
                return PatchSweep(layout, self.vector(view, tree, layout.vector))
            case Cyclic():
                return Sweep(layout.vector, layout.first)
            case None if op in self.paired:
                width, first = self.paired[op]
                return Sweep(self.use(width), first)
            case None:
                assert view is not None
                return self.turned(view, tree) or self.sweep(view, tree)

    def sweep(self, view: Value, tree: Sequence[Node]) -> Sweep:
        return Sweep(self.use(self.for_all(view, self.widest(view, tree, _view_shape(view)[-1]))))

    def for_all(self, view: Value, width: Width) -> Width:
        """The width of a copy of what large contractions read, which all threads wait for."""
        alloc = self.index.defining(buffer_of(self.index, view), "alloc")
        if alloc is None or not any(covers(self.kernel, dot) for dot in contractions_of(self.index, alloc)):
            return width
        return width.for_all(prod(_view_shape(view)), element_of(view.type).bytes, self.kernel.threads)

    def walks_down(self, tree: Sequence[Node]) -> bool:
        """Whether what is read lies contiguous down the columns."""
        return any(along(tree, 0)) and not any(along(tree, 1))

    def turned(self, view: Value, tree: Sequence[Node]) -> PatchSweep | None:
        """Of a store to shared memory of what tensors hold transposed, in runs of theirs."""
        alloc = self.index.defining(buffer_of(self.index, view), "alloc")
        if alloc is None or len(_view_shape(view)) != 2 or not self.walks_down(tree):
            return None
        views = list(along(tree, 0))
        if any(buffer_of(self.index, v) in self.index.definition for v in views):
            return None
        rows, columns = _view_shape(view)
        run = self.for_all(view, self.vectors.widest(views, rows))
        if run.vector == 1:
            return None
        pitch = alloc.attrs.get("pitch") or columns
        size = element_of(alloc.results[0].type).bytes
        layout = copy_layout(self.kernel.threads, (rows, columns), self.use(run), pitch, size)
        return PatchSweep(layout, 1, down=True)

    def layout(self, op: Op, tile: Value) -> Layout | None:
        """The one in which registers hold what is made, read or (by a `reduce`) folded; they fix which thread has which
        element. `Rows` where they fix no more than the rows."""
        values = [*held(self.index, tile), *(op.results if op.name == "hold" else ())]
        layouts = {v.type.layout for v in values if isinstance(v.type, TileType)}
        patches = [layout for layout in layouts if not isinstance(layout, Rows)]
        assert len(patches) <= 1
        return patches[0] if patches else next(iter(layouts), None)

    def use(self, width: Width) -> int:
        self.relied_on.update(width.relies_on)
        return width.vector

    def vector(self, view: Value | None, tree: Sequence[Node], extent: int) -> int:
        """The widest run along the last axis that all accesses allow, those to `view` included."""
        return self.use(self.widest(view, tree, extent))

    def widest(self, view: Value | None, tree: Sequence[Node], extent: int) -> Width:
        last = len(tree[0].axes) - 1 if tree else len(_view_shape(view)) - 1
        return self.vectors.widest([*([view] if view else []), *along(tree, last)], extent)

    def fold(self, anchor: Op, tree: Sequence[Node], layout: Layout | None) -> RowFold | RowSweep | RowReduction:
        rows, columns = shape_of(anchor.operands[0])
        if layout is None and "parts" in anchor.attrs:
            # What is folded is in memory, so that any grid will do.
            lanes = LANES * anchor.attrs["parts"]
            tm = -(-rows * lanes // self.kernel.threads)
            layout = Rows(self.kernel.threads, tm, -(-rows // tm), lanes)
        match layout:
            case Rows() if layout.columns > LANES and "parts" not in anchor.attrs:
                return RowSweep(layout)
            case Patches() | Rows():
                views = list(along(tree, INNER))
                width = self.vectors.widest(views, columns)
                patches = patches_of(layout, columns, width.vector) if isinstance(layout, Rows) else layout
                return RowFold(patches, self.use(self.vectors.widest(views, patches.vector)))
            case _:
                return self.row_reduction(anchor, tree)

    def row_reduction(self, anchor: Op, tree: Sequence[Node]) -> RowReduction:
        rows, columns = shape_of(anchor.operands[0])
        views = list(along(tree, INNER))
        # Where nothing is read along the row, a run saves no access, and lanes do more.
        vector = self.use(self.vectors.widest(views, columns)) if views else 1
        lanes = 1
        while lanes < LANES and self.kernel.threads % (lanes * 2) == 0:
            enough_threads = lanes * 2 * rows <= self.kernel.threads
            if not enough_threads or lanes * vector >= columns:
                break
            lanes *= 2
        return RowReduction(lanes, vector)

    def contraction(self, view: Value | None, dot: Op, tree: Sequence[Node], layout: Layout | None) -> Contraction:
        (rows, columns), (_, inner) = shape_of(dot.result), shape_of(dot.operands[0])
        dp4a, reason = self.dp4a(dot, inner)
        match layout:
            case Patches():
                tm, tn, widest = layout.tm, layout.tn, layout.vector
                grid = layout.row_layout
            case Rows():
                tm, tn = layout.tm, -(-columns // layout.columns)
                grid = layout
            case _:
                tm, tn = thread_tile(self.kernel, dot)
                height, across = row_run(self.index, [dot], tm), warp_columns(self.kernel, (tm, tn), (rows, columns))
                grid = Rows(self.kernel.threads, tm, -(-rows // tm), -(-columns // tn), height, across)
        if not isinstance(layout, Patches):
            # A run that does not divide the columns would cross into the next row.
            widest = gcd(tn, columns, 4 if dp4a else 16)
        run = self.vector(view, tree, widest)
        assert not isinstance(layout, Patches) or run == widest
        plan = Contraction(tm, tn, grid.rows, grid.columns, dp4a, run, grid.height, grid.across)
        path = "dp4a" if dp4a else "FMA" if element_of(dot.result.type).is_float else "scalar"
        outputs = "1 output a thread" if tm * tn == 1 else f"{tm}x{tn} outputs a thread"
        warps, left = self.warps(grid, tn)
        reason = "; ".join([reason, *left])
        self.decisions.append(Decision(dot.line, name_of(dot), ", ".join([path, outputs, *warps]), reason))
        return plan

    def warps(self, grid: Rows | Patches, tn: int) -> tuple[list[str], list[str]]:
        """What WARP_M and WARP_N come to, or why to nothing."""
        asked = [f"{name} = {n}" for name, n in zip(("WARP_M", "WARP_N"), asked_warp(self.kernel), strict=True) if n]
        if grid.across:
            warp = LANES // grid.across * grid.tm, grid.across * tn
            meant = all(n in (None, own) for n, own in zip(asked_warp(self.kernel), warp, strict=True))
            why = f"{' and '.join(asked)} for the wider product that it shares its threads' places with"
            return [f"{warp[0]}x{warp[1]} a warp"], [] if meant else [why]
        makes = "makes" if len(asked) == 1 else "make"
        why = f"no whole warps of {LANES} patches of {grid.tm}x{tn}, or a row of them is reduced across threads"
        return [], [f"{' and '.join(asked)} {makes} {why}"] if asked else []

    def dp4a(self, dot: Op, inner: int) -> tuple[bool, str]:
        if dot.operands[0].type != TileType(I8, shape_of(dot.operands[0])):
            return False, "tensor cores are for kernels with @tensorcore"
        if not dot.attrs["transposed"] or inner % 4:
            return False, f"dp4a takes four products at a time, and K = {inner} is no multiple of 4"
        if TARGETS[self.kernel.target].sm < LEAST_SM["dp4a"]:
            return False, f"{self.kernel.target} has no dp4a"
        return True, f"i8 operands, and K = {inner} is a multiple of 4"


def _view_shape(view: Value | None) -> tuple[int, ...]:
    assert view is not None
    assert isinstance(view.type, ViewType)
    return view.type.shape
