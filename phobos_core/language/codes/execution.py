"""Codes of a run: what the emulator reports of a kernel while it executes its PTX.

A kernel that the checker accepts can still give the first few. The others would be a fault of the compiler, or of
PTX that was written by hand.
"""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, Stage

TILES = "Tiles and shared memory"
COLLECTIVES = "Collectives and shuffles"
PER_THREAD = "Per-thread values"

SCALE = (
    "{}kernel example(A: tensor<f32>[M, 64]) {{\n"
    "  let row = ctx.block.x * 64\n"
    "  A[row :+ 64, :] = A[row :+ 64, :] * 2.0\n}}\n"
)
REVERSE = (
    "kernel example(A: tensor<f32>[256], B: tensor<f32>[256]) {{\n"
    "  A[ctx.thread] = 1.0\n{}  B[ctx.thread] = A[255 - ctx.thread]\n}}\n"
)


QUOTIENT = "kernel example(A: tensor<i32>[4]) {{\n  A[0] = 8 / ({})\n}}\n"


def run(code: str, title: str, section: str, rule: str, wrong: str = "", right: str = "") -> Code:
    return Code(code, title, section, rule, wrong, right, stage=Stage.RUN)


CODES: tuple[Code, ...] = (
    run(
        "unspecified-value",
        "an integer divided by zero",
        "Operators and conversions",
        "An integer `/` or `%` by zero that only a run shows has any value: the reference reports it, and a GPU may"
        " give another one.",
        QUOTIENT.format("ctx.blocks.x - 1"),
        QUOTIENT.format("ctx.blocks.x"),
    )._replace(severity="warning"),
    run(
        "uninitialised-shared",
        "a tile read before anything is stored to it",
        TILES,
        "A `var` tile without a value holds nothing that may be read until it is assigned.",
        "kernel example(C: tensor<f32>[64, 64]) {\n  var t: tile<f32>[64, 64]\n  C[:, :] = t\n}\n",
        "kernel example(C: tensor<f32>[64, 64]) {\n  var t: tile<f32>[64, 64] = 0.0\n  C[:, :] = t\n}\n",
    ),
    run(
        "race-global",
        "two threads at one element of a tensor with no barrier between",
        PER_THREAD,
        "When a thread stores to an element that another thread of the block reads or stores to, a"
        " `barrier()` stands between; where the other thread is of another block, a `grid_barrier` or a flag."
        " Two stores of the same value are no race.",
        REVERSE.format(""),
        REVERSE.format("  barrier()\n"),
    ),
    run(
        "race-shared",
        "two threads at one element of a tile with no barrier between",
        PER_THREAD,
        "When a thread stores to an element of a tile that another thread of the block reads or stores to, a"
        " `barrier()` stands between. Two stores of the same value are no race.",
    ),
    run(
        "endless-loop",
        "a loop that does not end",
        "Statements",
        "A run has a limit on instructions, which `--max-instructions` of `phobos run` and `max_instructions` of a"
        " launch raise. A `while` ends when its condition fails, which only an"
        " assignment in its body or another block can bring about; a `for` whose step is not positive never"
        " ends.",
        "kernel example(C: tensor<f32>[1]) {\n  var i = 0\n  while i < 4 {\n    C[0] = 1.0\n  }\n}\n",
        "kernel example(C: tensor<f32>[1]) {\n  var i = 0\n  while i < 4 {\n    C[0] = 1.0\n    i += 1\n  }\n}\n",
    ),
    run(
        "deadlock",
        "threads that wait for each other for good",
        "Indexing and synchronization",
        "What a `barrier()` or a loop on `load_acquire` waits for comes from a thread or block that can still run.",
    ),
    run(
        "trap",
        "a launch that breaks a promise of @aligned",
        "Bounds and masking",
        "@aligned(DIM = tile) on a dynamic dimension is checked once at entry: where DIM is not a whole"
        " number of tile, the kernel stops.",
        SCALE.format("@aligned(M = 64)\n"),
        SCALE.format(""),
    ),
    run(
        "misaligned",
        "an access at an address that is not a multiple of its size",
        TILES,
        "A vector access needs an address that is a multiple of its size; the compiler uses one only where"
        " it can prove that.",
    ),
    run(
        "async-unwaited",
        "the destination of an asynchronous copy touched before it was waited for",
        TILES,
        "What `cp.async` writes may be read after the wait for its group and a barrier.",
    ),
    run(
        "divergent-barrier",
        "a barrier that only some threads reach",
        PER_THREAD,
        "Every thread of the CTA reaches a barrier, or the others wait for good.",
    ),
    run(
        "divergent-collective",
        "a shuffle or vote that some lanes of its group do not reach",
        COLLECTIVES,
        "Every lane of the group executes a collective together.",
    ),
)
