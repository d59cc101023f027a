"""Operations on packed words. Their operands' low 32 bits count; a `dp4a` sums in 32 bits, as the instruction does."""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.analysis import program as p
from phobos_core.ir.module import Value
from phobos_core.language.types import F16, I32, U32, ScalarType
from phobos_core.lower.context import Context

_RESULTS: dict[str, ScalarType] = {"dp4a": I32, "byteperm": U32, "popcount": I32, "f16bits": F16}


def bits(c: Context, e: p.Bits, args: Sequence[Value]) -> Value:
    words = [c.emit.convert(v, I32) for v in args]
    return c.emit.convert(c.emit.build.op(e.op, words, (_RESULTS[e.op],)).result, e.type)
