"""Buffers and windows onto them: what a place of the source denotes while the kernel runs.

A window is a start and an extent per axis of a buffer, and the range of indices that exist for it: a slice of a view
is masked by the view's extent and by the tensor's. Reading outside gives 0, writing outside does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phobos_core.reference.numerics import Array


@dataclass(frozen=True, slots=True)
class AxisWindow:
    """Elements start <= i < start + extent of a buffer's axis, of which those in lower <= i < upper exist."""

    start: int
    extent: int
    lower: int
    upper: int

    def sliced(self, start: int, extent: int) -> AxisWindow:
        """The elements start .. start + extent of this window, masked by both."""
        return AxisWindow(
            self.start + start,
            max(extent, 0),
            max(self.lower, self.start),
            min(self.upper, self.start + self.extent),
        )

    @property
    def present(self) -> slice:
        """The part of the buffer's axis that is both selected and existing."""
        low = max(self.start, self.lower)
        return slice(low, max(low, min(self.start + self.extent, self.upper)))

    @property
    def landing(self) -> slice:
        """Where `present` lies inside the window."""
        return slice(self.present.start - self.start, self.present.stop - self.start)


@dataclass(frozen=True, slots=True)
class Window:
    data: Array
    axes: tuple[AxisWindow, ...]

    @staticmethod
    def whole(data: Array) -> Window:
        return Window(data, tuple(AxisWindow(0, n, 0, n) for n in data.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(a.extent for a in self.axes)

    @property
    def is_inside(self) -> bool:
        """Every selected element exists."""
        return all(a.lower <= a.start and a.start + a.extent <= a.upper for a in self.axes)

    def flat(self) -> Window:
        """A whole tile [R, C] as [1, R * C] over the same bytes."""
        return Window.whole(self.data.reshape(1, -1))

    def sliced(self, selections: list[tuple[int, int]]) -> Window:
        """One (start, extent) per axis."""
        axes = tuple(a.sliced(s, n) for a, (s, n) in zip(self.axes, selections, strict=True))
        return replace(self, axes=axes)

    def read(self) -> Array:
        present = self.data[tuple(a.present for a in self.axes)]
        if self.is_inside:
            return present.copy()
        result = np.zeros(self.shape, self.data.dtype)
        result[tuple(a.landing for a in self.axes)] = present
        return result

    def write(self, value: Array) -> None:
        """`value` broadcasts to the window's shape and has its element type."""
        whole = np.broadcast_to(value, self.shape)
        self.data[tuple(a.present for a in self.axes)] = whole[tuple(a.landing for a in self.axes)]
