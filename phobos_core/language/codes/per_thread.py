"""Codes of the per-thread rules. The messages of the first three are fixed by the spec: `FIXED_MESSAGES`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from phobos_core.language.codes.schema import Code

PER_THREAD = "Per-thread values"
COLLECTIVES = "Collectives and shuffles"

# The texts that a message must have, `op` the operation, `x` the operand and `t` the buffer.
FIXED_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "once-per-cta": "`{op}` runs once per CTA, so every thread must reach it",
        "differs-between-lanes": "`{op}` takes `{x}`, which differs between lanes",
        "missing-barrier": "`{op}` reads `{t}` after a per-thread store to it with no `barrier()` between",
        "once-per-warp": "`{op}` runs once per warp, so every lane must reach it",
    }
)


def matrices(body: str) -> str:
    lines = "".join(f"  {line}\n" for line in body.split("\n"))
    params = "A: tensor<f32>[256, 64], C: tensor<f32>[256, 64], O: tensor<f32>[256]"
    return f"kernel example({params}) {{\n{lines}}}\n"


CODES: tuple[Code, ...] = (
    Code(
        "once-per-cta",
        "an operation of the whole CTA that some threads do not reach",
        PER_THREAD,
        "A tile operation, a barrier, an atomic and the like run once per CTA: every thread must reach them,"
        " so they stand under uniform control only.",
        matrices("if ctx.lane == 0 {\n  barrier()\n}"),
        matrices("if ctx.block.x == 0 {\n  barrier()\n}"),
    ),
    Code(
        "differs-between-lanes",
        "an operand that must be the same in every thread",
        PER_THREAD,
        "The scalar operands of an operation that runs once per CTA are uniform, slice offsets too: a slice"
        " at a per-thread offset is not a tile.",
        matrices("let i = ctx.thread\nvar t = A[i :+ 4, :]"),
        matrices("let i = ctx.block.x\nvar t = A[i :+ 4, :]"),
    ),
    Code(
        "missing-barrier",
        "a buffer read by the CTA before its per-thread stores have landed",
        PER_THREAD,
        "A buffer that threads store to one by one is read by no operation of the whole CTA until a"
        " `barrier()`: another thread's store may not have landed.",
        matrices("A[ctx.thread, 0] = 1.0\nC[:, :] = A[:, :]"),
        matrices("A[ctx.thread, 0] = 1.0\nbarrier()\nC[:, :] = A[:, :]"),
    ),
    Code(
        "once-per-warp",
        "a collective that some lanes of a warp do not reach",
        COLLECTIVES,
        "A fold over `ctx.lane` and a shuffle need every lane of their warp: control that is the same across"
        " a warp, never per lane.",
        matrices("var s = 0.0\nif ctx.lane < 8 {\n  s = sum<over ctx.lane>(O[ctx.thread])\n}"),
        matrices("var s = 0.0\nif ctx.warp < 8 {\n  s = sum<over ctx.lane>(O[ctx.thread])\n}"),
    ),
    Code(
        "group-width",
        "a width, mask or distance that the group does not have",
        COLLECTIVES,
        "`width` is a constant power of two that divides `ctx.lanes`, and only for groups of lanes; a"
        " constant mask or distance is below it.",
        matrices("let s = sum<over ctx.lane, width 12>(O[ctx.thread])\nO[ctx.thread] = s"),
        matrices("let s = sum<over ctx.lane, width 16>(O[ctx.thread])\nO[ctx.thread] = s"),
    ),
    Code(
        "collective-form",
        "brackets that the operation does not take",
        COLLECTIVES,
        "sum, min, max, any, all, argmax and reduce fold `over` ctx.lane or ctx.thread; `shfl` reads `from`,"
        " `xor`, `down` or `up` a lane.",
        matrices("let s = shfl<over ctx.lane>(O[ctx.thread])\nO[ctx.thread] = s"),
        matrices("let s = shfl<xor 1>(O[ctx.thread])\nO[ctx.thread] = s"),
    ),
    Code(
        "run-operand",
        "a slice that is no run of a thread, or a value that is not per element",
        COLLECTIVES,
        "A run is a slice with one span of a constant length, `X[i, k :+ 16]`, and single indices beside it, of a"
        " tensor, a whole tile or its `flat()` view. `sum(e)` adds up a value per element of runs and scalars.",
        matrices("O[ctx.thread] = sum(A[ctx.thread, :])"),
        matrices("O[ctx.thread] = sum(A[ctx.thread, 0 :+ 64])"),
    ),
    Code(
        "run-length",
        "a run whose length does not fit",
        COLLECTIVES,
        "The runs of one `sum` have one length, `store` takes one value per element, and `word` a run of whole"
        " words of four bytes.",
        matrices("O[ctx.thread] = sum(A[ctx.thread, 0 :+ 4] * C[0, 0 :+ 8])"),
        matrices("O[ctx.thread] = sum(A[ctx.thread, 0 :+ 8] * C[0, 0 :+ 8])"),
    ),
    Code(
        "function-argument",
        "an argument that a function body writes or indexes",
        "Functions",
        "A parameter of a statement function that the body indexes or assigns must be passed a name.",
        "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("clear(1.0)"),
        "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("clear(C)"),
    ),
    Code(
        "function-form",
        "a function called in the wrong form",
        "Functions",
        "A function with an expression is called as a value; one with a block is called as a statement.",
        "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("let x = clear(C)"),
        "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("clear(C)"),
    ),
    Code(
        "return-in-function",
        "a `return` in a function",
        "Functions",
        "A function is spliced into its caller, so it may not return.",
        "fn clear(t) {\n  t[0, 0] = 0.0\n  return\n}\n\n" + matrices("clear(C)"),
        "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("clear(C)"),
    ),
)
