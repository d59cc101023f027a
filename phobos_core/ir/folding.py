"""What the integer ops give on constants, and which constants leave the other operand as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phobos_core.analysis.symbolic import truncated_division, truncated_remainder

# Before wrapping to the type. `div` and `rem` by 0 have no value.
ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "div": truncated_division,
    "rem": truncated_remainder,
}

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

# x op c = x, and c op x = x where the op commutes.
NEUTRAL: Mapping[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "shl": 0, "shr": 0, "or": 0, "xor": 0}
COMMUTATIVE = frozenset({"add", "mul", "or", "xor"})
