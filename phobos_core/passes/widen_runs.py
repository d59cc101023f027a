"""Chooses how wide the accesses to each thread's own run are: as wide as its length and its address allow.

In: `load_run` and `store_run`, an element an access. Out: each with the `vector` of its accesses, up to 16 bytes: the
largest power of two that divides the length and, as far as the divisors of the subscripts and of the extents show,
every address. Each is a decision, with what keeps it from being wider; one that leans on the assumed divisor of an
extent adds a requirement of the launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phobos_core.ir.divisors import Vectors, Width
from phobos_core.ir.module import Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import Index, indexed, rewrite, with_attrs
from phobos_core.ir.tree import buffer_of, stages_of
from phobos_core.ir.types import MemType, RunType

_WIDEST = 16


def widen_runs(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    runs = [op for op in index.ops if op.name in ("load_run", "store_run")]
    if not runs:
        return kernel
    vectors = Vectors(kernel, index)
    widths = {op: _width(vectors, index, op) for op in runs}
    relied = sorted({dim for width in widths.values() for dim in width.relies_on})
    decisions = [_decision(kernel, vectors, index, op, width) for op, width in widths.items()]
    return replace(
        kernel,
        body=rewrite(kernel.body, lambda op: [with_attrs(op, vector=widths[op].vector)] if op in widths else None),
        decisions=(*kernel.decisions, *dict.fromkeys(d for d in decisions if d is not None)),
        requires=(*kernel.requires, *(r for r in vectors.requirements(relied) if r not in kernel.requires)),
    )


def _width(vectors: Vectors, index: Index, op: Op) -> Width:
    mem = op.operands[0]
    if not _is_last(op):
        return Width(1)
    return vectors.widest_run(mem, _indices(index, op), _length(op))


def _decision(kernel: Kernel, vectors: Vectors, index: Index, op: Op, width: Width) -> Decision | None:
    mem, length = op.operands[0], _length(op)
    buffer = buffer_of(index, mem)
    alloc = index.definition.get(buffer)
    if length == 1 or (alloc is not None and alloc.attrs.get("temporary")):
        return None
    assert isinstance(mem.type, MemType)
    size = mem.type.element.bytes
    count, bytes = length // width.vector, width.vector * size
    verb = "load" if op.name == "load_run" else "store"
    accesses = f"{count} {verb}s" if count > 1 else f"one {verb}"
    choice = f"{accesses} of {bytes} byte{'s' if bytes > 1 else ''}"
    return Decision(op.line, f"run of `{buffer.hint}`", choice, _reason(kernel, vectors, index, op, width))


def _reason(kernel: Kernel, vectors: Vectors, index: Index, op: Op, width: Width) -> str:
    """What keeps the accesses from being wider."""
    mem, length = op.operands[0], _length(op)
    assert isinstance(mem.type, MemType)
    size = mem.type.element.bytes
    if not _is_last(op):
        return "the run does not go along the last dimension, so its elements are not neighbours in memory"
    if width.vector * size == _WIDEST:
        return "its address is a multiple of 16 bytes, the widest access"
    if width.vector == length:
        return "all of it, at an address that is a multiple of its size"
    known = vectors.multiple(mem, _indices(index, op), kernel.assumed) * size
    if known and known < _WIDEST and known <= width.vector * size:
        return f"its address is known to be a multiple of {known} byte{'s' if known > 1 else ''} only"
    return f"its {length} elements are a whole number of accesses of {width.vector}, not of more"


def _is_last(op: Op) -> bool:
    mem = op.operands[0].type
    assert isinstance(mem, MemType)
    return bool(op.attrs["axis"] == len(mem.shape) - 1)


def _length(op: Op) -> int:
    if op.name == "store_run":
        return int(op.attrs["length"])
    assert isinstance(op.result.type, RunType)
    return op.result.type.length


def _indices(index: Index, op: Op) -> Sequence[Value]:
    """The indices of the first element, without the stage."""
    mem = op.operands[0]
    assert isinstance(mem.type, MemType)
    first = 2 if stages_of(index, mem) > 1 else 1
    return op.operands[first : first + len(mem.type.shape)]
