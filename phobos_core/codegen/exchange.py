"""What threads do with each other, and with packed words: shuffles, votes, atomics, flags, the barrier of the grid.

Memory operations that other blocks or the host see in order are PTX of their own, since LLVM's atomics would take
fences of the whole system before Volta. There, the order is kept by `membar`.
"""

from __future__ import annotations

from phobos_core.codegen import memory
from phobos_core.codegen.context import Context
from phobos_core.codegen.shuffle import from_lane, redux, vote
from phobos_core.ir.module import Op
from phobos_core.ir.types import element_of
from phobos_core.language.targets import LEAST_SM, TARGETS

# How PTX names the values of an atomic, and the asm constraint of their registers, by LLVM type.
_ATOMIC = {"i32": ("u32", "r"), "float": ("f32", "f")}
# The count of the blocks that have come, then the number of the round.
_ROUND = "4"


def shuffle(cg: Context, op: Op) -> None:
    value, lane = op.operands
    operands = cg.scalars[value], element_of(value.type), op.attrs["mode"], cg.scalars[lane], op.attrs["width"]
    cg.scalars[op.result] = from_lane(cg, *operands)


def votes(cg: Context, op: Op) -> None:
    cg.scalars[op.result] = vote(cg, op.attrs.get("kind", "ballot"), cg.scalars[op.operands[0]])


def redux_sync(cg: Context, op: Op) -> None:
    cg.require("redux", "redux.sync")
    cg.scalars[op.result] = redux(cg, op.attrs["kind"], cg.scalars[op.operands[0]])


def uniform(cg: Context, op: Op) -> None:
    cg.scalars[op.result] = cg.scalars[op.operands[0]]


# Packed words


def dp4a(cg: Context, op: Op) -> None:
    cg.require("dp4a", "dp4a")
    signs = ".".join("u" if unsigned else "s" for unsigned in op.attrs.get("unsigned", (False, False)))
    cg.scalars[op.result] = _words(cg, op, f"llvm.nvvm.idp4a.{signs}")


def byteperm(cg: Context, op: Op) -> None:
    cg.scalars[op.result] = _words(cg, op, "llvm.nvvm.prmt")


def popcount(cg: Context, op: Op) -> None:
    cg.scalars[op.result] = _words(cg, op, "llvm.ctpop.i32")


def f16bits(cg: Context, op: Op) -> None:
    low = cg.writer.pure(f"trunc i32 {cg.scalars[op.operands[0]]} to i16")
    cg.scalars[op.result] = cg.writer.pure(f"bitcast i16 {low} to half")


def _words(cg: Context, op: Op, name: str) -> str:
    return cg.writer.call("i32", name, *(("i32", cg.scalars[v]) for v in op.operands))


# Memory that other blocks and the host see


def atomic(cg: Context, op: Op) -> None:
    """`atomic_add` and `atomic_cas`."""
    scalars = 1 if op.name == "atomic_add" else 2
    type = cg.type(element_of(op.results[0].type))
    name, constraint = _ATOMIC[type]
    name = name if op.name == "atomic_add" else "b32"
    operands = [cg.scalars[v] for v in op.operands[-1 - scalars : -1]]
    pointer = _pointer(cg, op, scalars)
    operation = f"{op.name.removeprefix('atomic_')}.{name}"
    cg.scalars[op.results[0]] = _atom(cg, operation, type, constraint, pointer, operands)


def load_acquire(cg: Context, op: Op) -> None:
    cg.require("acquire_release", "load_acquire")
    pointer = _pointer(cg, op, 0)
    text = "ld.acquire.sys.global.u32 $0, [$1];"
    cg.scalars[op.results[0]] = _asm(cg, "i32", text, "=r,l", f"ptr addrspace(1) {pointer}")


def store_release(cg: Context, op: Op) -> None:
    cg.require("acquire_release", "store_release")
    pointer = _pointer(cg, op, 1)
    value = cg.scalars[op.operands[-2]]
    _effect(cg, "st.release.sys.global.u32 [$0], $1;", "l,r", f"ptr addrspace(1) {pointer}, i32 {value}")


def grid_sync(cg: Context, op: Op) -> None:
    """The last block to come opens the next round, for which the others wait.

    The round is read before the block counts itself, so it cannot have ended yet; and the count is 0 again before the
    next round begins, so that the counters serve any number of barriers, of this launch and of the next.
    """
    w = cg.writer
    count = cg.memories[op.operands[0]].base
    round = memory.advanced(cg, cg.memories[op.operands[0]], count, _ROUND)
    blocks = cg.scalars[op.operands[1]]
    if cg.index == "i64":
        blocks = w.pure(f"trunc i64 {blocks} to i32")
    current = _load_device(cg, round)
    before = _atom(cg, "add.u32", "i32", "r", count, ["1"])
    last = w.value(f"icmp eq i32 {before}, {w.pure(f'add i32 {blocks}, -1')}")
    opens, waits, end = w.fresh_label("last"), w.fresh_label("wait"), w.fresh_label("end")
    w.branch(last, opens, waits)
    w.start(opens)
    with w.scope():
        _store_device(cg, count, "0", "relaxed")
        _store_device(cg, round, w.value(f"add i32 {current}, 1"), "release")
    w.jump(end)
    w.start(waits)
    seen = _load_device(cg, round)
    w.branch(w.value(f"icmp eq i32 {seen}, {current}"), waits, end)
    w.start(end)


def _pointer(cg: Context, op: Op, scalars: int) -> str:
    """The address of an op with so many scalars after its indices."""
    return memory.element_pointer(cg, cg.memories[op.operands[0]], op.operands[1 : -1 - scalars])


def _ordered(cg: Context) -> bool:
    """Whether the target's accesses carry their order themselves."""
    return TARGETS[cg.kernel.target].sm >= LEAST_SM["acquire_release"]


def _atom(cg: Context, operation: str, type: str, constraint: str, pointer: str, operands: list[str]) -> str:
    """Atomically on the device, ordered with all of the thread's accesses."""
    inputs = ", ".join(f"${i + 2}" for i in range(len(operands)))
    text = f"atom.acq_rel.gpu.global.{operation} $0, [$1], {inputs};"
    if not _ordered(cg):
        text = f"membar.gl; atom.global.{operation} $0, [$1], {inputs}; membar.gl;"
    constraints = ",".join([f"={constraint}", "l", *[constraint] * len(operands)])
    arguments = ", ".join([f"ptr addrspace(1) {pointer}", *(f"{type} {v}" for v in operands)])
    return _asm(cg, type, text, constraints, arguments)


def _load_device(cg: Context, pointer: str) -> str:
    text = "ld.acquire.gpu.global.u32 $0, [$1];" if _ordered(cg) else "ld.volatile.global.u32 $0, [$1]; membar.gl;"
    return _asm(cg, "i32", text, "=r,l", f"ptr addrspace(1) {pointer}")


def _store_device(cg: Context, pointer: str, value: str, order: str) -> None:
    text = f"st.{order}.gpu.global.u32 [$0], $1;"
    if not _ordered(cg):
        text = f"{'membar.gl; ' if order == 'release' else ''}st.volatile.global.u32 [$0], $1;"
    _effect(cg, text, "l,r", f"ptr addrspace(1) {pointer}, i32 {value}")


def _asm(cg: Context, type: str, text: str, constraints: str, arguments: str) -> str:
    return cg.writer.value(f'call {type} asm sideeffect "{text}", "{constraints},~{{memory}}"({arguments})')


def _effect(cg: Context, text: str, constraints: str, arguments: str) -> None:
    cg.writer.effect(f'call void asm sideeffect "{text}", "{constraints},~{{memory}}"({arguments})')
