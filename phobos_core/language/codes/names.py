"""Codes of names: unknown, declared twice, or not to be assigned; and of functions and calls."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, statements

COPY = "C[:, :] = A[:, :]"
FUNCTIONS = "Functions"
STATEMENTS = "Statements"

CODES: tuple[Code, ...] = (
    Code(
        "unknown-name",
        "a name that nothing declares",
        STATEMENTS,
        "A name is a dimension, an `@autotune` name, a parameter, a local, a function or a built-in, declared"
        " before it is read.",
        statements("C[:, :] = D[:, :]"),
        statements(COPY),
    ),
    Code(
        "unknown-ctx-field",
        "a field that `ctx` does not have",
        "Indexing and synchronization",
        "`ctx` has the fields block, blocks (each with .x, .y, .z), threads, warps, lanes, thread, warp and lane.",
        statements("let b = ctx.grid.x\n" + COPY),
        statements("let b = ctx.blocks.x\n" + COPY),
    ),
    Code(
        "duplicate-name",
        "two declarations of one name in one scope",
        STATEMENTS,
        "Dimensions, `@autotune` names, parameters, locals and functions share one namespace, and a scope"
        " declares a name once. An inner scope may shadow a name of an outer one.",
        statements("let x = 1\nlet x = 2\n" + COPY),
        statements("let x = 1\nlet y = 2\n" + COPY),
    ),
    Code(
        "builtin-redefined",
        "a function named like a built-in",
        FUNCTIONS,
        "A function may not take the name of a built-in: every call of that name means the built-in.",
        "fn exp(x) = x + 1.0\n\n" + statements(COPY),
        "fn increment(x) = x + 1.0\n\n" + statements(COPY),
    ),
    Code(
        "immutable-assignment",
        "an assignment to what may not change",
        STATEMENTS,
        "A `let`, a parameter, a loop variable and a dimension keep their value. Only `x = e` is refused for"
        " a `let` of a slice: `x[..] = e` writes the bytes that it views.",
        statements("let x = 1\nx = 2\n" + COPY),
        statements("var x = 1\nx = 2\n" + COPY),
    ),
    Code(
        "not-assignable",
        "an assignment to what has no value to change",
        STATEMENTS,
        "The left side of an assignment is a `var`, or a slice or element of a tensor, a tile or a view.",
        "fn f(x) = x\n\n" + statements("f = 1\n" + COPY),
        statements("var f = 0\nf = 1\n" + COPY),
    ),
    Code(
        "not-callable",
        "a call of what is not a function",
        FUNCTIONS,
        "Only built-ins and functions are called, by name.",
        statements("let y = n(1)\n" + COPY),
        statements("let y = max(n, 1)\n" + COPY),
    ),
    Code(
        "not-a-value",
        "a function or built-in used as a value",
        FUNCTIONS,
        "A function is inlined where it is called; its name has no value of its own.",
        statements("let y = exp\n" + COPY),
        statements("let y = exp(1.0)\n" + COPY),
    ),
    Code(
        "argument-count",
        "a call with too few or too many arguments",
        "Built-ins",
        "A call gives one argument per parameter of the function or built-in.",
        statements("let y = exp(1.0, 2.0)\n" + COPY),
        statements("let y = exp(1.0)\n" + COPY),
    ),
    Code(
        "recursive-function",
        "a function that calls itself",
        FUNCTIONS,
        "A function is inlined at every call, so it may not call itself, directly or through others.",
        "fn f(x) = f(x) + 1\n\n" + statements("let y = f(n)\n" + COPY),
        "fn f(x) = x + 1\n\n" + statements("let y = f(n)\n" + COPY),
    ),
    Code(
        "too-much-inlined",
        "functions that inline to too much code",
        FUNCTIONS,
        "Every call puts the whole body in its place, so functions that call others more than once multiply. What one"
        " kernel may come to is bounded, and so are the levels of its nesting.",
        "fn level0(x) = x * x\n"
        + "".join(f"fn level{n}(x) = level{n - 1}(x) + level{n - 1}(x + 1)\n" for n in range(1, 16))
        + "\n"
        + statements("let y = level15(n)\n" + COPY),
        "fn level0(x) = x * x\nfn level1(x) = level0(x) + level0(x + 1)\n\n" + statements("let y = level1(n)\n" + COPY),
    ),
    Code(
        "jump-outside-loop",
        "`break` or `continue` outside a loop",
        STATEMENTS,
        "`break` and `continue` act on the innermost loop around them.",
        statements("break\n" + COPY),
        statements("for i in range(0, 4) {\n  break\n}\n" + COPY),
    ),
    Code(
        "no-effect",
        "a statement whose value goes nowhere",
        STATEMENTS,
        "An expression has no side effects but those of the built-ins called for them, so a value that is"
        " neither bound nor stored is lost.",
        statements("exp(1.0)\n" + COPY),
        statements("let y = exp(1.0)\n" + COPY),
        severity="warning",
    ),
    Code(
        "not-supported-yet",
        "a part of the language that this version does not compile",
        "Built-ins",
        "The language defines it, and this version of the compiler does not build it yet.",
        statements("var t = qdot_t(A[:, :], B[:, :], A[:, :], B[:, :])\n" + COPY),
        statements("var t = dot_t(A[:, :], B[:, :])\n" + COPY),
    ),
)
