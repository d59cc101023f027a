"""A kernel's basic blocks as executable pieces: micro-operations, then one way to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phobos_core.emulator.cfg import BRANCHES, ENDS, ControlFlow, control_flow, is_wait
from phobos_core.emulator.decode import Decoder, MicroOp, Value, unsupported
from phobos_core.emulator.machine import Active, Array
from phobos_core.emulator.ops import handler_of
from phobos_core.emulator.ops.load_store import STRONG_WORDS
from phobos_core.emulator.ptx import Instruction, Operand, Symbol


@dataclass(frozen=True, slots=True)
class Jump:
    target: int


@dataclass(frozen=True, slots=True)
class Branch:
    condition: Array
    negated: bool
    taken: int
    following: int


@dataclass(frozen=True, slots=True)
class Switch:
    index: Array
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Threads leave; a trap is a fault. Those that a guard keeps go on."""

    site: Instruction
    condition: Array | None
    negated: bool
    following: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """`count` is None when all threads of the block take part."""

    site: Instruction
    kind: str  # "sync", "arrive", "popc", "and", "or"
    number: Value
    count: Value | None
    aligned: bool
    following: int
    source: Value | None = None
    negated: bool = False
    destination: Array | None = None


Terminator = Jump | Branch | Switch | End | Barrier


@dataclass(frozen=True, slots=True)
class Block:
    """`polls`: it has an access through which another thread may be waited for."""

    full: tuple[Callable[[], object], ...]
    masked: tuple[Callable[[Active], object], ...]
    terminator: Terminator
    size: int
    polls: bool
    site: Instruction


@dataclass(frozen=True, slots=True)
class Program:
    blocks: tuple[Block, ...]
    flow: ControlFlow


def polls(at: Instruction) -> bool:
    """Whether another thread may be waited for through this access."""
    strong_load = at.opcode == "ld" and not STRONG_WORDS.isdisjoint(at.modifiers)
    return strong_load or at.opcode == "atom"


def build(decoder: Decoder) -> Program:
    kernel = decoder.kernel
    flow = control_flow(kernel)
    blocks = []
    for basic in flow.blocks:
        instructions = kernel.instructions[basic.start : basic.end]
        last = instructions[-1]
        ends = last.opcode in BRANCHES or last.opcode in ENDS or is_wait(last)
        following = flow.block_after(basic)
        operations = [_operation(decoder, at) for at in (instructions[:-1] if ends else instructions)]
        terminator = _terminator(decoder, flow, last, following) if ends else Jump(following)
        blocks.append(
            Block(
                tuple(operation.full for operation in operations),
                tuple(operation.masked for operation in operations),
                terminator,
                len(instructions),
                any(polls(at) for at in instructions),
                last,
            )
        )
    return Program(tuple(blocks), flow)


def _operation(decoder: Decoder, at: Instruction) -> MicroOp:
    try:
        return decoder.guarded(handler_of(at)(decoder, at), at)
    except (IndexError, ValueError) as error:
        raise unsupported(at) from error


def _terminator(decoder: Decoder, flow: ControlFlow, at: Instruction, following: int) -> Terminator:
    condition = None
    negated = False
    if at.guard is not None:
        condition = decoder.registers.view(at.guard.register.name, np.dtype(np.bool_), at)
        negated = at.guard.negated
    if at.opcode == "bra":
        label = at.operands[0]
        assert isinstance(label, Symbol)
        target = flow.block_of_label[label.name]
        return Jump(target) if condition is None else Branch(condition, negated, target, following)
    if at.opcode == "brx":
        table = at.operands[1]
        if condition is not None or not isinstance(table, Symbol):
            raise unsupported(at)
        index = decoder.read(at.operands[0], "u32", at)
        names = decoder.kernel.branch_tables[table.name]
        return Switch(np.asarray(index), tuple(flow.block_of_label[name] for name in names))
    if at.opcode in ENDS:
        return End(at, condition, negated, following)
    if condition is not None:
        raise unsupported(at)
    return _barrier(decoder, at, following)


def _barrier(decoder: Decoder, at: Instruction, following: int) -> Barrier:
    """bar and barrier, with or without `.cta`: sync, arrive and red."""
    words = [word for word in at.modifiers if word != "cta"]
    operation = words[0] if words else ""
    aligned = at.opcode == "bar" or "aligned" in words

    def unsigned(operand: Operand) -> Value:
        return decoder.read(operand, "u32", at)

    if operation in ("sync", "arrive"):
        number = unsigned(at.operands[0]) if at.operands else np.uint32(0)
        count = unsigned(at.operands[1]) if len(at.operands) > 1 else None
        return Barrier(at, operation, number, count, aligned, following)
    if operation == "red":
        kind = words[1]
        result = "b32" if kind == "popc" else "pred"
        if kind not in ("popc", "and", "or"):
            raise unsupported(at)
        source, negated = decoder.predicate(at.operands[-1], at)
        count = unsigned(at.operands[2]) if len(at.operands) > 3 else None
        destination = decoder.write(at.operands[0], result, at)
        return Barrier(at, kind, unsigned(at.operands[1]), count, aligned, following, source, negated, destination)
    raise unsupported(at)
