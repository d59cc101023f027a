"""The arguments of a launch, checked before anything runs.

In: a checked kernel, its configuration, and what the caller passes for the parameters, in order. Out: the values of
the dimensions, or a `LaunchError` that names the arguments at fault.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from phobos_core.analysis.program import (
    Atomic,
    BindView,
    CheckedKernel,
    Place,
    Requirement,
    StorePoint,
    StoreRun,
    StoreTile,
    Symbol,
    Sync,
    TensorType,
)
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.analysis.walk import walk
from phobos_core.language.types import Kind, ScalarType

DTYPES: Mapping[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "bool": np.dtype(np.bool_),
}

MAX_GRID = (2**31 - 1, 65535, 65535)


class LaunchError(ValueError):
    """The arguments do not fit the kernel; nothing has run."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a device needs: the grid, a value for each parameter, and one for each dynamic dimension."""

    grid: tuple[int, int, int]
    values: tuple[Any, ...]
    dims: Mapping[str, int]


def bind(
    kernel: CheckedKernel,
    grid: Sequence[int] | int,
    values: Sequence[object],
    *,
    config: Mapping[str, int],
    requires: Iterable[Requirement],
    index_bits: int,
) -> Bound:
    """`requires` is what the compilation left to the launch to check."""
    extents = _grid(grid)
    if len(values) != len(kernel.params):
        names = ", ".join(symbol.name for symbol in kernel.params)
        raise LaunchError(f"`{kernel.name}` takes {len(kernel.params)} arguments ({names}), not {len(values)}")
    pairs = list(zip(kernel.params, values, strict=True))
    stored = stored_tensors(kernel)
    _one_axis(kernel, extents)
    found = _Dimensions(config)
    passed: list[Any] = []
    for symbol, value in pairs:
        match symbol.type:
            case TensorType() as type:
                array = _tensor(symbol, type, value, symbol in stored)
                found.take(symbol, type, array)
                _indexable(symbol, array, index_bits)
                passed.append(array)
            case ScalarType() as type:
                passed.append(_scalar(symbol, type, value))
    _no_overlap(kernel, passed, stored)
    _promises(kernel, found.values)
    _requirements(requires, found.values)
    return Bound(extents, tuple(passed), {name: found.values[name] for name in kernel.dims})


def _one_axis(kernel: CheckedKernel, grid: tuple[int, int, int]) -> None:
    waits = any(isinstance(node, Sync) and node.op == "grid_barrier" for node in walk(kernel.body))
    if waits and grid[1:] != (1, 1):
        raise LaunchError(f"`grid_barrier` needs a grid of one axis, and this one is {grid}")


def stored_tensors(kernel: CheckedKernel) -> frozenset[Symbol]:
    """The tensor parameters that the kernel writes, directly or through a view."""
    nodes = list(walk(kernel.body))
    roots = {node.symbol: node.place.root for node in nodes if isinstance(node, BindView)}
    stored = set()
    for node in nodes:
        for place in written_places(node):
            root = place.root
            while root in roots:
                root = roots[root]
            stored.add(root)
    return frozenset(symbol for symbol in stored if isinstance(symbol.type, TensorType))


def written_places(node: object) -> tuple[Place, ...]:
    match node:
        case StoreTile() | StorePoint() | StoreRun():
            return (node.place,)
        case Atomic() if node.op != "load_acquire":
            return (node.place,)
        case Sync(bar=Place() as bar):
            return (bar,)
    return ()


def _grid(grid: object) -> tuple[int, int, int]:
    match grid:
        case int() | np.integer():
            extents: tuple[Any, ...] = (grid,)
        case tuple() | list() | range():
            extents = tuple(grid)
        case np.ndarray() if grid.ndim < 2:
            extents = tuple(np.atleast_1d(grid))
        case _:
            extents = ()
    whole = all(isinstance(extent, (int, np.integer)) and not isinstance(extent, bool) for extent in extents)
    if not 1 <= len(extents) <= 3 or not whole or any(extent < 1 for extent in extents):
        raise LaunchError(f"the grid is one to three positive integers, not {grid!r}")
    x, y, z = (*(int(extent) for extent in extents), 1, 1)[:3]
    for axis, extent, most in zip("xyz", (x, y, z), MAX_GRID, strict=True):
        if extent > most:
            raise LaunchError(f"the grid's {axis} extent is {extent}, more than the {most} of a GPU")
    return x, y, z


def _tensor(symbol: Symbol, type: TensorType, value: object, stored: bool) -> np.ndarray[Any, Any]:
    if not isinstance(value, np.ndarray):
        raise LaunchError(f"`{symbol.name}` is a tensor: pass a NumPy array, not {_kind(value)}")
    expected = DTYPES[type.element.name]
    if value.dtype != expected:
        raise LaunchError(f"`{symbol.name}` is a tensor of {type.element}: pass {expected} elements, not {value.dtype}")
    if value.ndim != len(type.dims):
        raise LaunchError(f"`{symbol.name}` has {_axes(len(type.dims))}, and the array has {value.ndim}")
    if not value.flags.c_contiguous:
        raise LaunchError(f"`{symbol.name}` has to be contiguous and row-major; pass `numpy.ascontiguousarray` of it")
    if stored and not value.flags.writeable:
        raise LaunchError(f"`{symbol.name}` is stored to, and the array is read-only")
    return value


def _scalar(symbol: Symbol, type: ScalarType, value: object) -> Any:
    """The value in the parameter's own type."""
    dtype = DTYPES[type.name]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    match type.kind:
        case Kind.BOOL:
            fits = isinstance(value, (bool, np.bool_))
        case Kind.FLOAT:
            fits = isinstance(value, _REALS) and not isinstance(value, bool)
        case _:
            fits = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not fits:
        raise LaunchError(f"`{symbol.name}` is a scalar of type {type}: {_kind(value)} does not fit")
    if type.kind is Kind.INT:
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:  # type: ignore[operator]  # an integer, by the test above
            raise LaunchError(f"`{symbol.name}` is {value}, outside the {type} range {limits.min} to {limits.max}")
    if type.kind is Kind.FLOAT:
        return _rounded(symbol, type, value)
    return dtype.type(value)


def _rounded(symbol: Symbol, type: ScalarType, value: Any) -> Any:
    """A real number in the parameter's type, which it may not leave: only an infinity becomes one."""
    try:
        wide = float(value)
    except OverflowError:
        wide = math.inf
    with np.errstate(over="ignore"):
        rounded = DTYPES[type.name].type(wide)
    if math.isinf(float(rounded)) and not (isinstance(value, _FLOATS) and math.isinf(float(value))):
        raise LaunchError(f"`{symbol.name}` is {str(value)[:40]}, outside the range of {type}")
    return rounded


_FLOATS = (float, np.floating, ml_dtypes.bfloat16)
_REALS = (int, np.integer, *_FLOATS)


class _Dimensions:
    """The values of names, each with the argument that gave it."""

    def __init__(self, bound: Mapping[str, int]) -> None:
        self.values = dict(bound)
        self._givers: dict[str, tuple[str, int]] = {}

    def take(self, symbol: Symbol, type: TensorType, array: np.ndarray[Any, Any]) -> None:
        for axis, (dim, extent) in enumerate(zip(type.dims, array.shape, strict=True)):
            name = next(iter(dim.names), None)
            if name is not None and dim == sym(name) and name not in self.values:
                self.values[name] = extent
                self._givers[name] = (symbol.name, axis)
                continue
            expected = dim.evaluate(self.values)
            if expected != extent:
                raise LaunchError(self._mismatch(symbol, axis, extent, dim, expected))

    def _mismatch(self, symbol: Symbol, axis: int, extent: int, dim: Sym, expected: int) -> str:
        here = f"axis {axis} of `{symbol.name}` is {extent}"
        name = str(dim)
        if name in self._givers:
            other, other_axis = self._givers[name]
            return f"dimension {name} has two values: {here}, axis {other_axis} of `{other}` is {expected}"
        bound = f" {name} =" if dim.names else ""
        return f"{here}, and the kernel was compiled for{bound} {expected}"


def _indexable(symbol: Symbol, array: np.ndarray[Any, Any], index_bits: int) -> None:
    if index_bits == 32 and array.size > 2**31 - 1:
        raise LaunchError(
            f"`{symbol.name}` has {array.size} elements, more than 32-bit indices reach; compile with --index-bits 64"
        )


def _no_overlap(kernel: CheckedKernel, values: Sequence[Any], stored: frozenset[Symbol]) -> None:
    """A tensor that is stored to overlaps no other argument."""
    tensors = [
        (symbol, value)
        for symbol, value in zip(kernel.params, values, strict=True)
        if isinstance(symbol.type, TensorType) and value.size
    ]
    for (a, first), (b, second) in itertools.combinations(tensors, 2):
        # Contiguous arrays overlap exactly when their bounds do.
        if (a in stored or b in stored) and np.may_share_memory(first, second):
            written = a if a in stored else b
            raise LaunchError(
                f"`{a.name}` and `{b.name}` overlap in memory, and `{written.name}` is stored to; pass separate arrays"
            )


def _promises(kernel: CheckedKernel, names: Mapping[str, int]) -> None:
    for dim, tile in kernel.aligned.items():
        # A dimension that `-D` bound was checked with the source.
        unit = tile.evaluate(names)
        if unit and dim in names and names[dim] % unit:
            raise LaunchError(
                f"@aligned promises that {dim} is a whole number of {tile}: {dim} is {names[dim]}, {tile} is {unit}"
                if tile.names
                else f"@aligned promises that {dim} is a multiple of {tile}, and it is {names[dim]}"
            )


def _requirements(requires: Iterable[Requirement], names: Mapping[str, int]) -> None:
    for requirement in requires:
        lhs, rhs = requirement.lhs.evaluate(names), requirement.rhs.evaluate(names)
        match requirement.op:
            case "==":
                holds = lhs == rhs
            case "<=":
                holds = lhs <= rhs
            case "multiple of":
                holds = rhs != 0 and lhs % rhs == 0
        if not holds:
            given = ", ".join(f"{name} = {names[name]}" for name in _named(requirement))
            raise LaunchError(f"the kernel requires {requirement.text}; here {given}")


def _named(requirement: Requirement) -> Iterator[str]:
    yield from sorted(requirement.lhs.names | requirement.rhs.names)


def _axes(number: int) -> str:
    return f"{number} axis" if number == 1 else f"{number} axes"


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.ndim} axes"
    return f"{type(value).__name__} {value!r}"[:80]
