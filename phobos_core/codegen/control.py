"""`for`, `while` and `if` as blocks, and what they carry as phis.

Tokens order memory in the tile IR and are nothing here. A carried tile with a layout is one phi per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from phobos_core.codegen import index
from phobos_core.codegen.context import Context, Turning
from phobos_core.codegen.writer import Loop
from phobos_core.ir.integers import Linear
from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.types import TileType, TokenType
from phobos_core.language.types import INDEX, ScalarType

EmitBlock: TypeAlias = Callable[[Context, Block], None]


def for_loop(cg: Context, op: Op, emit: EmitBlock) -> None:
    """Tests before the first turn, and at the end of each turn for the next: what the body asks of the next is then
    answered by the same comparison. Inside, what it runs `until` is false."""
    lo, hi, step = (cg.scalars[v] for v in op.operands[:3])
    (body,) = op.regions
    carried = op.operands[3:]
    w = cg.writer
    types, first = _types(cg, carried), _operands(cg, carried)
    before, inside, end = w.label, w.fresh_label("for"), w.fresh_label("end")
    flags = op.attrs.get("until", ())
    w.branch(_going_on(cg, _less(cg, lo, hi), [cg.scalars[carried[n]] for n in flags]), inside, end)
    w.start(inside)
    loop = w.open_loop([cg.index, *types], [lo, *first])
    position, *names = loop.names
    cg.loops.append(Turning(body.args[0], lo, step, loop, _alternating(cg, op)))
    _bind(cg, body.args[0], position)
    _bind_all(cg, body.args[1:], names)
    for n in flags:
        _bind(cg, body.args[1 + n], "false")
    emit(cg, body)
    cg.loops.pop()
    following = w.pure(f"add {cg.index} {position}, {step}")
    yielded = body.ops[-1].operands
    last = _operands(cg, yielded)
    again = _going_on(cg, _below(cg, op, position, following), [cg.scalars[yielded[n]] for n in flags])
    _count(cg, op, loop, following)
    w.close_loop(loop, again, [following, *last])
    w.jump(end)
    w.start(end)
    _bind_all(
        cg, op.results, [w.phi(t, (a, before), (b, loop.exit)) for t, a, b in zip(types, first, last, strict=True)]
    )


def _going_on(cg: Context, more: str, flags: Sequence[str]) -> str:
    """Whether there is another turn, and none of the flags that end the loop is set."""
    for flag in flags:
        unset = cg.writer.pure(f"xor i1 {flag}, true")
        more = cg.writer.pure(f"and i1 {more}, {unset}")
    return more


def _alternating(cg: Context, op: Op) -> dict[Value, int]:
    """The carried indices that begin with 0 or 1 and change between the two."""
    (body,) = op.regions
    found = {}
    for argument, first, last in zip(body.args[1:], op.operands[3:], body.ops[-1].operands, strict=True):
        if argument.type == INDEX and cg.facts.linear(last) == Linear({argument: -1}, 1):
            begin = cg.facts.constant(first)
            if begin in (0, 1):
                found[argument] = begin
    return found


def _below(cg: Context, op: Op, position: str, following: str) -> str:
    """Whether the following position is below the end, and not past the largest index where it could be."""
    hi, step = op.operands[1:3]
    below = _less(cg, following, cg.scalars[hi])
    if cg.exact.of(hi)[1] - 1 + cg.exact.of(step)[1] <= cg.exact.of_type(INDEX)[1]:
        return below
    passed = _less(cg, following, position)
    if cg.exact.of(step)[0] <= 0:
        # A step that is not positive never comes to an end, which is the kernel's mistake and not for here to hide.
        passed = cg.writer.pure(f"and i1 {passed}, {_less(cg, '0', cg.scalars[step])}")
    return _going_on(cg, below, [passed])


def _count(cg: Context, op: Op, loop: Loop, following: str) -> None:
    """Where a loop takes its position for nothing but to know the end, it counts up to 0 from below: whether that is
    reached is one bit, and a comparison of 64 bits takes two instructions and the end at hand."""
    lo, hi, step = (cg.exact.of(v) for v in op.operands[:3])
    least, most = cg.exact.of_type(INDEX)
    exact = step[0] > 0 and lo[0] - hi[1] >= least and hi[1] - 1 + step[1] <= most
    tests = cg.writer.uses(loop, following)
    if cg.index != "i64" or not exact or len(tests) != 1 or len(cg.writer.uses(loop, loop.names[0])) != 1:
        return
    begin, end, by = (cg.scalars[v] for v in op.operands[:3])
    left = cg.writer.counting(loop, cg.index, index.sub(cg, cg.index, begin, end), by)
    cg.writer.rewrite(tests[0], f"{following}, {end}", f"{left}, 0")


def _less(cg: Context, a: str, b: str) -> str:
    return cg.writer.pure(f"icmp slt {cg.index} {a}, {b}")


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
                width = _width(cg, value)
                found += [cg.type(element, width)] * (_runs(value) * layout.vector // width)
            case ScalarType():
                found.append(cg.type(value.type))
            case other:
                raise AssertionError(f"{other} cannot be carried")
    return found


def _operands(cg: Context, values: Iterable[Value]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value.type, TileType):
            element, whole, width = cg.type(value.type.element), _vector(value), _width(cg, value)
            for run in cg.registers[value]:
                found += [run] if width == whole else cg.lanes(run, element, whole)
        elif not isinstance(value.type, TokenType):
            found.append(cg.scalars[value])
    return found


def _bind_all(cg: Context, values: Sequence[Value], operands: Sequence[str]) -> None:
    rest = iter(operands)
    for value in values:
        if isinstance(value.type, TileType):
            element, pieces = cg.type(value.type.element), _vector(value) // _width(cg, value)
            cg.registers[value] = [cg.gathered(list(islice(rest, pieces)), element) for _ in range(_runs(value))]
        elif not isinstance(value.type, TokenType):
            cg.scalars[value] = next(rest)


def _bind(cg: Context, value: Value, operand: str) -> None:
    cg.scalars[value] = operand


def _width(cg: Context, value: Value) -> int:
    """How many elements of a tile are carried together."""
    assert isinstance(value.type, TileType)
    return 1 if cg.takes_apart(value.type.element) else _vector(value)


def _vector(value: Value) -> int:
    assert isinstance(value.type, TileType)
    assert value.type.layout is not None
    return value.type.layout.vector


def _runs(value: Value) -> int:
    """How many runs of a tile with a layout a thread holds."""
    assert isinstance(value.type, TileType)
    assert value.type.layout is not None
    return value.type.runs
