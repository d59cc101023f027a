"""What a `reduce` does to elements: how the kinds fold, whichever threads do it.

In: a kind and the type of its operand. Out: a `Fold`; the state of a run of elements; states combined; the result in
its type. A sum of f16 or bf16 is kept in f32 and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from typing import TypeAlias

from phobos_core.codegen import index
from phobos_core.codegen.arithmetic import compare, extremum
from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.index import Coord
from phobos_core.ir.module import Op
from phobos_core.ir.types import element_of
from phobos_core.language.types import BF16, F16, F32, I32, ScalarType

State: TypeAlias = tuple[str, ...]
Combine: TypeAlias = Callable[[Context, State, State, int], State]


@dataclass(frozen=True, slots=True)
class Fold:
    """A kind of reduction of elements of type `operand`. A state is a tuple of operands, one for each of `elements`;
    `neutral` changes no other."""

    kind: str
    operand: ScalarType
    elements: tuple[ScalarType, ...]
    neutral: tuple[float, ...]
    combine: Combine


def fold_of(reduce: Op) -> Fold:
    kind, element = reduce.attrs["kind"], element_of(reduce.operands[0].type)
    match kind:
        case "sum":
            wide = F32 if element in (F16, BF16) else element
            return Fold(kind, element, (wide,), (0,), _sum(wide))
        case "max":
            return Fold(kind, element, (element,), (_least(element),), _maximum(element))
        case _:
            return Fold(kind, element, (element, I32), (_least(element), 2**31 - 1), _first_maximum(element))


def types(cg: Context, fold: Fold, width: int = 1) -> list[str]:
    return [cg.type(e, width) for e in fold.elements]


def neutral(cg: Context, fold: Fold, width: int = 1) -> State:
    return tuple(cg.constant(n, e, width) for n, e in zip(fold.neutral, fold.elements, strict=True))


def run_state(cg: Context, fold: Fold, operand: str, column: Coord, width: int, counts: str = "true") -> State:
    """The state of one run of a row, which begins at `column`. Unless `counts`, it must be a run that counts elsewhere:
    a maximum takes no notice of that, and a sum takes it as 0."""
    if fold.kind == "argmax":
        return operand, index.positions(cg, column, width)
    if fold.kind == "max":
        return (operand,)
    (element,) = fold.elements
    operand = convert(cg, operand, fold.operand, element, width)
    if counts != "true":
        zero, type = cg.constant(0, element, width), cg.type(element, width)
        operand = cg.writer.pure(f"select i1 {counts}, {type} {operand}, {type} {zero}")
    return (operand,)


def folded(cg: Context, fold: Fold, states: Iterable[State], width: int) -> State:
    """The fold of states of a width, as they come: a balanced tree of which few are kept at a time."""
    # Each with the height of its tree: they fall, as the digits of a number that counts the states.
    kept: list[tuple[int, State]] = []

    def join() -> None:
        (height, first), (_, second) = kept[-2:]
        kept[-2:] = [(height + 1, fold.combine(cg, first, second, width))]

    for state in states:
        kept.append((0, state))
        while len(kept) > 1 and kept[-1][0] == kept[-2][0]:
            join()
    while len(kept) > 1:
        join()
    return kept[0][1]


def across(cg: Context, fold: Fold, state: State, width: int) -> State:
    """Folds the columns that lie side by side, the first ones first."""
    lanes = [cg.lanes(operand, type, width) for operand, type in zip(state, types(cg, fold), strict=True)]
    states: list[State] = list(zip(*lanes, strict=True))
    while len(states) > 1:
        half = len(states) // 2
        states = [fold.combine(cg, states[i], states[i + half], 1) for i in range(half)]
    return states[0]


def result(cg: Context, fold: Fold, state: State, element: ScalarType) -> str:
    """The element that the `reduce` gives."""
    match fold.kind:
        case "sum":
            return convert(cg, state[0], fold.elements[0], element, 1)
        case "argmax" if fold.operand.is_float:
            # In a row of NaN no index is better than another, and lanes may have come to different ones.
            type = cg.type(fold.operand)
            nothing = cg.writer.pure(f"fcmp uno {type} {state[0]}, {state[0]}")
            return cg.writer.pure(f"select i1 {nothing}, i32 0, i32 {state[1]}")
        case _:
            return state[-1]


def _least(element: ScalarType) -> float:
    """What every maximum ignores."""
    return nan if element.is_float else -(1 << (element.bits - 1))


def _sum(element: ScalarType) -> Combine:
    def combine(cg: Context, a: State, b: State, width: int) -> State:
        add = "fadd" if element.is_float else "add"
        return (cg.writer.value(f"{add} {cg.type(element, width)} {a[0]}, {b[0]}"),)

    return combine


def _maximum(element: ScalarType) -> Combine:
    def combine(cg: Context, a: State, b: State, width: int) -> State:
        return (extremum(cg, "max", element, a[0], b[0], width),)

    return combine


def _first_maximum(element: ScalarType) -> Combine:
    """The larger value with its index, the smaller index on a tie; a NaN loses to any number."""

    def combine(cg: Context, a: State, b: State, width: int) -> State:
        w, type, flags = cg.writer, cg.type(element, width), f"<{width} x i1>" if width > 1 else "i1"
        wide = cg.type(I32, width)
        if element.is_float:
            above = w.pure(f"fcmp ugt {type} {b[0]}, {a[0]}")
            number = w.pure(f"fcmp ord {type} {b[0]}, {b[0]}")
            larger = w.pure(f"and {flags} {above}, {number}")
        else:
            larger = compare(cg, "gt", element, b[0], a[0], width)
        same = compare(cg, "eq", element, a[0], b[0], width)
        before = compare(cg, "lt", I32, b[1], a[1], width)
        earlier = w.pure(f"and {flags} {same}, {before}")
        taken = w.pure(f"or {flags} {larger}, {earlier}")
        return (
            w.pure(f"select {flags} {taken}, {type} {b[0]}, {type} {a[0]}"),
            w.pure(f"select {flags} {taken}, {wide} {b[1]}, {wide} {a[1]}"),
        )

    return combine
