"""Codes of types: declarations, joins, conversions, and which kind of value an operand must be."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, statements

COPY = "C[:, :] = A[:, :]"
TYPES = "Types"
OPERATORS = "Operators and conversions"
STATEMENTS = "Statements"
UNSIGNED = "kernel example(X: tensor<u8>[64, 64], O: tensor<i32>[64, 64]) {{\n  var x = X[:, :]\n  {}\n}}\n"

CODES: tuple[Code, ...] = (
    Code(
        "unknown-type",
        "a type that the language does not have",
        TYPES,
        "The scalar types are f16, bf16, f32, f64, i8, i32, i64, u8, u16, u32 and bool; the shaped ones"
        " `tensor<T>[dims]` and `tile<T>[dims]`.",
        statements("var t: tile<f8>[64, 64] = 0.0\nC[:, :] = t"),
        statements("var t: tile<f16>[64, 64] = 0.0\nC[:, :] = t"),
    ),
    Code(
        "misplaced-type",
        "a shaped type where it may not stand",
        TYPES,
        "A tensor is global memory and only a kernel parameter; a tile is shared memory of the CTA and only a local.",
        "kernel example(t: tile<f32>[64, 64]) {}\n",
        "kernel example(t: tensor<f32>[64, 64]) {}\n",
    ),
    Code(
        "bool-storage",
        "a tile or tensor of bool",
        TYPES,
        "bool is the result of a comparison; there are no tiles or tensors of it. Store 0 and 1, chosen by `where`.",
        statements("var t: tile<bool>[64, 64]\n" + COPY),
        statements("var t: tile<i8>[64, 64] = 0\n" + COPY),
    ),
    Code(
        "unsigned-scalar",
        "a scalar of an unsigned type",
        TYPES,
        "u8, u16 and u32 are storage for tensors and tiles. A scalar read from them is an index.",
        "kernel example(n: u8) {}\n",
        "kernel example(n: i32) {}\n",
    ),
    Code(
        "unsigned-arithmetic",
        "arithmetic on unsigned storage",
        TYPES,
        "A tile of u8, u16 or u32 takes no arithmetic; convert it first, as in `i32(t)`, which is fused into"
        " the sweep.",
        UNSIGNED.format("O[:, :] = x + 1"),
        UNSIGNED.format("O[:, :] = i32(x) + 1"),
    ),
    Code(
        "type-mismatch",
        "a value of one type where another is needed",
        OPERATORS,
        "Assignment converts a float to a float and an index to a float or to integer storage by itself;"
        " everything else is spelled, as in `i32(x)`.",
        statements("var t: tile<i32>[64, 64] = 0\nt = A[:, :]\n" + COPY),
        statements("var t: tile<i32>[64, 64] = 0\nt = i32(A[:, :])\n" + COPY),
    ),
    Code(
        "no-join",
        "operands of types that have no common type",
        OPERATORS,
        "Both operands of a mixed operation convert to their join: the wider float, the wider integer, or the"
        " float. A bool joins nothing but a bool.",
        statements("let x = (n > 0) + 1\n" + COPY),
        statements("let x = where(n > 0, 1, 0) + 1\n" + COPY),
    ),
    Code(
        "no-conversion",
        "a conversion that does not exist",
        OPERATORS,
        "f16, bf16, f32, f64, i8, i32 and i64 convert numbers. Nothing converts to unsigned storage, and"
        " nothing to or from bool.",
        statements("let x = f32(n > 0)\n" + COPY),
        statements("let x = where(n > 0, 1.0, 0.0)\n" + COPY),
    ),
    Code(
        "float-bit-operation",
        "a bitwise operation on a float",
        OPERATORS,
        "`&`, `|`, `^`, `<<`, `>>` and `~` take integers: index scalars and integer tiles.",
        statements("let x = 1.0 & 3\n" + COPY),
        statements("let x = 1 & 3\n" + COPY),
    ),
    Code(
        "logical-operand",
        "a logical operation on what is not a bool",
        OPERATORS,
        "`&&`, `||` and `!` take bools, the results of comparisons; `!` takes scalars only.",
        statements("let x = n && true\n" + COPY),
        statements("let x = n != 0 && true\n" + COPY),
    ),
    Code(
        "tile-comparison",
        "a comparison of tiles outside `where`",
        OPERATORS,
        "There is no tile of bool: tiles are compared only in the condition of a `where`.",
        statements("let x = A[:, :] < B[:, :]\n" + COPY),
        statements("var x = A[:, :]\nx = where(A[:, :] < B[:, :], 1.0, 0.0)\n" + COPY),
    ),
    Code(
        "condition-type",
        "a condition that is not a scalar bool",
        STATEMENTS,
        "`if` and `while` take a scalar bool, such as a comparison.",
        statements("if n {\n  C[:, :] = A[:, :]\n}"),
        statements("if n != 0 {\n  C[:, :] = A[:, :]\n}"),
    ),
    Code(
        "index-type",
        "a position that is not an integer",
        "Subscripts",
        "Subscripts, lengths and loop bounds are integers.",
        statements("C[0, 0] = A[1.5, 0]"),
        statements("C[0, 0] = A[1, 0]"),
    ),
    Code(
        "missing-initializer",
        "a declaration without a value",
        STATEMENTS,
        "Only a `var` of tile type may be declared without a value.",
        statements("var x: f32\n" + COPY),
        statements("var x: f32 = 0.0\n" + COPY),
    ),
    Code(
        "not-a-tile",
        "an operand that must be a tile",
        "Reductions and shape",
        "The operand is a tile: a declared tile, a slice, or an elementwise expression over them.",
        statements("var m = rowmax(n)\n" + COPY),
        statements("var m = rowmax(A[:, :])\n" + COPY),
    ),
    Code(
        "not-a-named-tile",
        "an operand that must be a declared tile",
        "Reductions and shape",
        "`flat` views a declared tile by its name, not a slice or an expression.",
        statements("var f = rowsum(flat(A[:, :]))\n" + COPY),
        statements("var a = A[:, :]\nvar f = rowsum(flat(a))\n" + COPY),
    ),
    Code(
        "not-a-scalar",
        "an operand that must be a scalar",
        "Types",
        "A scalar is one value per thread; a tile or a slice has many. An element of it is a scalar.",
        statements("let x: f32 = A[:, :]\n" + COPY),
        statements("let x: f32 = A[0, 0]\n" + COPY),
    ),
    Code(
        "not-a-tensor",
        "an operand that must be a tensor parameter",
        "Indexing and synchronization",
        "Atomics, flags and `grid_barrier` take a tensor parameter by its name.",
        "kernel example(n: i32) {\n  let old = atomic_add(n, 0, 1)\n}\n",
        "kernel example(COUNT: tensor<i32>[1]) {\n  COUNT[0] = 1\n}\n",
    ),
    Code(
        "element-type",
        "an element type that the built-in does not take",
        "Built-ins",
        "Each built-in lists the element types that it takes, and which of its operands share one.",
        "kernel example(X: tensor<i32>[64, 64]) {\n  var t = cumsum(X[:, :])\n  X[:, :] = i32(t)\n}\n",
        "kernel example(X: tensor<i32>[64, 64]) {\n  var t = cumsum(f32(X[:, :]))\n  X[:, :] = i32(t)\n}\n",
    ),
    Code(
        "not-constant",
        "a value that must be known at compile time",
        "Statements",
        "Tile extents, unroll counts, widths and axes fold to a constant: literals, `@autotune` names, static"
        " dimensions, and arithmetic on them.",
        statements("for<unroll n> i in range(0, 4) {\n  C[i, 0] = 1.0\n}"),
        statements("for<unroll 2> i in range(0, 4) {\n  C[i, 0] = 1.0\n}"),
    ),
    Code(
        "division-by-zero",
        "a division by a constant zero",
        OPERATORS,
        "An integer divided by zero has no value.",
        statements("let x = n / 0\n" + COPY),
        statements("let x = n / 2\n" + COPY),
    ),
    Code(
        "f64-math",
        "a math call that loses the precision of f64",
        "Elementwise",
        "Math calls compute in f32, and so give no more than its precision for an f64.",
        "kernel example(X: tensor<f64>[64, 64]) {\n  X[:, :] = exp(X[:, :])\n}\n",
        "kernel example(X: tensor<f32>[64, 64]) {\n  X[:, :] = exp(X[:, :])\n}\n",
        severity="note",
    ),
)
