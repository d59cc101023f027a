"""Collectives and shuffles: one value per thread in, and what the threads of a group make of them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.language.targets import LANES
from phobos_core.reference import numerics
from phobos_core.reference.frame import Frame, ReferenceFault
from phobos_core.reference.numerics import Array

# A fold of the user's: two values per thread to one.
Combine = Callable[[Array, Array], Array]


def collective(node: p.Collective, value: Array, frame: Frame, combine: Combine | None) -> Array:
    """The fold, a value per thread over lanes and one for all over the CTA."""
    _whole_groups(node, frame)
    each = frame.spread(value)
    if combine is not None:
        return _combined(node, each, frame, combine)
    width = LANES if node.width is None else frame.extent(node.width)
    if node.group == "thread":
        return np.asarray(FOLD[node.op](each.reshape(1, -1))[0])
    return np.repeat(FOLD[node.op](each.reshape(-1, width)), width)


def _sum(rows: Array) -> Array:
    return numerics.row_sum(rows)[:, 0]


def _extremum(function: np.ufunc) -> Callable[[Array], Array]:
    return lambda rows: np.asarray(function.reduce(rows, axis=1))


def _argmax(rows: Array) -> Array:
    return numerics.row_argmax(rows)[:, 0]


FOLD: Mapping[str, Callable[[Array], Array]] = {
    "sum": _sum,
    "max": _extremum(np.fmax),
    "min": _extremum(np.fmin),
    "any": lambda rows: np.asarray(rows.any(axis=1)),
    "all": lambda rows: np.asarray(rows.all(axis=1)),
    "argmax": _argmax,
}


def _combined(node: p.Collective, value: Array, frame: Frame, combine: Combine) -> Array:
    """A butterfly over the lanes, and over the CTA one warp's result after another."""
    width = LANES if node.width is None else frame.extent(node.width)
    lanes = np.arange(frame.threads)
    distance = width // 2
    while distance:
        value = frame.spread(combine(value, value[lanes ^ distance]))
        distance //= 2
    if node.group == "lane":
        return value
    total = value[:LANES]
    folded = np.tile(total, frame.threads // LANES)
    for warp in range(1, frame.threads // LANES):
        other = value[warp * LANES : (warp + 1) * LANES]
        folded = frame.spread(combine(folded, np.tile(other, frame.threads // LANES)))
    return np.asarray(folded[0])


def shuffle(node: p.Shuffle, value: Array, source: Array, frame: Frame) -> Array:
    """Each lane's value is that of its source, or its own where the source is outside the piece."""
    _whole_groups(node, frame)
    each, given = frame.spread(value), frame.spread(source).astype(np.int64)
    width = LANES if node.width is None else frame.extent(node.width)
    threads = np.arange(frame.threads)
    lane = threads % width
    match node.mode:
        case "from":
            wanted = given
        case "xor":
            wanted = lane ^ given
        case "down":
            wanted = lane + given
        case "up":
            wanted = lane - given
    inside = (wanted >= 0) & (wanted < width)
    return np.asarray(each[threads - lane + np.where(inside, wanted, lane)])


def _whole_groups(node: p.Collective | p.Shuffle, frame: Frame) -> None:
    """Raises ReferenceFault where some threads of a group run and others do not."""
    if frame.active is None:
        return
    if isinstance(node, p.Collective) and node.group == "thread":
        if not frame.active.all():
            raise ReferenceFault(
                "a fold over the CTA that some threads do not reach", node.span, "divergent-collective"
            )
        return
    warps = frame.active.reshape(-1, LANES)
    partial = warps.any(axis=1) & ~warps.all(axis=1)
    if partial.any():
        warp = int(np.argmax(partial))
        missing = int(np.argmin(warps[warp]))
        raise ReferenceFault(
            f"lane {missing} of warp {warp} does not reach this, and the other lanes need it",
            node.span,
            "divergent-collective",
        )
