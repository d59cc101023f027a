"""The built-ins of the spec's section Dense contraction: `dot` and `dot_t`."""

from __future__ import annotations

from phobos_core.language.builtins.schema import FLOATS, Builtin, Form, Scope, Section, tile, tile_result
from phobos_core.language.types import I8, I32


def float_form(b_shape: str) -> Form:
    return Form(
        (
            tile("a", "The left side.", FLOATS, "T", "M, K"),
            tile("b", "The right side.", FLOATS, "U", b_shape),
        ),
        tile_result("One sum of K products per element.", "join(T, U)", "M, N"),
        Scope.CTA,
        dynamic=("K",),
    )


I8_FORM = Form(
    (tile("a", "The left side.", (I8,), shape="M, K"), tile("b", "The right side.", (I8,), shape="N, K")),
    tile_result("One sum of K products per element.", I32, "M, N"),
    Scope.CTA,
    dynamic=("K",),
)

SUM_NOTE = (
    "f16, bf16 and f32 operands are summed in f32 and rounded once, where the product is stored: an f32"
    " destination takes the whole sum."
)
PATH_NOTE = (
    "Under `@tensorcore` the operands are rounded to f16; tensor cores need M, N and the k-slice to be multiples of 16."
)
FUSED_NOTE = "A product that only feeds the elementwise statement after it is updated as it is written out."

BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        "dot",
        Section.CONTRACTION,
        (float_form("K, N"),),
        "Multiplies two matrices.",
        """\
kernel product(A: tensor<f32>[64, 32], B: tensor<f32>[32, 64], C: tensor<f32>[64, 64]) {
  var c: tile<f32>[64, 64] = dot(A[:, :], B[:, :])
  C[:, :] = c
}
""",
        (SUM_NOTE, PATH_NOTE, FUSED_NOTE, "Integers are contracted by `dot_t` only."),
    ),
    Builtin(
        "dot_t",
        Section.CONTRACTION,
        (float_form("N, K"), I8_FORM),
        "Multiplies a matrix by the transpose of another, so that both are read along their rows.",
        """\
kernel scores(Q: tensor<f32>[64, 32], K: tensor<f32>[64, 32], S: tensor<f32>[64, 64]) {
  var s: tile<f32>[64, 64] = dot_t(Q[:, :], K[:, :])
  S[:, :] = s
}
""",
        (
            SUM_NOTE,
            PATH_NOTE,
            FUSED_NOTE,
            "i8 operands give i32: on integer tensor cores when the output is whole 8 x 8 blocks and K is a"
            " multiple of 16 (sm_75 and later), with `dp4a` when K is a multiple of 4, else one product"
            " at a time.",
        ),
    ),
)
