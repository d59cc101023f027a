"""Says for how many blocks of an SM the assembler shall make room, where it would otherwise spill to fit more.

Left alone, ptxas aims at as many blocks an SM as the kernel's shared memory leaves room for, and keeps to the
registers that so many blocks can have, spilling what is more. With `.minnctapersm` it takes what it wants, up to the
registers that the stated number of blocks can have.

In: a kernel, scheduled and placed, whose `@launch` says neither a number of blocks nor of registers. Out: the kernel
with `resident_blocks` set where a contraction, or what registers hold, is estimated to need more registers than ptxas
would leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.module import Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import Index, indexed
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.tree import nodes, read_along_k
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES, TARGETS, registers_of_a_thread

# Addresses, counters, what is read ahead, and what each further contraction keeps alive of them.
_BESIDE = 40
_EACH_FURTHER = 16
# What a row (or column) of a patch takes of an operand that is read along K, and what operands take at most.
_ACCESS = 4
_MOST_OPERANDS = 40
# Tiles that take so many of a thread's registers are more than ptxas should trade for blocks.
_MANY = 32
# Registers are handed out by the thread in steps of this many.
_STEP = 8


def residency(kernel: Kernel) -> Kernel:
    if kernel.min_blocks is not None or kernel.max_registers is not None:
        return kernel
    need = registers_needed(kernel)
    if need is None:
        return kernel
    aimed = _blocks(kernel)
    warps = -(-kernel.threads // LANES)
    fitting = next((n for n in range(aimed, 1, -1) if registers_of_a_thread(n * warps) >= need), 1)
    if fitting >= aimed:
        return kernel
    reason = (
        f"its contractions and the tiles in registers are estimated to need {need} registers a thread; "
        f"shared memory alone would let {aimed} blocks fit"
    )
    decision = Decision(kernel.line, "blocks", f"registers for {fitting} on an SM", reason)
    return replace(kernel, resident_blocks=fitting, decisions=(*kernel.decisions, decision))


def registers_needed(kernel: Kernel) -> int | None:
    """An estimate of what a thread takes; None where nothing takes much."""
    index = indexed(kernel.body)
    held = list(_lifetimes(index))
    most, lines = 0, set()
    for op in index.ops:
        schedule = op.attrs.get("schedule")
        if schedule is None:
            continue
        live = sum(lifetime.registers for lifetime in held if lifetime.covers(index, op))
        if isinstance(schedule, Contraction):
            lines.add(op.line)
            live += _contraction(index, op, schedule)
        most = max(most, live)
    # What little else a thread keeps, ptxas knows best: per-thread code may need more than is seen here.
    if not lines and most < _MANY:
        return None
    need = most + _BESIDE + _EACH_FURTHER * max(0, len(lines) - 1)
    return -(-need // _STEP) * _STEP


@dataclass(frozen=True, slots=True)
class _Lifetime:
    """Of a tile in registers: where it is defined, and for each of its uses the op and where that ends."""

    defined: int
    uses: Sequence[tuple[Op, int]]
    registers: int

    def covers(self, index: Index, op: Op) -> bool:
        """Whether the tile is there while `op` makes another."""
        at = index.position[op]
        return self.defined < at and any(end >= at and not _either(index, op, use) for use, end in self.uses)


def _lifetimes(index: Index) -> Iterator[_Lifetime]:
    places = [(value, index.end[op]) for op in index.ops for value in op.results]
    places += [(value, index.position[op]) for value, op in index.owner.items()]
    for value, defined in places:
        registers = _registers(value)
        if registers:
            uses = [(user, _end(index, value, user)) for user in _consumers(index, value)]
            yield _Lifetime(defined, uses, registers)


def _either(index: Index, a: Op, b: Op) -> bool:
    """Whether two ops are in the two branches of one `if`."""
    branches = {}
    for op in (a, *index.ancestors(a)):
        branches[index.parent[op]] = index.block_of[op]
    for op in (b, *index.ancestors(b)):
        around = index.parent[op]
        if around in branches:
            return around is not None and around.name == "if" and branches[around] is not index.block_of[op]
    return False


def _consumers(index: Index, value: Value) -> Iterator[Op]:
    """The ops that evaluate what is made of a value, and those that pass it on."""
    pending, seen = [value], set()
    while pending:
        for user in index.used_by(pending.pop()):
            if user in seen:
                continue
            seen.add(user)
            if len(user.results) == 1 and isinstance(user.result.type, TileType) and user.result.type.layout is None:
                pending.append(user.result)
            else:
                yield user


def _end(index: Index, value: Value, user: Op) -> int:
    """Where a use ends: with the outermost loop around it that the value is defined outside of."""
    end = index.position[user]
    for around in index.ancestors(user):
        if index.inside(value, around):
            break
        if around.name in ("for", "while"):
            end = index.end[around]
    return end


def _registers(value: Value) -> int:
    """What a tile with a layout takes of each thread."""
    if not isinstance(value.type, TileType) or value.type.layout is None:
        return 0
    return value.type.runs * value.type.layout.vector * -(-value.type.element.bytes // 4)


def _contraction(index: Index, op: Op, schedule: Contraction) -> int:
    """The registers of the operands, and of the sums unless they are those of a tile."""
    tile = op.operands[0 if op.name == "hold" else 1]
    dot = next(n.op for n in nodes(index, tile) if n.op.name == "dot")
    words = -(-element_of(dot.result.type).bytes // 4)
    lhs, rhs = dot.operands
    operands = 0
    for operand, count, k_axis in ((lhs, schedule.tm, 1), (rhs, schedule.tn, 1 if dot.attrs["transposed"] else 0)):
        operands += count * (_ACCESS if read_along_k(index, operand, k_axis) else words)
    added = index.definition[tile].name == "add" and any(map(_registers, index.definition[tile].operands))
    return min(operands, _MOST_OPERANDS) + (0 if added else words * schedule.tm * schedule.tn)


def _blocks(kernel: Kernel) -> int:
    """The blocks of an SM that all but the registers leave room for."""
    target = TARGETS[kernel.target]
    warps = -(-kernel.threads // LANES)
    granule = target.shared_granule
    shared = -(-(kernel.shared_bytes + target.shared_reserved) // granule) * granule
    by_shared = target.shared_per_sm // shared if shared else target.blocks_per_sm
    return min(target.blocks_per_sm, target.warps_per_sm // warps, by_shared)
