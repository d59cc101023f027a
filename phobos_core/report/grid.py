"""The grid that a kernel's slices ask for: one block for each tile of what it walks by `ctx.block`.

In: a checked kernel and the values of its bound names. Out: an expression for each grid axis, `ceil(M / 64)`. The
grid is the host's to choose; this is what the report suggests.
"""

from __future__ import annotations

from collections.abc import Mapping

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.analysis.walk import Node, walk

AXES = ("x", "y", "z")
# Stands where no slice shows the extent.
UNKNOWN = "?"

Definitions = Mapping[p.Symbol, p.Expr]


def suggested_grid(kernel: p.CheckedKernel, bound: Mapping[str, int]) -> tuple[str, ...]:
    """Axis by axis up to the last one that the kernel reads.

    What is stored comes first: that is what the grid has to cover.
    """
    nodes = list(walk(kernel.body))
    values = {n.symbol: n.value for n in nodes if isinstance(n, p.BindScalar) and not n.symbol.mutable}
    found: dict[str, str] = {}
    for place in sorted(_slices(nodes), key=lambda place: not _is_stored(place, nodes)):
        assert isinstance(place.root.type, p.TensorType)
        for axis, extent in zip(place.axes or (), place.root.type.dims, strict=True):
            multiple = block_multiple(axis.start, values)
            if multiple is not None and multiple[0] not in found:
                found[multiple[0]] = _blocks(extent, multiple[1], bound)
    read = {n.field.removeprefix("block.") for n in nodes if isinstance(n, p.CtxRead) and n.field.startswith("block.")}
    last = max((AXES.index(name) + 1 for name in read), default=0)
    return tuple(found.get(name, UNKNOWN if name in read else "1") for name in AXES[:last])


def _slices(nodes: list[Node]) -> list[p.Place]:
    return [n for n in nodes if isinstance(n, p.Place) and n.axes and isinstance(n.root.type, p.TensorType)]


def _is_stored(place: p.Place, nodes: list[Node]) -> bool:
    return any(isinstance(n, (p.StoreTile, p.StorePoint)) and n.place is place for n in nodes)


def block_multiple(start: p.Expr, values: Definitions) -> tuple[str, Sym] | None:
    """`ctx.block.x * step + rest` as ("x", step), where exactly one term has such a factor."""
    match start:
        case p.CtxRead(field=field) if field.startswith("block."):
            return field.removeprefix("block."), sym(1)
        case p.ScalarRead(symbol=symbol) if symbol in values:
            return block_multiple(values[symbol], values)
        case p.Convert(operand=operand):
            return block_multiple(operand, values)
        case p.Binary(op="*", lhs=lhs, rhs=rhs):
            for side, other in ((lhs, rhs), (rhs, lhs)):
                inner, factor = block_multiple(side, values), _constant(other, values)
                if inner is not None and factor is not None:
                    return inner[0], inner[1] * factor
            return None
        case p.Binary(op="+", lhs=lhs, rhs=rhs):
            sides = [found for side in (lhs, rhs) if (found := block_multiple(side, values)) is not None]
            return sides[0] if len(sides) == 1 else None
    return None


def _constant(expr: p.Expr, values: Definitions) -> Sym | None:
    match expr:
        case p.SymConst(value=value):
            return value
        case p.Const(value=int(value)):
            return sym(value)
        case p.ScalarRead(symbol=symbol) if symbol in values:
            return _constant(values[symbol], values)
        case p.Convert(operand=operand):
            return _constant(operand, values)
    return None


def _blocks(extent: Sym, step: Sym, bound: Mapping[str, int]) -> str:
    """`ceil(extent / step)`, computed as far as `bound` says the values."""
    extents, steps = _value(extent, bound), _value(step, bound)
    match extents, steps:
        case _, 1:
            return str(extents)
        case int(), int() if steps > 0:
            return str(-(-extents // steps))
        case _:
            return f"ceil({_factor(extents)} / {_factor(steps)})"


def _value(value: Sym, bound: Mapping[str, int]) -> int | Sym:
    return value.evaluate(bound) if value.names <= bound.keys() else value


def _factor(value: int | Sym) -> str:
    text = str(value)
    return f"({text})" if " " in text else text
