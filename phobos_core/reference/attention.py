"""`warp_partial`: each warp's share of the keys of one decode step, by the definition, in f64 rounded to f32."""

from __future__ import annotations

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.language.targets import LANES
from phobos_core.reference.expressions import evaluate, index
from phobos_core.reference.frame import Frame, ReferenceFault
from phobos_core.reference.numerics import Array

# What a warp without keys leaves as its largest score.
NO_SCORE = -3.0e38


def warp_partial(node: p.WarpPartial, frame: Frame) -> None:
    q = _whole(node.q, frame).astype(np.float64)
    keys, values = _whole(node.keys, frame), _whole(node.values, frame)
    lo, hi, col = (index(each, frame) for each in (node.lo, node.hi, node.col))
    scale = float(frame.uniform(evaluate(node.scale, frame)))
    group, depth = q.shape
    warps = frame.threads // LANES
    share = -(-(hi - lo) // warps)
    maxima = np.full((group, warps), NO_SCORE)
    sums = np.zeros((group, warps))
    accumulators = np.zeros((group * warps, depth))
    for warp in range(warps):
        first = min(lo + warp * share, hi)
        last = min(first + share, hi)
        if last <= first:
            continue
        k = _part(node, node.keys, keys, first, last, col, depth)
        v = _part(node, node.values, values, first, last, col, depth)
        scores = scale * (q @ k.T)
        maxima[:, warp] = scores.max(axis=1)
        weights = np.exp(scores - maxima[:, [warp]])
        sums[:, warp] = weights.sum(axis=1)
        accumulators[warp::warps] = weights @ v
    for place, result in ((node.maxima, maxima), (node.sums, sums), (node.accumulators, accumulators)):
        window = frame.memory[place.root]
        window.write(result.astype(window.data.dtype))


def _whole(place: p.Place, frame: Frame) -> Array:
    return frame.memory[place.root].data


def _part(node: p.WarpPartial, place: p.Place, data: Array, first: int, last: int, col: int, depth: int) -> Array:
    """Rows first .. last of `depth` columns from `col`: they are not masked."""
    rows, columns = data.shape
    if first < 0 or last > rows or col < 0 or col + depth > columns:
        raise ReferenceFault(
            f"keys {first} to {last - 1}, columns {col} to {col + depth - 1}, are not all inside `{place.root.name}`,"
            f" [{rows}, {columns}]; `warp_partial` is not masked",
            node.span,
        )
    return data[first:last, col : col + depth].astype(np.float64)
