"""Codes of the text itself: grammar, literals, names that may not be names."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, statements

DEEP = 600
LEXICAL = "Lexical"

CODES: tuple[Code, ...] = (
    Code(
        "syntax-error",
        "the text does not follow the grammar",
        "Grammar",
        "A source is a list of kernels and functions. A statement ends at a newline or `;`, and a line goes"
        " on only inside brackets or after an operator or a comma.",
        statements("let x = 1 +* 2\nC[:, :] = A[:, :]"),
        statements("let x = 1 + 2\nC[:, :] = A[:, :]"),
    ),
    Code(
        "reserved-name",
        "a reserved word used as a name",
        LEXICAL,
        "Keywords and `ctx` may not be bound. `ctx` is read only through its fields. A kernel is not named `_` or"
        " `WARP_SZ`: its entry in the PTX has its name, and PTX has no such name to give.",
        statements("let ctx = 1\nC[:, :] = A[:, :]"),
        statements("let context = 1\nC[:, :] = A[:, :]"),
    ),
    Code(
        "literal-too-large",
        "a literal that no type holds",
        "Types",
        "An integer literal is an index, at most 9223372036854775807. A float literal is finite as an f64.",
        statements("let x = 9223372036854775808\nC[:, :] = A[:, :]"),
        statements("let x = 9223372036854775807\nC[:, :] = A[:, :]"),
    ),
    Code(
        "nesting-too-deep",
        "an expression or block nested too deeply",
        "Grammar",
        "The checker follows nesting up to a fixed depth; bind a part to a name with `let`.",
        statements(f"let x = {'(' * DEEP}1{')' * DEEP}\nC[:, :] = A[:, :]"),
        statements("let x = ((1))\nC[:, :] = A[:, :]"),
    ),
    Code(
        "no-kernels",
        "a file without kernels",
        "Grammar",
        "A file that declares no kernel gives nothing to build. A file of functions only is complete, but is"
        " not compiled by itself.",
        "// nothing here yet\n",
        statements("C[:, :] = A[:, :]"),
        severity="warning",
    ),
)
