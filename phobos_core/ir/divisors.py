"""Which vector accesses the addresses of a view allow, and what the launch must keep for it.

In: a kernel. Out: for a view, the widest run of elements that one aligned access may take, and the dimensions whose
*assumed* divisor (extents are taken for multiples of 4) that leans on: a pass that uses such a width adds the
`Requirement` of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Literal

from phobos_core.analysis.program import Requirement
from phobos_core.analysis.symbolic import sym
from phobos_core.ir.integers import Integers, of_kernel
from phobos_core.ir.module import Kernel, Value
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import buffer_of, stages_of, view_of
from phobos_core.ir.types import MemType, ViewType, element_of

# The widest access of a thread, and the least that is one word of a bank.
_BYTES = 16
_WORD = 4


@dataclass(frozen=True, slots=True)
class Width:
    """`vector` elements an access; `relies_on` names the dimensions whose assumed divisor allows it."""

    vector: int
    relies_on: tuple[str, ...] = ()

    def for_all(self, elements: int, size: int, threads: int) -> Width:
        """Narrower, down to words, where so many elements of `size` bytes are too few accesses for all threads: with
        half as much each, none waits for the others behind a branch."""
        vector = self.vector
        while vector * size > _WORD and vector % 2 == 0 and elements // vector < threads:
            vector //= 2
        return replace(self, vector=vector)


@dataclass(frozen=True, slots=True)
class Limit:
    """That a number of elements is a `multiple` only: of `what`, and which number that is."""

    what: Literal["start", "bound", "row"]
    number: int | Value
    multiple: int


class Vectors:
    """Answers for one kernel; builds the facts about its index values once for each set of beliefs."""

    def __init__(self, kernel: Kernel, index: Index) -> None:
        self._kernel = kernel
        self._index = index
        self._facts: dict[frozenset[str], Integers] = {}
        self._params = {p.value: p for p in kernel.params if p.kind == "tensor"}
        self._dims = {p.name: p.value for p in kernel.params if p.kind == "dim"}

    def widest(self, views: Sequence[Value], extent: int) -> Width:
        """The widest run along the last axis, dividing `extent`, that suits all of `views`."""
        everything = self._kernel.assumed
        best = self._widest(views, extent, everything)
        needed = everything
        for dim in sorted(everything):
            if self._widest(views, extent, needed - {dim}) == best:
                needed -= {dim}
        return Width(best, tuple(sorted(needed)))

    def widest_run(self, mem: Value, indices: Sequence[Value], length: int) -> Width:
        """The widest access that divides a run of `length` elements along the last axis, from the element at the
        indices on."""
        everything = self._kernel.assumed
        best = self._of_run(mem, indices, length, everything)
        needed = everything
        for dim in sorted(everything):
            if self._of_run(mem, indices, length, needed - {dim}) == best:
                needed -= {dim}
        return Width(best, tuple(sorted(needed)))

    def multiple(self, mem: Value, indices: Sequence[Value], believed: frozenset[str]) -> int:
        """The largest number known to divide how many elements the one at the indices is from the first; 0 for 0.

        Of a buffer with several copies, from the first of the first."""
        facts = self.facts(believed)
        found, row = 0, 1
        if stages_of(self._index, mem) > 1:
            assert isinstance(mem.type, MemType)
            found = prod(n for n in mem.type.shape if n is not None)
        for axis in range(len(indices) - 1, -1, -1):
            found = gcd(found, facts.range(indices[axis]).multiple * row)
            extent = self.extent(mem, axis) if axis else 1
            row *= extent if isinstance(extent, int) else facts.range(extent).multiple
        return found

    def _of_run(self, mem: Value, indices: Sequence[Value], length: int, believed: frozenset[str]) -> int:
        assert isinstance(mem.type, MemType)
        widest = gcd(length, _BYTES // mem.type.element.bytes)
        return gcd(widest, self.multiple(mem, indices, believed))

    def requirements(self, dims: Iterable[str]) -> list[Requirement]:
        """That each of `dims` is the multiple that it was taken for."""
        return [_requirement(dim, self._kernel.divisors[dim]) for dim in dims]

    def limits(self, view: Value, believed: frozenset[str]) -> list[Limit]:
        """What the runs of a view along its last axis are aligned by, with these dimensions taken for multiples."""
        assert isinstance(view.type, ViewType)
        facts, parts = self.facts(believed), view_of(self._index, view)
        limits = [Limit("start", parts.offsets[-1], facts.range(parts.offsets[-1]).multiple)]
        limits += [Limit("bound", b, facts.range(b).multiple) for b in parts.bounds[-1] if b is not None]
        one_row = all(n == 1 for n in view.type.shape[:-1])
        first_row_only = one_row and parts.stage is None and all(facts.constant(v) == 0 for v in parts.offsets[:-1])
        if not first_row_only:
            row = self.extent(parts.mem, -1)
            limits.append(Limit("row", row, row if isinstance(row, int) else facts.range(row).multiple))
        return limits

    def facts(self, believed: frozenset[str]) -> Integers:
        if believed not in self._facts:
            self._facts[believed] = of_kernel(self._kernel, believed)
        return self._facts[believed]

    def _widest(self, views: Sequence[Value], extent: int, believed: frozenset[str]) -> int:
        return min((self._of(view, extent, believed) for view in views), default=gcd(extent, _BYTES))

    def _of(self, view: Value, extent: int, believed: frozenset[str]) -> int:
        limits = self.limits(view, believed)
        return gcd(extent, _BYTES // element_of(view.type).bytes, *(limit.multiple for limit in limits))

    def extent(self, mem: Value, axis: int) -> int | Value:
        """An extent of a buffer: a number, or the dimension's value."""
        assert isinstance(mem.type, MemType)
        static = mem.type.shape[axis]
        if static is not None:
            return static
        dim = self._params[buffer_of(self._index, mem)].dims[axis]
        assert isinstance(dim, str)
        return self._dims[dim]


def _requirement(dim: str, divisor: int) -> Requirement:
    return Requirement(sym(dim), "multiple of", sym(divisor), f"{dim} % {divisor} == 0")
