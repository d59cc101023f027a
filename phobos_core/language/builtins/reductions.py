"""The built-ins of the spec's section Reductions and shape: rank-2 tiles folded along rows, or rearranged."""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    FLOATS,
    NUMBERS,
    SIGNED,
    STORED,
    UNSIGNED,
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    tile,
    tile_result,
)
from phobos_core.language.types import I32, ScalarType

EXPRESSION_NOTE = (
    "The argument may be an elementwise expression over declared tiles and statically shaped slices of one"
    " element type; it is evaluated inside the reduction and never stored."
)


def row_reduction(name: str, summary: str, element: ScalarType | str, notes: tuple[str, ...], example: str) -> Builtin:
    operand = tile("t", "A rank-2 tile or elementwise expression.", NUMBERS, "T", "R, C")
    return Builtin(
        name,
        Section.REDUCTIONS,
        (Form((operand,), tile_result("A column of one element per row.", element, "R, 1"), Scope.CTA),),
        summary,
        example,
        (*notes, EXPRESSION_NOTE),
    )


def rearrangement(
    name: str,
    summary: str,
    elements: tuple[ScalarType, ...],
    shape: str,
    notes: tuple[str, ...],
    example: str,
    accepts: OperandKind = OperandKind.TILE,
) -> Builtin:
    operand = Param("t", (accepts,), f"{accepts.value.capitalize()} of rank 2.", elements, "T", ("R", "C"))
    return Builtin(
        name,
        Section.REDUCTIONS,
        (Form((operand,), tile_result("A tile of the same element type.", "T", shape), Scope.CTA),),
        summary,
        example,
        notes,
    )


GATHER_EXAMPLE = """\
kernel decode(CODE: tensor<f32>[1, 16], X: tensor<i32>[64, 32], O: tensor<f32>[64, 32]) {
  var table = CODE[:, :]
  var idx = X[:, :]
  var t = gather(table, idx)
  O[:, :] = t
}
"""


def gather_form(table_shape: str) -> Form:
    return Form(
        (
            tile("table", "The values, in one row.", STORED, "T", table_shape),
            tile("idx", "A position in the table for each element.", SIGNED + UNSIGNED, shape="R, C"),
        ),
        tile_result("The shape of `idx`, the element type of `table`.", "T", "R, C"),
        Scope.CTA,
        dynamic=("n",),
    )


GATHER = Builtin(
    "gather",
    Section.REDUCTIONS,
    (gather_form("n"), gather_form("1, n")),
    "Looks each element of an index tile up in a table.",
    GATHER_EXAMPLE,
    ("The table is `[n]` or `[1, n]`; a slice of a tensor may be a table of any extent.",),
)

BUILTINS: tuple[Builtin, ...] = (
    row_reduction(
        "rowmax",
        "Takes the largest element of each row.",
        "T",
        ("A NaN is ignored.", "Past the end of a tensor a slice reads 0, so mask a ragged tile first."),
        """\
kernel row_maxima(A: tensor<f32>[64, 128], O: tensor<f32>[64, 1]) {
  var m = rowmax(abs(A[:, :]))
  O[:, :] = m
}
""",
    ),
    row_reduction(
        "rowsum",
        "Adds up each row.",
        "T",
        ("The order of a float sum is not fixed.", "An integer sums in its own type, so a narrow one wraps."),
        """\
kernel row_norms(A: tensor<f32>[64, 128], O: tensor<f32>[64, 1]) {
  var x = A[:, :]
  var s = rowsum(x * x)
  O[:, :] = s
}
""",
    ),
    row_reduction(
        "rowargmax",
        "Finds the position of the largest element of each row, the first one on a tie.",
        I32,
        ("Top-k is k rounds of it, each masking its pick with `where`.",),
        """\
kernel best_column(A: tensor<f32>[64, 128], O: tensor<i32>[64, 1]) {
  var s = A[:, :]
  var idx = rowargmax(s)
  O[:, :] = idx
}
""",
    ),
    rearrangement(
        "cumsum",
        "Sums running down the rows: each element is the sum of those above it in its column and itself.",
        FLOATS,
        "R, C",
        ("Float only.", "Goes down the rows (axis 0), unlike the row reductions."),
        """\
kernel running_sum(G: tensor<f32>[64, 32], O: tensor<f32>[64, 32]) {
  var b = cumsum(G[:, :])
  O[:, :] = b
}
""",
    ),
    rearrangement(
        "tril",
        "Keeps the lower triangle, the diagonal with it, and puts 0 elsewhere.",
        FLOATS,
        "R, C",
        ("Float only.",),
        """\
kernel causal(P: tensor<f32>[64, 64]) {
  var p = P[:, :]
  p = tril(p)
  P[:, :] = p
}
""",
    ),
    rearrangement(
        "transpose",
        "Swaps rows and columns.",
        STORED,
        "C, R",
        (),
        """\
kernel turn(A: tensor<f32>[32, 64], O: tensor<f32>[64, 32]) {
  var t = transpose(A[:, :])
  O[:, :] = t
}
""",
    ),
    rearrangement(
        "flat",
        "Views a declared tile as one row of all its elements.",
        STORED,
        "1, R*C",
        ("A view of the same bytes in row-major order: writing through it writes the tile.",),
        """\
kernel grand_total(A: tensor<f32>[16, 64], O: tensor<f32>[1, 1]) {
  var t = A[:, :]
  var total = rowsum(flat(t))
  O[:, :] = total
}
""",
        accepts=OperandKind.NAMED_TILE,
    ),
    GATHER,
)
