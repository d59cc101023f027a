"""The elements of a buffer that a view reaches, in a form in which two regions can be compared.

In: a kernel. Out: for a view, a `Region`: its buffer and, per axis, where it starts and how far it goes. `disjoint`
proves that two regions of one buffer share no element.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from phobos_core.ir.divergence import Divergence, divergence
from phobos_core.ir.integers import Integers, Linear, of_kernel
from phobos_core.ir.module import Kernel, Value
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import buffer_of, view_of
from phobos_core.ir.types import MemType, ViewType


@dataclass(frozen=True, slots=True)
class Earlier:
    """A loop variable in some earlier iteration: `variable` - k * `step` with k >= 1."""

    variable: Value
    step: int


Atom: TypeAlias = Value | Earlier

# A linear form that can be a key: terms in no order, then the constant.
Form: TypeAlias = tuple[frozenset[tuple[Atom, int]], int]


@dataclass(frozen=True, slots=True)
class Region:
    """`starts` has None where nothing is known. `flat` regions count elements along one axis of a reshaped buffer.

    `stage` is the copy of a buffer with several.
    """

    buffer: Value
    stage: Form | None
    starts: tuple[Form | None, ...]
    shape: tuple[int, ...]
    flat: bool = False


class Regions:
    """The regions of one kernel's views, computed on demand. Of a start that differs between threads nothing is known:
    two threads may have any two values of it."""

    def __init__(
        self, kernel: Kernel, index: Index, facts: Integers | None = None, divergent: Divergence | None = None
    ) -> None:
        self._index = index
        self._facts = facts or of_kernel(kernel)
        self._divergent = divergent or divergence(kernel.body)
        self._views: dict[Value, Region] = {}

    def form(self, value: Value) -> Form:
        return form_of(self._facts.linear(value))

    def of_view(self, view: Value) -> Region:
        known = self._views.get(view)
        if known is None:
            assert isinstance(view.type, ViewType)
            parts = view_of(self._index, view)
            known = self._region(parts.mem, parts.stage, parts.offsets, view.type.shape)
            self._views[view] = known
        return known

    def whole_allocation(self, view: Value) -> bool:
        """Whether a view is all of an allocation of one stage, element for element."""
        region = self.of_view(view)
        op = self._index.defining(region.buffer, "alloc")
        return (
            op is not None
            and op.attrs["stages"] == 1
            and not region.flat
            and isinstance(region.buffer.type, MemType)
            and region.shape == region.buffer.type.shape
            and all(start == (frozenset(), 0) for start in region.starts)
            and set(self._index.definition[view].attrs["bounds"]) == {"none"}
        )

    def of_point(self, mem: Value, rest: tuple[Value, ...]) -> Region:
        """`rest`: the operands after the buffer of a `load_point` or `store_point`, up to the indices' end."""
        assert isinstance(mem.type, MemType)
        return self.of_run(mem, rest, len(mem.type.shape) - 1, 1)

    def of_run(self, mem: Value, rest: tuple[Value, ...], axis: int, length: int) -> Region:
        """As `of_point`, of `length` elements along an axis."""
        assert isinstance(mem.type, MemType)
        rank = len(mem.type.shape)
        stage = rest[0] if len(rest) > rank else None
        return self._region(mem, stage, rest[-rank:], tuple(length if k == axis else 1 for k in range(rank)))

    def whole(self, mem: Value) -> Region:
        """All of a buffer whose extents need not be known."""
        assert isinstance(mem.type, MemType)
        rank = len(mem.type.shape)
        return Region(buffer_of(self._index, mem), None, (None,) * rank, (1,) * rank)

    def _region(self, mem: Value, stage: Value | None, offsets: tuple[Value, ...], shape: tuple[int, ...]) -> Region:
        buffer = buffer_of(self._index, mem)
        starts = tuple(self._start(v) for v in offsets)
        copy = self.form(stage) if stage is not None else None
        return Region(buffer, copy, starts, shape, flat=self._index.defining(mem, "flat") is not None)

    def _start(self, offset: Value) -> Form | None:
        form = self._facts.linear(offset)
        return None if any(atom in self._divergent.values for atom in form.terms) else form_of(form)


def form_of(linear: Linear) -> Form:
    return frozenset(linear.terms.items()), linear.constant


def disjoint(a: Region, b: Region) -> bool:
    """Whether two regions surely share no element."""
    if a.buffer is not b.buffer:
        return True
    if a.stage is not None and b.stage is not None and _differ(a.stage, b.stage):
        return True
    if a.flat is not b.flat:
        return False
    for start_a, start_b, extent_a, extent_b in zip(a.starts, b.starts, a.shape, b.shape, strict=True):
        if start_a is not None and start_b is not None:
            least, most = _distance(start_a, start_b)
            if (least is not None and least >= extent_b) or (most is not None and -most >= extent_a):
                return True
    return False


def _differ(a: Form, b: Form) -> bool:
    """Whether a = b has no solution in integers."""
    terms = _difference(a, b)
    divisor = gcd(*terms.values())
    constant = a[1] - b[1]
    return constant % divisor != 0 if divisor else constant != 0


def _distance(a: Form, b: Form) -> tuple[int | None, int | None]:
    """The least and the most that a - b can be, None where that is not known.

    Where one of them is taken at an earlier iteration, c * i against c * (i - k * step) with k >= 1 bounds one side.
    """
    terms = _difference(a, b)
    constant = a[1] - b[1]
    if not terms:
        return constant, constant
    earlier = [atom for atom in terms if isinstance(atom, Earlier)]
    if len(terms) == 2 and len(earlier) == 1 and terms.get(earlier[0].variable) == -terms[earlier[0]]:
        nearest = constant - terms[earlier[0]] * earlier[0].step
        return (nearest, None) if terms[earlier[0]] < 0 else (None, nearest)
    return None, None


def _difference(a: Form, b: Form) -> dict[Atom, int]:
    terms = dict(a[0])
    for atom, coefficient in b[0]:
        left = terms.get(atom, 0) - coefficient
        if left:
            terms[atom] = left
        else:
            del terms[atom]
    return terms
