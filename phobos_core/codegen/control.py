"""`for`, `while` and `if` as blocks, and what they carry as phis.

Tokens order memory in the tile IR and are nothing here. A carried tile with a layout is one phi per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from phobos_core.codegen.context import Context
from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.types import TileType, TokenType
from phobos_core.language.types import ScalarType

EmitBlock: TypeAlias = Callable[[Context, Block], None]


def for_loop(cg: Context, op: Op, emit: EmitBlock) -> None:
    """Tests before the first turn and, in the same place, before each other."""
    lo, hi, step = (cg.scalars[v] for v in op.operands[:3])
    (body,) = op.regions
    carried = op.operands[3:]
    w = cg.writer
    loop = w.open_loop([cg.index, *_types(cg, carried)], [lo, *_operands(cg, carried)])
    position, *names = loop.names
    _bind(cg, body.args[0], position)
    _bind_all(cg, body.args[1:], names)
    inside = w.fresh_label("body")
    w.branch(w.value(f"icmp slt {cg.index} {position}, {hi}"), inside, loop.exit)
    w.start(inside)
    emit(cg, body)
    following = w.value(f"add {cg.index} {position}, {step}")
    w.repeat_loop(loop, [following, *_operands(cg, body.ops[-1].operands)])
    _bind_all(cg, op.results, names)


def while_loop(cg: Context, op: Op, emit: EmitBlock) -> None:
    condition, body = op.regions
    w = cg.writer
    loop = w.open_loop(_types(cg, op.operands), _operands(cg, op.operands))
    _bind_all(cg, condition.args, loop.names)
    emit(cg, condition)
    test, *carried = condition.ops[-1].operands
    _bind_all(cg, op.results, _operands(cg, carried))
    _bind_all(cg, body.args, _operands(cg, carried))
    inside = w.fresh_label("body")
    w.branch(cg.scalars[test], inside, loop.exit)
    w.start(inside)
    emit(cg, body)
    w.repeat_loop(loop, _operands(cg, body.ops[-1].operands))


def if_else(cg: Context, op: Op, emit: EmitBlock) -> None:
    w = cg.writer
    labels = [w.fresh_label("then"), w.fresh_label("else")]
    end = w.fresh_label("end")
    w.branch(cg.scalars[op.operands[0]], *labels)
    arrivals: list[tuple[str, list[str]]] = []
    for label, region in zip(labels, op.regions, strict=True):
        w.start(label)
        with w.scope():
            outer, cg.runs_once = cg.runs_once, cg.runs_once or op.attrs.get("remainder", False)
            emit(cg, region)
            cg.runs_once = outer
        arrivals.append((w.label, _operands(cg, region.ops[-1].operands)))
        w.jump(end)
    w.start(end)
    (then, first), (orelse, second) = arrivals
    types = _types(cg, op.regions[0].ops[-1].operands)
    merged = [w.phi(t, (a, then), (b, orelse)) for t, a, b in zip(types, first, second, strict=True)]
    _bind_all(cg, op.results, merged)


def _types(cg: Context, values: Iterable[Value]) -> list[str]:
    found: list[str] = []
    for value in values:
        match value.type:
            case TokenType():
                pass
            case TileType(element, _, layout) if layout is not None:
                found += [cg.type(element, layout.vector)] * _runs(value)
            case ScalarType():
                found.append(cg.type(value.type))
            case other:
                raise AssertionError(f"{other} cannot be carried")
    return found


def _operands(cg: Context, values: Iterable[Value]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value.type, TileType):
            found += cg.registers[value]
        elif not isinstance(value.type, TokenType):
            found.append(cg.scalars[value])
    return found


def _bind_all(cg: Context, values: Sequence[Value], operands: Sequence[str]) -> None:
    rest = iter(operands)
    for value in values:
        if isinstance(value.type, TileType):
            cg.registers[value] = [next(rest) for _ in range(_runs(value))]
        elif not isinstance(value.type, TokenType):
            cg.scalars[value] = next(rest)


def _bind(cg: Context, value: Value, operand: str) -> None:
    cg.scalars[value] = operand


def _runs(value: Value) -> int:
    """How many runs of a tile with a layout a thread holds."""
    assert isinstance(value.type, TileType)
    assert value.type.layout is not None
    return value.type.runs
