"""The state of one CTA while the reference runs it, of the grid that it is part of, and what went wrong in it.

A scalar is an array of no axes where every thread has the same, and of one axis, the CTA's threads, where it differs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from phobos_core.analysis.program import Symbol
from phobos_core.analysis.symbolic import Sym
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array
from phobos_core.syntax.ast import Span

FaultCode = Literal["out-of-bounds", "endless-loop", "deadlock", "divergent-barrier", "divergent-collective"]


class ReferenceFault(Exception):
    """The program did something that has no meaning. `span` is relative to the kernel item."""

    def __init__(self, message: str, span: Span, code: FaultCode = "out-of-bounds") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.code = code


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the spec leaves unspecified happened, such as an integer division by zero."""

    message: str
    span: Span


@dataclass(slots=True)
class Grid:
    """What the blocks of a launch share. `changes` counts the stores that changed a byte, by which a block that waits
    sees whether anything happened; `arrived` has the blocks at each grid barrier, and `rounds` how often all came."""

    blocks: int
    changes: int = 0
    arrived: dict[Symbol, int] = field(default_factory=dict)
    rounds: dict[Symbol, int] = field(default_factory=dict)


@dataclass(slots=True)
class Loop:
    """The threads that left an iteration, or the loop, by a jump under control that differs between them."""

    broken: Array
    continued: Array


@dataclass(slots=True)
class Frame:
    """`integers` holds the names and symbol keys that extents may use; `ctx` the fields of ctx that are known.

    `active` has the threads that run the statement at hand, None under uniform control: then all of them do.
    `effectful` has, by identity, the nodes that an effect stands in.
    """

    index_bits: int
    ctx: dict[str, int]
    integers: dict[str, int]
    grid: Grid
    threads: int
    effectful: frozenset[int] = frozenset()
    scalars: dict[Symbol, Array] = field(default_factory=dict)
    memory: dict[Symbol, Window] = field(default_factory=dict)
    remarks: dict[Remark, None] = field(default_factory=dict)
    active: Array | None = None
    returned: Array | None = None
    loops: list[Loop] = field(default_factory=list)

    def extent(self, value: Sym) -> int:
        return value.evaluate(self.integers)

    @property
    def running(self) -> Array:
        """The threads that run, as a mask in any case."""
        return np.ones(self.threads, np.bool_) if self.active is None else self.active

    def spread(self, value: Array) -> Array:
        """One value for each thread."""
        return np.broadcast_to(value, (self.threads,))

    def remark(self, message: str, span: Span) -> None:
        self.remarks[Remark(message, span)] = None

    def of_running(self, value: Array) -> Array:
        """The part of a value, the threads on its last axis, that belongs to threads that run."""
        if self.active is None or value.ndim == 0 or value.shape[-1] != self.threads:
            return value
        return value[..., self.active]

    def uniform(self, value: Array) -> Array:
        """A value that is the same in every thread that runs, without its axis of threads."""
        return value if value.ndim == 0 else np.asarray(self.of_running(value)[..., 0])
