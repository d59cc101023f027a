"""Whether something holds in each thread, as far as that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import and_

from phobos_core.report.accesses.forms import Vector, combined, mapped

# No, yes, not known but the same in all threads, not known.
NO, YES, SHARED, MAYBE = range(4)


def negated(holds: int) -> int:
    return 1 - holds if holds <= YES else holds


def both(a: Vector, b: Vector) -> Vector:
    """Whether both hold."""
    if b == YES or a == NO:
        return a
    if a == YES or b == NO:
        return b
    return combined(and_ if decided(a) and decided(b) else _both, a, b)


def decided(holds: Vector) -> bool:
    """Whether it is known of each thread."""
    return (holds if isinstance(holds, int) else max(holds)) <= YES


def _both(a: int, b: int) -> int:
    return NO if NO in (a, b) else max(a, b)


def _either(a: int, b: int) -> int:
    return YES if YES in (a, b) else max(a, b)


def _differ(a: int, b: int) -> int:
    return a ^ b if max(a, b) <= YES else max(a, b)


LOGIC: Mapping[str, Callable[[Sequence[Vector]], Vector]] = {
    "and": lambda of: both(*of),
    "or": lambda of: combined(_either, *of),
    "xor": lambda of: combined(_differ, *of),
    "not": lambda of: mapped(negated, of[0]),
    "mov": lambda of: of[0],
}
