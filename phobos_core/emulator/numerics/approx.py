"""The approximate functions, computed in double and rounded, with the error the PTX ISA manual allows each.

The bounds are relative, or absolute where the manual gives them so. They matter only under a perturbation:
without one the result is the correctly rounded value, which lies within every bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phobos_core.emulator.numerics.rounding import F64


@dataclass(frozen=True, slots=True)
class Approximation:
    function: Callable[[F64], F64]
    relative: float
    absolute: float = 0.0


def _ulps(count: int) -> float:
    return count * 2.0**-23


def _reciprocal(a: F64) -> F64:
    return np.divide(1.0, a)


def _reciprocal_root(a: F64) -> F64:
    return np.divide(1.0, np.sqrt(a))


# By opcode and format.
APPROXIMATIONS: dict[tuple[str, str], Approximation] = {
    ("rcp", "f32"): Approximation(_reciprocal, _ulps(1)),
    ("rcp", "f64"): Approximation(_reciprocal, 2.0**-20),
    ("rsqrt", "f32"): Approximation(_reciprocal_root, 2.0**-22.9),
    ("rsqrt", "f64"): Approximation(_reciprocal_root, 2.0**-20),
    ("sqrt", "f32"): Approximation(np.sqrt, 2.0**-23),
    ("sin", "f32"): Approximation(np.sin, 0.0, 2.0**-20.5),
    ("cos", "f32"): Approximation(np.cos, 0.0, 2.0**-20.5),
    ("lg2", "f32"): Approximation(np.log2, 2.0**-22, 2.0**-22),
    ("ex2", "f32"): Approximation(np.exp2, 2.0**-22),
    ("ex2", "f16"): Approximation(np.exp2, 2.0**-9.9),
    ("ex2", "bf16"): Approximation(np.exp2, 2.0**-7),
    ("tanh", "f32"): Approximation(np.tanh, 2.0**-11),
    ("tanh", "f16"): Approximation(np.tanh, 0.0, 2.0**-10.987),
    ("tanh", "bf16"): Approximation(np.tanh, 0.0, 2.0**-8),
}

DIVISION_ERROR = _ulps(2)
HUGE_DIVISOR = 2.0**126


def divide_approximately(a: F64, b: F64) -> F64:
    """`div.approx`: a divisor above 2**126 gives zero, or NaN for an infinite dividend."""
    quotient = np.divide(a, b)
    huge = np.isfinite(b) & (np.abs(b) > HUGE_DIVISOR)
    return np.where(huge, a * np.copysign(0.0, b), quotient)
