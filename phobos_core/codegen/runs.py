"""A thread's own runs: loaded and stored in the accesses that the pass chose, and read by the element or by the word.

Bytes in accesses of four or more are kept as words: a byte of a word costs one instruction, and a word none.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.codegen import access, index, memory
from phobos_core.codegen.context import Context, Memory, Run
from phobos_core.ir.module import Op, Value
from phobos_core.ir.types import RunType
from phobos_core.language.types import U32

_WORD = 4


def load_run(cg: Context, op: Op) -> None:
    run = op.result.type
    assert isinstance(run, RunType)
    vector = op.attrs.get("vector", 1)
    packed = run.element.bytes == 1 and vector % _WORD == 0
    buffer, pointers = _pointers(cg, op, op.operands[1:-1], run.length, vector)
    seen, width = (replace(buffer, element=U32), vector // _WORD) if packed else (buffer, vector)
    cg.runs[op.result] = Run([access.load(cg, seen, pointer, width) for pointer in pointers], vector, packed)


def store_run(cg: Context, op: Op) -> None:
    length, vector = op.attrs["length"], op.attrs.get("vector", 1)
    *indices, _ = op.operands[1:]
    buffer, pointers = _pointers(cg, op, tuple(indices[:-length]), length, vector)
    operands = [cg.scalars[v] for v in indices[-length:]]
    for number, pointer in enumerate(pointers):
        part = operands[number * vector : (number + 1) * vector]
        access.store(cg, buffer, pointer, cg.gathered(part, cg.type(buffer.element)), vector)


def run_element(cg: Context, op: Op) -> None:
    cg.scalars[op.result] = _element(cg, op.operands[0], op.attrs["position"])


def run_word(cg: Context, op: Op) -> None:
    (value,) = op.operands
    run, position = cg.runs[value], op.attrs["position"]
    if run.packed:
        cg.scalars[op.result] = _word(cg, run, position)
        return
    bytes = [_element(cg, value, _WORD * position + i) for i in range(_WORD)]
    cg.scalars[op.result] = cg.writer.pure(f"bitcast <4 x i8> {cg.gathered(bytes, 'i8')} to i32")


def _element(cg: Context, value: Value, position: int) -> str:
    assert isinstance(value.type, RunType)
    run, type = cg.runs[value], cg.type(value.type.element)
    if run.packed:
        word, byte = divmod(position, _WORD)
        shifted = _word(cg, run, word)
        if byte:
            shifted = cg.writer.pure(f"lshr i32 {shifted}, {8 * byte}")
        return cg.writer.pure(f"trunc i32 {shifted} to i8")
    return cg.part(run.accesses[position // run.vector], type, run.vector, position % run.vector, 1)


def _word(cg: Context, run: Run, position: int) -> str:
    words = run.vector // _WORD
    return cg.part(run.accesses[position // words], "i32", words, position % words, 1)


def _pointers(cg: Context, op: Op, indices: tuple[Value, ...], length: int, vector: int) -> tuple[Memory, list[str]]:
    """The buffer, and where each access begins."""
    buffer = cg.memories[op.operands[0]]
    staged = len(indices) > len(buffer.strides)
    stage = indices[0] if staged else None
    first = memory.element_pointer(cg, buffer, indices[1:] if staged else indices, stage)
    stride = buffer.strides[op.attrs["axis"]]
    pointers = []
    for start in range(0, length, vector):
        if isinstance(stride, int):
            offset = str(start * stride * buffer.element.bytes)
        else:
            wide = index.resized(cg, stride, cg.index, "i64")
            offset = index.mul(cg, "i64", wide, str(start * buffer.element.bytes))
        pointers.append(memory.advanced(cg, buffer, first, offset))
    return buffer, pointers
