"""The state of one CTA while the reference runs it, and what went wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from phobos_core.analysis.program import Symbol
from phobos_core.analysis.symbolic import Sym
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array
from phobos_core.syntax.ast import Span


class ReferenceFault(Exception):
    """The program did something that has no meaning. `span` is relative to the kernel item."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the spec leaves unspecified happened, such as an integer division by zero."""

    message: str
    span: Span


@dataclass(slots=True)
class Frame:
    """`integers` holds the names and symbol keys that extents may use; `ctx` the fields of ctx that are known."""

    index_bits: int
    ctx: dict[str, int]
    integers: dict[str, int]
    scalars: dict[Symbol, Array] = field(default_factory=dict)
    memory: dict[Symbol, Window] = field(default_factory=dict)
    remarks: dict[Remark, None] = field(default_factory=dict)

    def extent(self, value: Sym) -> int:
        return value.evaluate(self.integers)
