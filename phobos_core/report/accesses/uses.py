"""What the tile IR says of each use of memory: the name of the tensor or tile, and why its accesses are no wider.

In: a kernel as codegen takes it. Out: its `Use`s, which the accesses of the PTX are found among by line, kind and
place; for a use and the width that its accesses came to have, the reason in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import gcd, prod

from phobos_core.ir.accesses import Touch, touches
from phobos_core.ir.divisors import Limit, Vectors
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.pairs import partner, spread
from phobos_core.ir.rewrite import indexed
from phobos_core.ir.schedule import ColumnScan, Contraction, PatchSweep, RowFold, RowReduction, RowSweep
from phobos_core.ir.tree import INNER, buffer_of, stages_of
from phobos_core.ir.types import Cyclic, MemType, TileType, ViewType
from phobos_core.language.types import ScalarType
from phobos_core.report.accesses.model import WIDEST
from phobos_core.report.accesses.sites import Kind, Space


@dataclass(frozen=True, slots=True)
class Use:
    """An op's reads or writes of one buffer. `place` is the bytes of shared memory that it has."""

    line: int
    kind: Kind
    space: Space
    name: str
    dtype: ScalarType
    place: range | None
    op: Op
    touch: Touch


@dataclass(frozen=True, slots=True)
class Part:
    """The threads that make an access for one of two uses side by side."""

    use: Use
    threads: range


class Uses:
    """Of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._index = indexed(kernel.body)
        self._vectors = Vectors(kernel, self._index)
        self._tensors = {p.value: p.name for p in kernel.params if p.kind == "tensor"}
        self._names = {p.value: p.name for p in kernel.params if p.kind == "dim"}
        self._all: dict[tuple[Kind, Space], list[Use]] = {}
        self._at: dict[tuple[int | None, Kind, Space], list[Use]] = {}
        for use in (use for op in self._index.ops for use in self._of(op)):
            self._all.setdefault((use.kind, use.space), []).append(use)
            self._at.setdefault((use.line, use.kind, use.space), []).append(use)
        self._joint = list(self._pairs())

    def parts(self, kind: Kind, space: Space, reach: tuple[int, int] | None, tensors: Set[str]) -> list[Part]:
        """Of an access by which two copies are made side by side."""
        for one, other in self._joint:
            a, b = one.use, other.use
            if (a.kind, a.space) != (kind, space):
                continue
            if a.place is None or b.place is None:
                found = {a.name, b.name} == tensors
            else:
                found = reach is not None and all(any(at in p for at in reach) for p in (a.place, b.place))
            if found:
                return [one, other]
        return []

    def _pairs(self) -> Iterator[tuple[Part, Part]]:
        for block in dict.fromkeys(self._index.block_of.values()):
            for number, op in enumerate(block.ops):
                other = partner(block.ops, number) if op.name in ("load", "store") else None
                mine = spread(op) if other is not None else None
                if other is None or mine is None:
                    continue
                runs, _, _ = mine
                for a in self._of(op):
                    for b in self._of(other):
                        if (a.kind, a.space) == (b.kind, b.space):
                            yield Part(a, range(runs)), Part(b, range(runs, 2 * runs))

    def find(self, line: int | None, kind: Kind, space: Space, at: int | None, tensor: str | None) -> list[Use]:
        """Those that an access of the code may be: to the tensor, or to what lies at this byte of shared memory."""

        def placed(use: Use) -> bool:
            return use.name == tensor if space == "global" else use.place is not None and at in use.place

        here = self._at.get((line, kind, space), [])
        exact = [use for use in here if placed(use)]
        if exact:
            return exact
        # An access whose line is not known, or that begins beside the buffer and is moved into it.
        one = {use.name for use in here}
        if len(one) == 1 and tensor is None:
            return here
        return [use for use in self._all.get((kind, space), []) if placed(use)]

    def _of(self, op: Op) -> Iterator[Use]:
        for touch in touches(self._index, op):
            buffer = buffer_of(self._index, touch.place)
            mem = buffer.type
            assert isinstance(mem, MemType)
            kinds = _KINDS.get(op.name, ("store" if touch.write else "load",))
            line = (touch.node.op.line if touch.node is not None else 0) or op.line
            name = self._tensors.get(buffer) or str(self._index.definition[buffer].attrs["name"])
            place = self._place(buffer, mem)
            yield from (Use(line, kind, mem.space, name, mem.element, place, op, touch) for kind in kinds)

    def _place(self, buffer: Value, mem: MemType) -> range | None:
        alloc = self._index.defining(buffer, "alloc")
        if alloc is None:
            return None
        shape = [n for n in mem.shape if n is not None]
        elements = prod(shape[:-1]) * alloc.attrs.get("pitch", shape[-1]) * stages_of(self._index, buffer)
        first = alloc.attrs["offset"]
        return range(first, first + elements * mem.element.bytes)

    # Why an access is no wider

    def why(self, use: Use, size: int) -> str | None:
        """The reason for `size` bytes a lane; None where they are the most that there is."""
        if size >= WIDEST:
            return None
        view = use.touch.place
        if use.op.name in ("load_run", "store_run"):
            return self._run(use)
        if not isinstance(view.type, ViewType):
            return _ELEMENTS.get(use.op.name, "each element is at an index of its own")
        if not self._along(use):
            return self._across(use, view.type)
        elements = max(1, size // use.dtype.bytes)
        # Codegen asks nothing of the launch for what it reads along K.
        believed = frozenset[str]() if _along_k(use) else self._kernel.assumed
        return (
            self._own(view, elements, believed)
            or self._beside(use, elements, believed)
            or self._schedule(use, elements)
            or "its elements are spread over the threads in such runs"
        )

    def _run(self, use: Use) -> str:
        """As the pass that chose the width of the run says."""
        runs = [d for d in self._kernel.decisions if d.line == use.op.line and d.op == f"run of `{use.name}`"]
        return runs[0].reason if runs else "a thread takes a single element"

    def _along(self, use: Use) -> bool:
        """Whether neighbours of a run are neighbours in memory."""
        node = use.touch.node
        return node is None or not node.axes or node.axes[-1] in (INNER, len(node.axes) - 1)

    def _across(self, use: Use, view: ViewType) -> str:
        node = use.touch.node
        assert node is not None
        if node.axes[-1] is None:
            return f"a run of the result takes one element of {_rows(use)}"
        return f"a run of the result takes elements of different rows of `{use.name}`"

    def _own(self, view: Value, elements: int, believed: frozenset[str]) -> str | None:
        """What the view's own addresses allow, where that is no more."""
        assert isinstance(view.type, ViewType)
        wanted = WIDEST // view.type.element.bytes
        extent = view.type.shape[-1]
        if wanted <= elements:
            return None
        if gcd(extent, wanted) <= elements:
            return _extent(extent, wanted)
        limits = self._vectors.limits(view, believed)
        for limit in sorted(limits, key=lambda limit: _MOST_TELLING.index(limit.what)):
            if gcd(limit.multiple, wanted) <= elements:
                return self._limit(view, limit, believed)
        return None

    def _limit(self, view: Value, limit: Limit, believed: frozenset[str]) -> str:
        assert isinstance(view.type, ViewType)
        size = view.type.element.bytes
        wanted = WIDEST // size
        known = gcd(limit.multiple, wanted)
        name = self._name(view)
        if isinstance(limit.number, int):
            return f"rows of `{name}` have {limit.number} elements, and so start at multiples of {known * size} bytes"
        why = self._unknown(limit.number, wanted, believed)
        match limit.what:
            case "row":
                return f"rows of `{name}` start at multiples of {known * size} bytes only: {why}"
            case "start":
                return f"the slice of `{name}` starts at multiples of {known * size} bytes only: {why}"
            case "bound":
                return f"`{name}` is masked, and may end at any multiple of {known * size} bytes: {why}"

    def _unknown(self, value: Value, wanted: int, believed: frozenset[str]) -> str:
        """What keeps an index value from being known for a multiple."""
        facts = self._vectors.facts(believed)
        form = facts.linear(value)
        for atom, factor in form.terms.items():
            if (facts.range(atom).multiple * factor) % wanted:
                needed = wanted // gcd(factor, wanted)
                if atom in self._names:
                    dim = self._names[atom]
                    promise = f"`@aligned({dim} = {needed})` would allow {WIDEST} bytes"
                    return f"{dim} is not known to be a multiple of {needed}; {promise}"
                return f"{self._called(atom)} is not known to be a multiple of {needed}"
        return f"it is at {form.constant}, no multiple of {wanted}"

    def _called(self, atom: Value) -> str:
        op = self._index.definition.get(atom)
        if op is not None and op.name == "ctx":
            return f"ctx.{op.attrs['field']}"
        if op is not None and op.name == "convert":
            return self._called(op.operands[0])
        return f"`{atom.hint}`" if atom.hint else "its place"

    def _name(self, view: Value) -> str:
        buffer = buffer_of(self._index, view)
        return self._tensors.get(buffer) or str(self._index.definition[buffer].attrs["name"])

    def _beside(self, use: Use, elements: int, believed: frozenset[str]) -> str | None:
        """What another access allows that is made in the same runs."""
        for other in self._of(use.op):
            place = other.touch.place
            if place is use.touch.place or not isinstance(place.type, ViewType) or not self._along(other):
                continue
            if other.dtype.bytes * elements >= WIDEST:
                return f"`{other.name}` is accessed in the same runs, {WIDEST} bytes at a time"
            if (reason := self._own(place, elements, believed)) is not None:
                return f"`{other.name}` is accessed in the same runs: {reason}"
        return None

    def _schedule(self, use: Use, elements: int) -> str | None:
        """What the spread of the elements over the threads allows."""
        layout = use.op.result.type.layout if use.op.results and isinstance(use.op.result.type, TileType) else None
        if isinstance(layout, Cyclic):
            return f"a thread holds {_count(elements)} side by side"
        match use.op.attrs.get("schedule"):
            case Contraction(tn=tn, run=run):
                if _along_k(use):
                    return f"a thread takes {_count(elements)} along K at a time, for the products of all its outputs"
                most = min(tn, run)
                return f"a thread computes {_count(most)} of the product side by side"
            case PatchSweep(layout=patches):
                return f"a thread holds {_count(patches.vector)} side by side"
            case RowFold() | RowSweep() | RowReduction() if use.kind == "store":
                return "a thread has one element of a row"
            case ColumnScan():
                return "a thread goes down a column, one element of each row"
            case _:
                return None


# Of several limits that are as narrow, the one to tell.
_MOST_TELLING = ("row", "start", "bound")
# What an op does to memory, where it is not one of loading and storing.
_KINDS: Mapping[str, tuple[Kind, ...]] = {
    "async_copy": ("copy",),
    "atomic_add": ("atomic",),
    "atomic_cas": ("atomic",),
    "grid_sync": ("load", "store", "atomic"),
    "load_acquire": ("load",),
    "store_release": ("store",),
}
_WAITED = "threads wait by a single element"
_ELEMENTS: Mapping[str, str] = {
    "load_point": "a single element is read",
    "store_point": "a single element is written",
    "atomic_add": "an atomic operation is of a single element",
    "atomic_cas": "an atomic operation is of a single element",
    "load_acquire": _WAITED,
    "store_release": _WAITED,
    "grid_sync": _WAITED,
}


def _along_k(use: Use) -> bool:
    node = use.touch.node
    is_operand = node is not None and node.anchor is not None and node.axes[-1:] == (INNER,)
    return is_operand and isinstance(use.op.attrs.get("schedule"), Contraction)


def _rows(use: Use) -> str:
    return f"each row of `{use.name}`"


def _extent(extent: int, wanted: int) -> str:
    if extent == 1:
        return "its rows have one element"
    return f"its rows have {extent} elements, no multiple of {wanted}"


def _count(elements: int) -> str:
    return "1 element" if elements == 1 else f"{elements} elements"
