"""Approximate results moved within their documented error, to find kernels that lean on more accuracy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.numerics.rounding import F64


@dataclass(slots=True)
class Perturbation:
    enabled: bool
    seed: int
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def apply(self, value: F64, relative: float, absolute: float = 0.0) -> F64:
        """The value moved by a random part of its error bound; zeros, infinities and NaN stay."""
        if not self.enabled:
            return value
        value = np.asarray(value)
        amount = self._random.uniform(-1.0, 1.0, value.shape)
        moved = value + amount * np.maximum(np.abs(value) * relative, absolute)
        return np.where(np.isfinite(value) & (value != 0), moved, value)
