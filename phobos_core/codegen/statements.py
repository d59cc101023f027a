"""The ops of a block, one after the other: scalars become operands, stores and synchronisation become code, control
becomes blocks with phis. Virtual tile values are only remembered; the store that consumes one evaluates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phobos_core.codegen import access, asynchronous, exchange, index, memory, patches, runs
from phobos_core.codegen.arithmetic import elementwise
from phobos_core.codegen.context import Context, Memory
from phobos_core.codegen.contraction import contraction
from phobos_core.codegen.control import for_loop, if_else, while_loop
from phobos_core.codegen.pairs import paired
from phobos_core.codegen.reduction import row_reduction
from phobos_core.codegen.row_fold import row_fold
from phobos_core.codegen.scan import column_scan
from phobos_core.codegen.sweep import load_runs, sweep
from phobos_core.ir.module import Block, Op
from phobos_core.ir.ops import OPS
from phobos_core.ir.pairs import partner
from phobos_core.ir.schedule import ColumnScan, Contraction, PatchSweep, RowFold, RowReduction, RowSweep, Sweep
from phobos_core.ir.types import MemType, TileType, element_of
from phobos_core.language.targets import LANES

_MOST_BLOCKS = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}


def block(cg: Context, body: Block) -> None:
    waiting: tuple[Op, Op] | None = None
    for number, op in enumerate(body.ops):
        cg.line = op.line or cg.line
        cg.writer.at_line(op.line)
        if waiting is None:
            other = partner(body.ops, number)
            if other is not None:
                waiting = op, other
                continue
        elif op is waiting[1]:
            if not paired(cg, *waiting):
                statement(cg, waiting[0])
                statement(cg, op)
            waiting = None
            continue
        statement(cg, op)


def statement(cg: Context, op: Op) -> None:
    emit = _STATEMENTS.get(op.name)
    if emit is not None:
        emit(cg, op)
    elif isinstance(op.result.type, TileType):
        pass  # evaluated where it is consumed
    elif OPS[op.name].elementwise:
        cg.scalars[op.results[0]] = elementwise(cg, op, [cg.scalars[v] for v in op.operands], 1)
    else:
        raise AssertionError(f"codegen does not know the op {op.name}")


def _const(cg: Context, op: Op) -> None:
    (result,) = op.results
    cg.scalars[result] = cg.constant(op.attrs["value"], element_of(result.type))


def _ctx(cg: Context, op: Op) -> None:
    name, _, axis = op.attrs["field"].partition(".")
    match name:
        case "block":
            operand = _special(cg, f"ctaid.{axis}", 0, _MOST_BLOCKS[axis])
        case "blocks":
            operand = _special(cg, f"nctaid.{axis}", 1, _MOST_BLOCKS[axis] + 1)
        case "threads":
            operand = str(cg.kernel.threads)
        case "lanes":
            operand = str(LANES)
        case "warps":
            operand = str(cg.kernel.threads // LANES)
        case "thread":
            operand = cg.thread
        case "warp":
            operand = index.operand(cg, index.divided(cg, index.thread(cg), LANES)[0])
        case "lane":
            operand = index.operand(cg, index.divided(cg, index.thread(cg), LANES)[1])
        case _:
            raise AssertionError(f"ctx has no field {op.attrs['field']}")
    cg.scalars[op.results[0]] = index.resized(cg, operand, "i32", cg.index, "zext")


def _special(cg: Context, register: str, first: int, end: int) -> str:
    name = f"llvm.nvvm.read.ptx.sreg.{register}"
    cg.writer.declarations[name] = f"declare i32 @{name}()"
    return cg.writer.pure(f"call range(i32 {first}, {wrapped(end)}) i32 @{name}()")


def wrapped(value: int) -> int:
    """As a signed 32-bit number."""
    return value - (1 << 32) if value >= 1 << 31 else value


def _alloc(cg: Context, op: Op) -> None:
    cg.memories[op.results[0]] = memory.allocation(cg, op, cg.shared)


def _flat(cg: Context, op: Op) -> None:
    (result,) = op.results
    assert isinstance(result.type, MemType)
    cg.memories[result] = memory.flat(cg.memories[op.operands[0]], result.type)


def _view(cg: Context, op: Op) -> None:
    cg.windows[op.results[0]] = memory.window(cg, op)


def _load(cg: Context, op: Op) -> None:
    """A load without a layout is virtual."""
    assert isinstance(op.result.type, TileType)
    if op.result.type.layout is not None:
        load_runs(cg, op)


def _hold(cg: Context, op: Op) -> None:
    match op.attrs["schedule"]:
        case PatchSweep(layout, vector, down):
            patches.hold(cg, op, layout, vector, down=down)
        case RowSweep(layout):
            patches.hold(cg, op, layout.patches, 1)
        case RowFold() as schedule:
            row_fold(cg, op, schedule)
        case Contraction() as schedule:
            contraction(cg, op, schedule)
        case other:
            raise AssertionError(f"{other} holds no tile in registers")


def _store(cg: Context, op: Op) -> None:
    match op.attrs["schedule"]:
        case Sweep(vector, first):
            sweep(cg, op, vector, first)
        case PatchSweep(layout, vector, down):
            patches.sweep(cg, op, layout, vector, down=down)
        case RowSweep(layout):
            patches.sweep(cg, op, layout.patches, 1)
        case RowFold() as schedule:
            row_fold(cg, op, schedule)
        case Contraction() as schedule:
            contraction(cg, op, schedule)
        case RowReduction() as schedule:
            row_reduction(cg, op, schedule)
        case ColumnScan():
            column_scan(cg, op)


def _point(cg: Context, op: Op, operands: int) -> tuple[Memory, str]:
    """The buffer and the address of a point op that has `operands` operands after its indices."""
    buffer = cg.memories[op.operands[0]]
    rest = op.operands[1 : len(op.operands) - operands]
    staged = len(rest) > len(buffer.strides)
    stage = rest[0] if staged else None
    return buffer, memory.element_pointer(cg, buffer, rest[1:] if staged else rest, stage)


def _load_point(cg: Context, op: Op) -> None:
    buffer, pointer = _point(cg, op, 1)
    cg.scalars[op.results[0]] = access.load(cg, buffer, pointer, 1)


def _store_point(cg: Context, op: Op) -> None:
    buffer, pointer = _point(cg, op, 2)
    with cg.writer.guarded("true" if op.attrs.get("each") else index.less(cg, cg.thread, 1)):
        access.store(cg, buffer, pointer, cg.scalars[op.operands[-2]], 1)


def _barrier(cg: Context, op: Op) -> None:
    cg.writer.effect(cg.writer.call_text("void", "llvm.nvvm.barrier.cta.sync.aligned.all", ("i32", "0")))


def _trap_if(cg: Context, op: Op) -> None:
    writer = cg.writer
    trap, go_on = writer.fresh_label("trap"), writer.fresh_label("end")
    writer.branch(cg.scalars[op.operands[0]], trap, go_on)
    writer.start(trap)
    writer.effect(writer.call_text("void", "llvm.trap"))
    writer.effect("unreachable")
    writer.start(go_on)


def _for(cg: Context, op: Op) -> None:
    for_loop(cg, op, block)


def _while(cg: Context, op: Op) -> None:
    while_loop(cg, op, block)


def _if(cg: Context, op: Op) -> None:
    if_else(cg, op, block)


def _yield(cg: Context, op: Op) -> None:
    """Read by the op whose region this ends."""


_STATEMENTS: Mapping[str, Callable[[Context, Op], None]] = {
    "const": _const,
    "ctx": _ctx,
    "alloc": _alloc,
    "flat": _flat,
    "view": _view,
    "load": _load,
    "hold": _hold,
    "store": _store,
    "load_point": _load_point,
    "store_point": _store_point,
    "async_copy": asynchronous.copy,
    "async_commit": asynchronous.commit,
    "async_wait": asynchronous.wait,
    "barrier": _barrier,
    "sync": _barrier,
    "load_run": runs.load_run,
    "store_run": runs.store_run,
    "run_element": runs.run_element,
    "run_word": runs.run_word,
    "shuffle": exchange.shuffle,
    "vote": exchange.votes,
    "ballot": exchange.votes,
    "redux": exchange.redux_sync,
    "uniform": exchange.uniform,
    "dp4a": exchange.dp4a,
    "byteperm": exchange.byteperm,
    "popcount": exchange.popcount,
    "f16bits": exchange.f16bits,
    "atomic_add": exchange.atomic,
    "atomic_cas": exchange.atomic,
    "load_acquire": exchange.load_acquire,
    "store_release": exchange.store_release,
    "grid_sync": exchange.grid_sync,
    "trap_if": _trap_if,
    "for": _for,
    "while": _while,
    "if": _if,
    "yield": _yield,
}
