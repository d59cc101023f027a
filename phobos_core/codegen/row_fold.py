"""A `reduce` of what registers hold: each thread folds its part of each row, then the lanes that share the row.

In: a store or a hold whose tree has a `reduce`, and its schedule. All threads shuffle, those without a patch with what
changes nothing. The rest of the tree is evaluated at the rows: by all threads where it is held, by the first of each
fold where it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phobos_core.codegen import index
from phobos_core.codegen.context import Context
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.fold import Fold, State, across, fold_of, folded, neutral, result, run_state, types
from phobos_core.codegen.patches import (
    Given,
    Patch,
    in_registers,
    patch_of,
    pieces_of,
    runs_if,
    runs_of,
    store_patch,
    turns,
)
from phobos_core.codegen.shuffle import butterfly
from phobos_core.codegen.tree import anchor_of
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import RowFold
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES


def row_fold(cg: Context, op: Op, schedule: RowFold) -> None:
    value = op.operands[1 if op.name == "store" else 0]
    reduce = anchor_of(cg, value)
    assert reduce is not None
    held: list[str] = []
    for turn, number, condition in turns(cg, schedule.layout):
        patch = patch_of(cg, schedule.layout, _shape(reduce.operands[0]), number, turn)
        sums = _sums(cg, reduce, patch, condition, schedule.vector)
        held += _rest(cg, op, value, _rows_of(cg, patch), condition, {reduce.result: sums})
    if op.name == "hold":
        cg.registers[op.result] = held


def _rest(cg: Context, op: Op, value: Value, rows: Patch, condition: str, sums: Given) -> list[str]:
    """Stores what the tree makes of the sums, or gives what is to be held."""
    (reduce,) = sums

    def given() -> Given:
        return {**in_registers(cg, value, rows, but_below=reduce), **sums}

    if op.name == "hold":
        return runs_if(cg, op.result, condition, lambda: runs_of(cg, value, rows, 1, given()))
    with cg.writer.guarded(condition):
        store_patch(cg, cg.windows[op.operands[0]], value, rows, 1, given())
    return []


def _rows_of(cg: Context, patch: Patch) -> Patch:
    """The places of the folds: a row of patches wider than a warp has several, side by side."""
    layout = patch.layout
    part, lane = index.divided(cg, patch.column, min(layout.columns, LANES))
    first = index.less(cg, index.operand(cg, lane), 1)
    return replace(patch, layout=layout.row_layout.patches, columns=(part,), column_inside=(first,))


def _sums(cg: Context, reduce: Op, patch: Patch, condition: str, vector: int) -> list[str]:
    """What the `reduce` gives for each row of a patch, of those that `condition` holds for."""
    fold, layout = fold_of(reduce), patch.layout
    nothing = [*neutral(cg, fold)] * layout.tm
    each = cg.writer.either(
        condition, types(cg, fold) * layout.tm, nothing, lambda: _own(cg, reduce.operands[0], fold, patch, vector)
    )
    size = len(fold.elements)
    states: list[State] = [tuple(each[i : i + size]) for i in range(0, len(each), size)]
    lanes = min(layout.columns, LANES)
    states = butterfly(cg, fold.elements, fold.combine, states, lanes, cg.kernel.threads)
    return [result(cg, fold, state, element_of(reduce.result.type)) for state in states]


def _own(cg: Context, operand: Value, fold: Fold, patch: Patch, vector: int) -> list[str]:
    """The states of the rows of a patch one after the other, each folded over the patch's columns."""
    evaluation, given = Evaluation(cg), in_registers(cg, operand, patch)
    places, width = list(enumerate(patch.places(cg))), len(patch.columns)

    def states(row: int) -> Iterator[State]:
        for number, (place, _) in places[row * width : (row + 1) * width]:
            for (_, start), piece in pieces_of(cg, evaluation, operand, patch, place, number, vector, given):
                yield run_state(cg, fold, piece, start, vector, patch.column_inside[number % width])

    return [
        e for row in range(len(patch.rows)) for e in across(cg, fold, folded(cg, fold, states(row), vector), vector)
    ]


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape
