"""Dimensions, a grid and arguments for a kernel of which only the text is known.

In: a checked kernel, its configuration, and what its compilation leaves to the launch to check. Out: the smallest
dimensions that hold a few of the kernel's tiles and keep every promise and requirement, and values that are small
enough to be exact in every type. A tensor that holds flags of another program is set, so that nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import Any

import numpy as np

from phobos_core.analysis import program as pg
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.analysis.walk import walk
from phobos_core.language.types import ScalarType
from phobos_core.report.grid import suggested_grid
from phobos_core.runtime.arguments import DTYPES

# Tiles up to this are walked twice, so that a second block or turn meets the first.
SMALL = 64
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
# Steps of the search, and elements of all tensors together.
MOST_STEPS = 20_000
MOST_ELEMENTS = 1 << 22


class CannotMakeUp(ValueError):
    """The text says why, for the user to read."""


@dataclass(frozen=True, slots=True)
class Inputs:
    dims: Mapping[str, int]
    grid: tuple[int, ...]
    values: tuple[Any, ...]


def make_up(
    kernel: pg.CheckedKernel,
    requires: Sequence[pg.Requirement],
    config: Mapping[str, int],
    least: Mapping[str, int] | None = None,
) -> Inputs:
    """`least` asks for dimensions of at least a size. Raises CannotMakeUp."""
    dims = dict(_dimensions(kernel, requires, config, least or {}))
    names = {**config, **dims}
    elements = [prod(extent.evaluate(names) for extent in t.dims) for t in _tensors(kernel)]
    if sum(elements) > MOST_ELEMENTS:
        raise CannotMakeUp(f"`{kernel.name}` needs tensors of {sum(elements):,} elements, too many for a try")
    flags = {n.place.root for n in walk(kernel.body) if isinstance(n, pg.Atomic) and n.op == "load_acquire"}
    values = tuple(_value(symbol, names, symbol in flags) for symbol in kernel.params)
    return Inputs(dims, _grid(kernel, names), values)


def _tensors(kernel: pg.CheckedKernel) -> Iterator[pg.TensorType]:
    return (symbol.type for symbol in kernel.params if isinstance(symbol.type, pg.TensorType))


def _grid(kernel: pg.CheckedKernel, names: Mapping[str, int]) -> tuple[int, ...]:
    if any(isinstance(node, pg.Sync) and node.op == "grid_barrier" for node in walk(kernel.body)):
        return (2,)
    axes = tuple(int(axis) if axis.isdigit() else 1 for axis in suggested_grid(kernel, names))
    return axes or (1,)


# Dimensions.


def _dimensions(
    kernel: pg.CheckedKernel,
    requires: Sequence[pg.Requirement],
    config: Mapping[str, int],
    least: Mapping[str, int],
) -> Mapping[str, int]:
    units = _units(kernel, config)
    constraints = [*requires, *(_promise(name, tile) for name, tile in kernel.aligned.items())]
    choices = {name: list(_sizes(units.get(name, 1), least.get(name, 1))) for name in kernel.dims}
    steps = iter(range(MOST_STEPS))
    found = _search(dict(config), list(kernel.dims), choices, constraints, steps)
    if found is None:
        told = "; ".join(requirement.text for requirement in constraints)
        raise CannotMakeUp(f"no small dimensions of `{kernel.name}` were found for which holds: {told}")
    return {name: found[name] for name in kernel.dims}


def _promise(name: str, tile: Sym) -> pg.Requirement:
    return pg.Requirement(sym(name), "multiple of", tile, f"{name} a multiple of {tile}")


def _search(
    names: dict[str, int],
    left: list[str],
    choices: Mapping[str, Sequence[int]],
    constraints: Sequence[pg.Requirement],
    steps: Iterator[int],
) -> dict[str, int] | None:
    if any(not _holds(each, names) for each in constraints if _mentioned(each) <= names.keys()):
        return None
    if not left:
        return names
    solved = ((n, _solved(each, n, names)) for each in constraints if (n := _unknown(each, names, left)))
    forced = next((pair for pair in solved if pair[1] > 0), None)
    name = left[0] if forced is None else forced[0]
    for value in choices[name] if forced is None else [forced[1]]:
        if next(steps, None) is None:
            return None
        found = _search({**names, name: value}, [n for n in left if n != name], choices, constraints, steps)
        if found is not None:
            return found
    return None


def _mentioned(requirement: pg.Requirement) -> frozenset[str]:
    return requirement.lhs.names | requirement.rhs.names


def _holds(requirement: pg.Requirement, names: Mapping[str, int]) -> bool:
    lhs, rhs = requirement.lhs.evaluate(names), requirement.rhs.evaluate(names)
    match requirement.op:
        case "==":
            return lhs == rhs
        case "<=":
            return lhs <= rhs
    return rhs != 0 and lhs % rhs == 0


def _unknown(requirement: pg.Requirement, names: Mapping[str, int], left: Sequence[str]) -> str:
    """The one dimension of an equation that has no value yet, where it stands alone on a side."""
    missing = _mentioned(requirement) - names.keys()
    if requirement.op != "==" or len(missing) != 1:
        return ""
    (name,) = missing
    return name if name in left and name in (str(requirement.lhs), str(requirement.rhs)) else ""


def _solved(requirement: pg.Requirement, name: str, names: Mapping[str, int]) -> int:
    other = requirement.rhs if str(requirement.lhs) == name else requirement.lhs
    return other.evaluate(names) if other.names <= names.keys() else 0


def _sizes(unit: int, least: int) -> Iterator[int]:
    """What a dimension may be that is walked in tiles of `unit`, the likeliest first. Extents are multiples of 4."""
    whole = lcm(unit, 4)
    first = whole * 2 if unit <= SMALL and whole == unit else whole
    sizes = dict.fromkeys([first, *(whole * factor for factor in (1, 2, 4, 8, 16, 64, 256, 1024)), *SIZES])
    return (size for size in sizes if size >= least)


def _units(kernel: pg.CheckedKernel, config: Mapping[str, int]) -> dict[str, int]:
    """For each dimension the tiles that it is walked in, all in one; for one that threads index, their number."""
    nodes = list(walk(kernel.body))
    values = {n.symbol: n.value for n in nodes if isinstance(n, pg.BindScalar)}
    units: dict[str, int] = {}
    for place in (node for node in nodes if isinstance(node, pg.Place) and node.axes is not None):
        if not isinstance(place.root.type, pg.TensorType):
            continue
        for extent, axis in zip(place.root.type.dims, place.axes or (), strict=False):
            name = str(extent)
            if name in kernel.dims:
                length = axis.extent.evaluate(config) if axis.extent.names <= config.keys() else 1
                threads = kernel.launch.threads if _reads_thread(axis.start, values) else 1
                units[name] = lcm(units.get(name, 1), max(length, 1), threads)
    return {name: unit if unit <= SIZES[-1] else SIZES[-1] for name, unit in units.items()}


def _reads_thread(start: pg.Expr, values: Mapping[pg.Symbol, pg.Expr]) -> bool:
    pending, seen = [start], set()
    while pending:
        for node in walk([pending.pop()]):
            if isinstance(node, pg.CtxRead) and node.field == "thread":
                return True
            if isinstance(node, pg.ScalarRead) and node.symbol in values and node.symbol not in seen:
                seen.add(node.symbol)
                pending.append(values[node.symbol])
    return False


# Values.


def _value(symbol: pg.Symbol, names: Mapping[str, int], flag: bool) -> Any:
    match symbol.type:
        case pg.TensorType(element, dims):
            shape = tuple(extent.evaluate(names) for extent in dims)
            if flag:
                return np.ones(shape, DTYPES[element.name])
            return _pattern(shape, element)
        case ScalarType() as scalar if scalar.is_float:
            return 1.0
        case ScalarType(name="bool"):
            return True
    return 1


def _pattern(shape: tuple[int, ...], element: ScalarType) -> Any:
    """Quarters from -1 to 1 for floats, and small numbers for bytes. Wider integers are 0: they may be positions."""
    count = prod(shape)
    numbers = np.arange(count, dtype=np.int64) * 7 % 9 - 4
    if element.is_float:
        return (numbers / 4).astype(DTYPES[element.name]).reshape(shape)
    if element.bytes == 1:
        return (numbers % 4).astype(DTYPES[element.name]).reshape(shape)
    return np.zeros(shape, DTYPES[element.name])
