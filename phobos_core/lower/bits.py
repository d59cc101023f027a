"""Operations on packed words: the low 32 bits of their operands.

A `dp4a` is exact as an index, and the instruction sums in 32 bits. It sums by itself where the result is known to fit,
or goes into an i32 anyway; else it gives the sum of the products, which is then added.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.analysis import program as p
from phobos_core.ir.module import Decision, Value
from phobos_core.language.types import F16, I32, U32, ScalarType
from phobos_core.lower.context import Context

_RESULTS: dict[str, ScalarType] = {"byteperm": U32, "popcount": I32, "f16bits": F16}
# The sum of four products of signed bytes.
_LEAST, _MOST = 4 * -128 * 127, 4 * 128 * 128


def bits(c: Context, e: p.Bits, args: Sequence[Value]) -> Value:
    line = c.at(e.span)
    if e.op == "dp4a":
        return _dp4a(c, e, args, line)
    words = [c.emit.convert(v, I32) for v in args]
    return c.emit.convert(c.emit.build.op(e.op, words, (_RESULTS[e.op],)).result, e.type)


def dp4a_wrapped(c: Context, e: p.Bits, args: Sequence[Value]) -> Value:
    """A `dp4a` that goes into an i32."""
    c.at(e.span)
    x, y, acc = (c.emit.convert(v, I32) for v in args)
    return c.emit.dp4a(x, y, acc)


def _dp4a(c: Context, e: p.Bits, args: Sequence[Value], line: int) -> Value:
    emit = c.emit
    x, y = (emit.convert(v, I32) for v in args[:2])
    lo, hi = emit.exact.of(args[2])
    if lo + _LEAST >= -(1 << 31) and hi + _MOST < 1 << 31:
        return emit.convert(emit.dp4a(x, y, emit.convert(args[2], I32)), e.type)
    reason = "the sum may pass 32 bits; an accumulator declared as `i32` takes the instruction alone"
    c.decisions.append(Decision(line, "dp4a", "products by dp4a, added as an index", reason))
    return emit.add(emit.convert(emit.dp4a(x, y, emit.const(0, I32)), e.type), args[2])
