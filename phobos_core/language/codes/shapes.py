"""Codes of shapes, subscripts, contractions, reductions, and where `where` and `iota` may stand."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, statements

COPY = "C[:, :] = A[:, :]"
OPERATORS = "Operators and conversions"
SUBSCRIPTS = "Subscripts"

CODES: tuple[Code, ...] = (
    Code(
        "shape-mismatch",
        "extents that do not fit together",
        OPERATORS,
        "Extents of an axis are equal, or one of them is 1 and stretches. Contractions and reductions relate"
        " theirs as the table of built-ins says.",
        statements("C[:, :] = A[:, :] + B[0 :+ 32, :]"),
        statements("C[:, :] = A[:, :] + B[0 :+ 1, :]"),
    ),
    Code(
        "rank-mismatch",
        "operands of different rank",
        OPERATORS,
        "Both sides of an elementwise operation have the same number of axes.",
        "kernel example(A: tensor<f32>[64, 64], V: tensor<f32>[64]) {\n  A[:, :] = A[:, :] + V[:]\n}\n",
        "kernel example(A: tensor<f32>[64, 64], V: tensor<f32>[1, 64]) {\n  A[:, :] = A[:, :] + V[:, :]\n}\n",
    ),
    Code(
        "dynamic-extent",
        "a tile whose extent is not known at compile time",
        "Types",
        "A tile has static extents: literals, `@autotune` names, and what folds to a constant from them."
        " Walk a dynamic dimension with a loop over spans of a static length.",
        "kernel example(A: tensor<f32>[M, 64], C: tensor<f32>[M, 64]) {\n  C[:, :] = A[:, :] + 1.0\n}\n",
        "kernel example(A: tensor<f32>[M, 64], C: tensor<f32>[M, 64]) {\n"
        "  for i in range(0, M, 32) {\n    C[i :+ 32, :] = A[i :+ 32, :] + 1.0\n  }\n}\n",
    ),
    Code(
        "empty-extent",
        "an extent that is not positive",
        "Types",
        "A dimension of a tile or tensor has at least one element.",
        statements("var t: tile<f32>[0, 64] = 0.0\n" + COPY),
        statements("var t: tile<f32>[1, 64] = 0.0\n" + COPY),
    ),
    Code(
        "wrong-rank",
        "more or fewer subscripts than dimensions",
        SUBSCRIPTS,
        "An indexed name has one subscript per dimension.",
        statements("C[:, :] = A[:]"),
        statements(COPY),
    ),
    Code(
        "not-indexable",
        "a subscript on what has no elements",
        SUBSCRIPTS,
        "Tensors, tiles and views of them are indexed by name.",
        statements("let x = n[0]\n" + COPY),
        statements("let x = A[0, 0]\n" + COPY),
    ),
    Code(
        "out-of-bounds",
        "an index outside the dimension",
        SUBSCRIPTS,
        "A point is not masked, so its index lies within the extent. `check` reports a constant that does"
        " not, and the emulator any access outside a tensor.",
        statements("C[0, 0] = A[64, 0]"),
        statements("C[0, 0] = A[63, 0]"),
    ),
    Code(
        "empty-slice",
        "a slice with no elements",
        SUBSCRIPTS,
        "A span's length is positive, and the end of a range is above its start.",
        statements("var t = A[4 : 4, :]\n" + COPY),
        statements("var t = A[4 : 5, :]\n" + COPY),
    ),
    Code(
        "bad-step",
        "a loop step that is not positive",
        "Statements",
        "A `for` counts upward: a constant step is at least 1.",
        statements("for i in range(0, 64, 0) {\n  C[i, 0] = 1.0\n}"),
        statements("for i in range(0, 64, 1) {\n  C[i, 0] = 1.0\n}"),
    ),
    Code(
        "bad-unroll",
        "an unroll count that is not positive",
        "Statements",
        "`for<unroll n>` builds the body n times a turn, n a constant of at least 1, over a constant step.",
        statements("for<unroll 0> i in range(0, 64) {\n  C[i, 0] = 1.0\n}"),
        statements("for<unroll 4> i in range(0, 64) {\n  C[i, 0] = 1.0\n}"),
    ),
    Code(
        "where-placement",
        "a `where` on tiles that no assignment takes whole",
        "Elementwise",
        "On tiles `where` is the whole value of an assignment to a tile or slice, of a typed declaration, or"
        " of a `var` whose branches read a tile; it is swept into that tile. Another `where` may stand in its"
        " branches.",
        statements("var m = rowmax(where(A[:, :] > 0.0, A[:, :], 0.0))\n" + COPY),
        statements("var t = where(A[:, :] > 0.0, A[:, :], 0.0)\nvar m = rowmax(t)\n" + COPY),
    ),
    Code(
        "iota-placement",
        "an `iota` outside the value assigned to a tile",
        "Elementwise",
        "`iota` takes its shape from the tile that is assigned, so it stands only inside such a value.",
        statements("let i = iota(0)\n" + COPY),
        statements("var t: tile<i32>[64, 64] = iota(0)\n" + COPY),
    ),
    Code(
        "iota-axis",
        "an axis that the tile does not have",
        "Elementwise",
        "The axis of `iota` is a literal below the rank of the tile being assigned.",
        statements("var t: tile<i32>[64, 64] = iota(2)\n" + COPY),
        statements("var t: tile<i32>[64, 64] = iota(1)\n" + COPY),
    ),
    Code(
        "contraction-operand",
        "an operand that a contraction does not take",
        "Dense contraction",
        "`dot` and `dot_t` take tiles of rank 2 of f16, bf16, f32 or f64; `dot_t` also takes two of i8.",
        "kernel example(A: tensor<i32>[64, 64], C: tensor<i32>[64, 64]) {\n"
        "  var c: tile<i32>[64, 64] = dot_t(A[:, :], A[:, :])\n  C[:, :] = c\n}\n",
        "kernel example(A: tensor<i8>[64, 64], C: tensor<i32>[64, 64]) {\n"
        "  var c: tile<i32>[64, 64] = dot_t(A[:, :], A[:, :])\n  C[:, :] = c\n}\n",
    ),
    Code(
        "contraction-destination",
        "an integer contraction into a float tile",
        "Dense contraction",
        "i8 operands give an i32 product; convert it with `f32(..)` in a statement of its own.",
        "kernel example(A: tensor<i8>[64, 64], C: tensor<f32>[64, 64]) {\n"
        "  var c: tile<f32>[64, 64] = dot_t(A[:, :], A[:, :])\n  C[:, :] = c\n}\n",
        "kernel example(A: tensor<i8>[64, 64], C: tensor<f32>[64, 64]) {\n"
        "  var c: tile<i32>[64, 64] = dot_t(A[:, :], A[:, :])\n  C[:, :] = f32(c)\n}\n",
    ),
    Code(
        "reduction-operand",
        "an operand that a reduction does not take",
        "Reductions and shape",
        "Reductions and shape operations take a tile of rank 2 with a static shape.",
        "kernel example(V: tensor<f32>[64], C: tensor<f32>[64, 1]) {\n  var m = rowmax(V[:])\n  C[:, :] = m\n}\n",
        "kernel example(V: tensor<f32>[64, 8], C: tensor<f32>[64, 1]) {\n  var m = rowmax(V[:, :])\n  C[:, :] = m\n}\n",
    ),
)
