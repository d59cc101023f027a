"""Places of the source as memory: the window of a slice, the buffer and the indices of an element or of a run."""

from __future__ import annotations

from phobos_core.analysis import program as p
from phobos_core.ir.module import Value
from phobos_core.lower import windows
from phobos_core.lower.context import Context
from phobos_core.lower.windows import Cut, Window


def window_of(c: Context, place: p.Place) -> Window:
    """The window of a place; its subscripts are evaluated here."""
    window = c.window(place.root, place.span)
    if place.flat:
        window = _flattened(c, window)
    if place.axes is None:
        return window
    return windows.cut(c.emit, window, [_cut(c, axis) for axis in place.axes])


def point_of(c: Context, place: p.Place) -> tuple[Window, list[Value]]:
    """The buffer and the indices of one element, or of the first of a run."""
    window = c.window(place.root, place.span)
    if place.flat:
        window = _flattened(c, window)
    assert place.axes is not None
    starts = [c.lower(c, axis.start) for axis in place.axes]
    return window, [c.emit.add(axis.offset, start) for axis, start in zip(window.axes, starts, strict=True)]


def _flattened(c: Context, window: Window) -> Window:
    mem = c.emit.build.flat(window.mem)
    rows, columns = (axis.extent for axis in window.axes)
    return windows.root(c.emit, mem, window.base, [c.emit.index(1), c.emit.binary("mul", rows, columns)], [1, 1])


def _cut(c: Context, axis: p.Axis) -> Cut:
    return Cut(c.lower(c, axis.start), c.symbolic(axis.extent), axis.unmasked)
