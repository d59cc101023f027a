"""Built-ins of one thread: its run of elements, packed bytes, and bit patterns.

They stand in the spec's sections Operators and conversions and (`sum` without a group) Collectives and
shuffles. They run in each thread on its own, under any control.
"""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    INTEGERS,
    SCALARS,
    STORED,
    Builtin,
    Form,
    OperandKind,
    Param,
    Section,
    Use,
    scalar,
    scalar_result,
)
from phobos_core.language.types import F16, I8, INDEX

WORD = "An integer; its low 32 bits are used."

BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        "f16bits",
        Section.OPERATORS,
        (
            Form(
                (scalar("x", "An integer; its low 16 bits are used.", INTEGERS),),
                scalar_result("An f16.", F16),
            ),
        ),
        "Reads the low 16 bits of an integer as an f16.",
        """\
kernel block_scale(B: tensor<i8>[1, 4], O: tensor<f32>[1]) {
  O[0] = f32(f16bits((B[0, 0] & 255) | ((B[0, 1] & 255) << 8)))
}
""",
        ("For a half that is packed in the bytes of a block.",),
    ),
    Builtin(
        "elem",
        Section.OPERATORS,
        (
            Form(
                (
                    Param("X", (OperandKind.RUN,), "A run `X[.., k :+ n]` of the thread.", STORED, "T"),
                    Param("i", (OperandKind.CONSTANT,), "Which element of the run.", (INDEX,)),
                ),
                scalar_result("The element, widened as a scalar load is.", "T"),
            ),
        ),
        "Reads one element of a thread's run.",
        """\
kernel first_two(X: tensor<f32>[256, 4], O: tensor<f32>[256]) {
  let t = ctx.thread
  O[t] = elem(X[t, 0 :+ 4], 0) + elem(X[t, 0 :+ 4], 1)
}
""",
        ("The elements of one run share one load, a vector access where the address allows it.",),
    ),
    Builtin(
        "store",
        Section.OPERATORS,
        (
            Form(
                (
                    Param("Y", (OperandKind.RUN,), "A run `Y[.., k :+ n]` of the thread.", STORED),
                    Param("v", (OperandKind.SCALAR,), "One value per element.", SCALARS, variadic=True),
                ),
                scalar_result("The index 0: called for its effect.", INDEX),
            ),
        ),
        "Writes a thread's run, one value per element.",
        """\
kernel pairs(X: tensor<f32>[256], Y: tensor<f32>[256, 2]) {
  let t = ctx.thread
  store(Y[t, 0 :+ 2], X[t], X[t] * 2.0)
}
""",
        ("One vector access where the address allows it.", "A per-thread store to the buffer."),
        use=Use.STATEMENT,
    ),
    Builtin(
        "word",
        Section.OPERATORS,
        (
            Form(
                (
                    Param("T", (OperandKind.RUN,), "A run of i8, a whole number of 4-byte words.", (I8,)),
                    Param("t", (OperandKind.CONSTANT,), "Which word; 0 if left out.", (INDEX,), optional=True),
                ),
                scalar_result("The word, unsigned.", INDEX),
            ),
        ),
        "Reads four bytes of a thread's run as one little-endian word.",
        """\
kernel packed(B: tensor<i8>[256, 8], O: tensor<i64>[256]) {
  let t = ctx.thread
  O[t] = word(B[t, 0 :+ 8], 1)
}
""",
        ("The words of one run share one load.",),
    ),
    Builtin(
        "dp4a",
        Section.OPERATORS,
        (
            Form(
                (
                    scalar("x", WORD, INTEGERS),
                    scalar("y", WORD, INTEGERS),
                    scalar("acc", "What is added to.", INTEGERS),
                ),
                scalar_result("The new sum.", INDEX),
            ),
        ),
        "Adds the four products of the signed bytes of two words to a sum.",
        """\
kernel byte_dots(A: tensor<i8>[256, 4], B: tensor<i8>[256, 4], O: tensor<i32>[256]) {
  let t = ctx.thread
  O[t] = dp4a(word(A[t, 0 :+ 4]), word(B[t, 0 :+ 4]), 0)
}
""",
        min_target=61,
    ),
    Builtin(
        "byteperm",
        Section.OPERATORS,
        (
            Form(
                (
                    scalar("x", "The word with bytes 0 to 3.", INTEGERS),
                    scalar("y", "The word with bytes 4 to 7.", INTEGERS),
                    scalar("sel", "Nibble i says which byte becomes byte i of the result.", INTEGERS),
                ),
                scalar_result("The word, unsigned.", INDEX),
            ),
        ),
        "Picks four of the eight bytes of two words by a selector.",
        """\
kernel swap_bytes(B: tensor<i8>[256, 4], O: tensor<i64>[256]) {
  let t = ctx.thread
  O[t] = byteperm(word(B[t, 0 :+ 4]), 0, 291)
}
""",
        ("`prmt` on NVIDIA.",),
    ),
    Builtin(
        "popcount",
        Section.OPERATORS,
        (Form((scalar("x", WORD, INTEGERS),), scalar_result("From 0 to 32.", INDEX)),),
        "Counts the set bits in the low 32 bits of an integer.",
        """\
kernel bit_counts(X: tensor<i32>[256], O: tensor<i32>[256]) {
  let t = ctx.thread
  O[t] = popcount(X[t])
}
""",
    ),
    Builtin(
        "sum",
        Section.COLLECTIVES,
        (
            Form(
                (
                    Param(
                        "e",
                        (OperandKind.PER_ELEMENT,),
                        "An expression over runs of one length (`W[col, k :+ 16]`) and scalars.",
                        SCALARS,
                    ),
                ),
                scalar_result("An index for integers, an f32 for floats (an f64 stays).", "sum(e)"),
            ),
        ),
        "Adds up a per-element expression over the thread's own runs.",
        """\
kernel row_dots(A: tensor<i8>[256, 16], B: tensor<i8>[256, 16], O: tensor<i32>[256]) {
  let t = ctx.thread
  O[t] = sum(i32(A[t, 0 :+ 16]) * i32(B[t, 0 :+ 16]))
}
""",
        (
            "A run is one vector load when it is the last dimension, at most 16 bytes, a power of two in size"
            " and provably aligned; else one load per element. It is not masked.",
            "A product of i8 runs, a multiple of four long, is one `dp4a` per four elements; either side may"
            " be a masked or shifted nibble.",
            "With angle brackets it is a collective: `sum<over ctx.lane>(x)`.",
        ),
    ),
)
