"""A `cumsum` down the columns: each thread walks down its own, the sum in a register.

f16 and bf16 are summed in f32 and rounded at each element. A few rows are read ahead of their sums, so that the
loads do not wait for each other.
"""

from __future__ import annotations

from phobos_core.codegen import index
from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.index import Coord
from phobos_core.codegen.sweep import store_run
from phobos_core.codegen.tree import anchor_of, cost
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op
from phobos_core.ir.types import TileType
from phobos_core.language.types import BF16, F16, F32, ScalarType

_BUDGET = 96
_AHEAD = 8


def column_scan(cg: Context, op: Op) -> None:
    columns, threads = cg.windows[op.operands[0]].shape[1], cg.kernel.threads
    full, tail = divmod(columns, threads)
    thread = index.thread(cg)
    if full == 1:
        _column(cg, op, thread)
    elif full > 1:
        loop = cg.writer.open_loop(["i32"], ["0"])
        turn = Coord(loop.names[0], 0, full)
        _column(cg, op, index.total(cg, thread, index.scaled(cg, turn, threads)))
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, 1")
        again = cg.writer.value(f"icmp ult i32 {following}, {full}")
        cg.writer.close_loop(loop, again, [following], ROLLED)
    if tail:
        with cg.writer.guarded(index.less(cg, cg.thread, tail)):
            _column(cg, op, thread._replace(limit=tail).plus(full * threads))


def _column(cg: Context, op: Op, column: Coord) -> None:
    view, value, _ = op.operands
    scan = anchor_of(cg, value)
    assert scan is not None
    assert isinstance(scan.results[0].type, TileType)
    rows, element = cg.windows[view].shape[0], scan.results[0].type.element
    wide = F32 if element in (F16, BF16) else element
    ahead, each = _AHEAD, cost(cg, scan.operands[0], 1) + cost(cg, value, 1)
    while ahead > 1 and (ahead > rows or ahead * each > cg.unrolled(_BUDGET)):
        ahead //= 2
    turns, rest = divmod(rows, ahead)
    total = cg.constant(0.0, wide)
    if turns > 1:
        loop = cg.writer.open_loop(["i32", cg.type(wide)], ["0", total])
        start = Coord(loop.names[0], 0, turns * ahead, ahead)
        total = _rows(cg, op, scan, wide, [start.plus(i) for i in range(ahead)], column, loop.names[1])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {ahead}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * ahead}")
        cg.writer.close_loop(loop, again, [following, total], ROLLED)
    else:
        rest += turns * ahead
        turns = 0
    if rest:
        first = turns * ahead
        _rows(cg, op, scan, wide, [index.fixed(first + i) for i in range(rest)], column, total)


def _rows(cg: Context, op: Op, scan: Op, wide: ScalarType, rows: list[Coord], column: Coord, total: str) -> str:
    """Adds these rows to the total, storing what the tree makes of each sum; the new total."""
    view, value, _ = op.operands
    (source,) = scan.operands
    assert isinstance(source.type, TileType)
    element = source.type.element
    evaluation = Evaluation(cg)
    terms = [evaluation.at(source, (row, column), 1) for row in rows]
    results = []
    for row, term in zip(rows, terms, strict=True):
        total = cg.writer.value(f"fadd {cg.type(wide)} {total}, {convert(cg, term, element, wide, 1)}")
        evaluation.give(scan.results[0], (row, column), 1, convert(cg, total, wide, element, 1))
        results.append(evaluation.at(value, (row, column), 1))
    for row, result in zip(rows, results, strict=True):
        store_run(cg, cg.windows[view], (row, column), result, 1)
    return total
