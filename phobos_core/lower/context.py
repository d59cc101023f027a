"""What lowering a kernel carries along: where it emits, what names stand for, and the current SSA values.

`State` is the mechanism by which mutable things become SSA values: it maps each mutable scalar, each buffer (its
token) and each control flag to its current value. A region starts from a copy; `assigned` says what it carries out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from phobos_core.analysis.program import Expr, Symbol
from phobos_core.analysis.symbolic import Opaque, Sym
from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Block, Decision, Value
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.lower.effects import NO_EFFECTS, Effects
from phobos_core.lower.emitter import Emitter
from phobos_core.lower.lines import LineTable
from phobos_core.lower.windows import Window
from phobos_core.syntax.ast import Span

# Whether a jump has been taken: "break" and "continue" of the innermost loop, "return" of the kernel.
Flag: TypeAlias = Literal["break", "continue", "return"]

# A scalar by its symbol, a token by its buffer, a flag by its name.
Key: TypeAlias = Symbol | Value | Flag
State: TypeAlias = dict[Key, Value]

# A part of runs: how far from their starts it begins, and its length.
RunPart: TypeAlias = tuple[Value | None, int]


@dataclass(frozen=True, slots=True)
class Summing:
    """A `sum(e)` being lowered: the runs that it has read `part` of, by their places, and the position in that part for
    which `e` is lowered."""

    runs: dict[int, Value]
    part: RunPart
    position: int


@dataclass(slots=True)
class Context:
    """`names` maps dimensions, `@autotune` names and the keys of immutable scalars to values.

    `tile_k` is TILE_K where it is bound; `shared_limit` what a block may use. `lower` is how any expression is lowered.
    """

    emit: Emitter
    lines: LineTable
    shared_limit: int
    tile_k: int | None
    target: str
    threads: int
    lower: Callable[[Context, Expr], Value]
    names: dict[str, Value] = field(default_factory=dict)
    state: State = field(default_factory=dict)
    windows: dict[Symbol, Window] = field(default_factory=dict)
    effects: Effects = NO_EFFECTS
    summing: Summing | None = None
    decisions: list[Decision] = field(default_factory=list)
    # The lines of the views of the source: where each is bound, and where it is read last.
    views: dict[Symbol, tuple[int, int]] = field(default_factory=dict)

    def window(self, symbol: Symbol, span: Span) -> Window:
        """The memory that a tensor, tile or view denotes, for a use at `span`."""
        if symbol in self.views:
            first, last = self.views[symbol]
            self.views[symbol] = (first, max(last, self.lines.line(span)))
        return self.windows[symbol]

    def at(self, span: Span) -> int:
        """Makes `span` the source of the ops that follow; gives its line."""
        line = self.lines.line(span)
        self.emit.build.line = line
        return line

    def symbolic(self, form: Sym) -> Value:
        """The index value of a symbolic integer."""
        if form.constant is not None:
            return self.emit.index(form.constant)
        total: Value | None = None
        for monomial, coefficient in form.terms:
            product = self.emit.index(coefficient)
            for atom in monomial:
                product = self.emit.binary("mul", product, self._atom(atom))
            total = product if total is None else self.emit.add(total, product)
        assert total is not None
        return total

    def _atom(self, atom: str | Opaque) -> Value:
        if isinstance(atom, str):
            return self.emit.convert(self.names[atom], INDEX)
        name = {"/": "div", "%": "rem"}.get(atom.op, atom.op)
        return self.emit.binary(name, self.symbolic(atom.lhs), self.symbolic(atom.rhs))

    def static(self, form: Sym) -> int | None:
        """The value of a symbolic integer, where it is constant in this configuration."""
        return form.constant if form.constant is not None else self.emit.facts.constant(self.symbolic(form))

    def shape(self, dims: tuple[Sym, ...]) -> tuple[int, ...]:
        """A shape that the checker found static."""
        extents = tuple(self.static(d) for d in dims)
        assert all(e is not None for e in extents)
        return tuple(e for e in extents if e is not None)

    def bind(self, symbol: Symbol, value: Value) -> None:
        self.state[symbol] = value
        if not symbol.mutable and isinstance(value.type, ScalarType) and value.type.is_integer:
            self.names[symbol.key] = value

    def keys(self, effects: Sequence[Symbol | Flag]) -> list[Key]:
        """What of the effects has a value now, and so outlives a region that starts here."""
        found: dict[Key, None] = {}
        for effect in effects:
            key: Key = effect
            if isinstance(effect, Symbol) and not isinstance(effect.type, ScalarType):
                window = self.windows.get(effect)
                if window is None:
                    continue
                key = window.base
            if key in self.state:
                found[key] = None
        return list(found)

    def region(self, args: Sequence[Value], build: Callable[[], Sequence[Value]]) -> Block:
        """The block that `build` emits; it gives the values to yield. The state is as before afterwards."""
        outer, state = self.emit.build, self.state
        self.emit.build, self.state = Builder(outer.line), dict(state)
        self.emit.build.yield_(build())
        block = self.emit.build.block(args)
        self.emit.build, self.state = outer, state
        return block
