"""Elements that threads read and write one by one: points, and runs of them.

A position is an array for each axis of the buffer: of no axes where every thread has the same, else with the CTA's
threads on its last axis. A run puts its elements on the axis before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.reference import numerics
from phobos_core.reference.frame import Frame, ReferenceFault
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array, dtype_of

Position = tuple[Array, ...]


def position(place: p.Place, base: Window, starts: list[Array], frame: Frame) -> Position:
    """Where the elements of a place are in its buffer. Raises ReferenceFault where a thread that runs leaves it: a
    point and a run are not masked."""
    assert place.axes is not None
    found = []
    for axis, start, subscript in zip(base.axes, starts, place.axes, strict=True):
        index = np.asarray(start, np.int64) + axis.start
        if not subscript.point:
            index = index + np.arange(frame.extent(subscript.extent)).reshape(-1, 1)
        found.append(index)
    outside = np.zeros((), np.bool_)
    for axis, index in zip(base.axes, found, strict=True):
        outside = outside | (index < axis.lower) | (index >= axis.upper)
    if frame.of_running(outside).any():
        _left(place, base, found, outside, frame)
    # Threads that do not run read something, and use nothing of it.
    return tuple(np.where(outside, 0, index) for index in found)


def _left(place: p.Place, base: Window, found: list[Array], outside: Array, frame: Frame) -> None:
    wrong = outside & frame.active if frame.active is not None and outside.ndim else outside
    where = tuple(int(n) for n in np.argwhere(np.broadcast_to(wrong, np.broadcast_shapes(wrong.shape, (1,))))[0])
    at = ", ".join(str(int(np.broadcast_to(index, wrong.shape or (1,))[where])) for index in found)
    extents = ", ".join(str(n) for n in base.data.shape)
    who = f" (thread {where[-1]})" if wrong.ndim and wrong.shape[-1] == frame.threads else ""
    kind = "a point" if all(axis.point for axis in place.axes or ()) else "a run"
    raise ReferenceFault(f"`{place.root.name}[{at}]` is outside [{extents}]{who}; {kind} is not masked", place.span)


def read(base: Window, at: Position, type: Any, frame: Frame) -> Array:
    """The elements, integers widened to index."""
    return numerics.convert(np.asarray(base.data[at]), dtype_of(type, frame.index_bits))


def store_once(base: Window, at: Position, value: Array, stmt: p.StorePoint, frame: Frame) -> None:
    """The CTA stores one value."""
    where = tuple(int(frame.uniform(index)) for index in at)
    before = np.asarray(base.data[where]).copy()
    one = frame.uniform(value)
    base.data[where] = np.add(before, one) if stmt.accumulate else one
    if not same(before, np.asarray(base.data[where])):
        frame.grid.changes += 1


def store(base: Window, at: Position, value: Array, stmt: p.StorePoint | p.StoreRun, frame: Frame) -> None:
    """Each thread that runs stores its own, in the order of the threads."""
    accumulate = isinstance(stmt, p.StorePoint) and stmt.accumulate
    shape = np.broadcast_shapes(value.shape, *(index.shape for index in at), (frame.threads,))
    where = tuple(_thread_by_thread(index, shape, frame) for index in at)
    stored = _thread_by_thread(value, shape, frame)
    if accumulate:
        stored = np.add(base.data[where], stored)
    before = base.data[where]
    base.data[where] = stored
    after = base.data[where]
    if not same(before, after):
        frame.grid.changes += 1
    flat = np.ravel_multi_index(where, base.data.shape)
    shared = accumulate and np.unique(flat).size < flat.size
    if shared or not same(after, stored):
        frame.remark(
            f"several threads store to one element of `{stmt.place.root.name}`, and which of them is last is"
            " unspecified",
            stmt.span,
        )


def _thread_by_thread(value: Array, shape: tuple[int, ...], frame: Frame) -> Array:
    """Of the threads that run, in the order in which they store: NumPy assigns in the order of memory."""
    return frame.of_running(np.broadcast_to(value, shape)).T.ravel()


def same(a: Array, b: Array) -> bool:
    """Byte by byte, so that a NaN equals itself."""
    return a.tobytes() == b.tobytes()
