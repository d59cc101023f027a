"""Loads and stores of runs of elements, whole or under a condition.

In: a pointer, a width, a condition. Out: the operand loaded, 0 where the condition fails; nothing outside is touched.
An access under a condition is predicated PTX, since a branch around each would cut the code into blocks that hide
the accesses from each other. A run longer than 16 bytes is several accesses.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.codegen import index
from phobos_core.codegen.address import address
from phobos_core.codegen.context import Context, Memory
from phobos_core.codegen.index import Coord
from phobos_core.codegen.memory import advanced, valid
from phobos_core.ir.module import Op

WIDEST = 16
_SPACES = {1: "global", 3: "shared"}


def load_run(cg: Context, op: Op, place: Sequence[Coord], width: int, here: str = "true") -> str:
    """A run of what a `load` reads, where the condition `here` holds."""
    window = cg.windows[op.operands[0]]
    inside = index.both(cg, here, valid(cg, window, place))
    pointer = address(cg, window, place)
    if len(op.operands) == 2:
        return load(cg, window.memory, pointer, width, inside)
    # Any elements will do where the load's own condition does not hold.
    asked = cg.scalars[op.operands[2]]
    return load(cg, window.memory, pointer, width, index.both(cg, asked, inside), zero=inside != "true")


def load(cg: Context, memory: Memory, pointer: str, width: int, condition: str = "true", *, zero: bool = True) -> str:
    """Where the condition fails, 0, or anything if `zero` is not asked for."""
    type = cg.type(memory.element, width)
    size = memory.element.bytes * width
    if condition == "true":
        alignment = min(size, WIDEST)
        return cg.writer.value(f"load {type}, ptr addrspace({memory.space}) {pointer}, align {alignment}")
    if size > WIDEST:
        half = width // 2
        low = load(cg, memory, pointer, half, condition, zero=zero)
        high = load(cg, memory, advanced(cg, memory, pointer, str(size // 2)), half, condition, zero=zero)
        return cg.concatenated(low, high, cg.type(memory.element), half)
    return _predicated_load(cg, memory, pointer, type, size, condition, zero=zero)


def store(cg: Context, memory: Memory, pointer: str, operand: str, width: int, condition: str = "true") -> None:
    type = cg.type(memory.element, width)
    size = memory.element.bytes * width
    if condition == "true":
        alignment = min(size, WIDEST)
        cg.writer.effect(f"store {type} {operand}, ptr addrspace({memory.space}) {pointer}, align {alignment}")
    elif size > WIDEST:
        half = width // 2
        for part in range(2):
            lanes = ", ".join(f"i32 {part * half + i}" for i in range(half))
            piece = cg.writer.pure(f"shufflevector {type} {operand}, {type} poison, <{half} x i32> <{lanes}>")
            store(cg, memory, advanced(cg, memory, pointer, str(part * size // 2)), piece, half, condition)
    else:
        _predicated_store(cg, memory, pointer, operand, type, size, condition)


def _predicated_load(
    cg: Context, memory: Memory, pointer: str, type: str, size: int, condition: str, *, zero: bool
) -> str:
    count, word, constraint, opcode = _words(size)
    outputs = [f"${i}" for i in range(count)]
    target = outputs[0] if count == 1 else "{" + ", ".join(outputs) + "}"
    space = _SPACES[memory.space] + (".nc" if memory.read_only else "")
    text = f"@${count} ld.{space}{opcode} {target}, [${count + 1}];"
    # The outputs may start as 0: a load that does not happen leaves them so.
    first = range(count) if zero else ()
    # "Memory" keeps the load at its place: one that is used again far below would hold registers all the way.
    constraints = [f"={constraint}"] * count + ["b", "l"] + [str(i) for i in first] + ["~{memory}"]
    result = word if count == 1 else "{ " + ", ".join([word] * count) + " }"
    zeros = "".join(f", {word} 0" for _ in first)
    arguments = f"(i1 {condition}, ptr addrspace({memory.space}) {pointer}{zeros})"
    loaded = cg.writer.value(f'call {result} asm "{text}", "{",".join(constraints)}"{arguments}')
    if size == 1:
        return cg.writer.pure(f"trunc i16 {loaded} to i8")
    if count == 1:
        return _as(cg, loaded, word, type)
    words = [cg.writer.pure(f"extractvalue {result} {loaded}, {i}") for i in range(count)]
    return _as(cg, cg.gathered(words, word), f"<{count} x {word}>", type)


def _predicated_store(
    cg: Context, memory: Memory, pointer: str, operand: str, type: str, size: int, condition: str
) -> None:
    count, word, constraint, opcode = _words(size)
    if size == 1:
        words = [cg.writer.pure(f"zext i8 {operand} to i16")]
    else:
        whole = _as(cg, operand, type, word if count == 1 else f"<{count} x {word}>")
        words = cg.lanes(whole, word, count)
    inputs = [f"${i + 2}" for i in range(count)]
    source = inputs[0] if count == 1 else "{" + ", ".join(inputs) + "}"
    text = f"@$0 st.{_SPACES[memory.space]}{opcode} [$1], {source};"
    constraints = ",".join(["b", "l", *[constraint] * count, "~{memory}"])
    values = "".join(f", {word} {w}" for w in words)
    arguments = f"(i1 {condition}, ptr addrspace({memory.space}) {pointer}{values})"
    cg.writer.effect(f'call void asm sideeffect "{text}", "{constraints}"{arguments}')


def _words(size: int) -> tuple[int, str, str, str]:
    """How `size` bytes travel: the count of registers, their type, their asm constraint, the access's suffix."""
    match size:
        case 1:
            return 1, "i16", "h", ".b8"
        case 2:
            return 1, "i16", "h", ".b16"
        case 4:
            return 1, "i32", "r", ".b32"
        case _:
            return size // 4, "i32", "r", f".v{size // 4}.b32"


def _as(cg: Context, operand: str, source: str, target: str) -> str:
    return operand if source == target else cg.writer.pure(f"bitcast {source} {operand} to {target}")
