"""The attention built-in: one decode step of attention over a range of keys, split between the warps."""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    FLOATS,
    INTEGERS,
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    Use,
    extents,
    scalar_result,
    uniform_scalar,
)
from phobos_core.language.types import F16, F32, INDEX, ScalarType


def operand(name: str, kind: OperandKind, elements: tuple[ScalarType, ...], shape: str, doc: str) -> Param:
    return Param(name, (kind,), doc, elements, shape=extents(shape))


FORM = Form(
    (
        operand("q", OperandKind.NAMED_TILE, FLOATS, "QG, D", "The queries of one group, unmasked."),
        operand("K", OperandKind.TENSOR, (F16,), "NK, KW", "The keys."),
        operand("V", OperandKind.TENSOR, (F16,), "NK, KW", "The values."),
        uniform_scalar("lo", "The first key of the CTA's range.", INTEGERS),
        uniform_scalar("hi", "One past the last key of the range.", INTEGERS),
        uniform_scalar("col", "The column where this head's D values start in a row.", INTEGERS),
        operand("WM", OperandKind.NAMED_TILE, (F32,), "QG, W", "Receives each warp's largest score."),
        operand("WL", OperandKind.NAMED_TILE, (F32,), "QG, W", "Receives each warp's sum of exponentials."),
        operand("WACC", OperandKind.NAMED_TILE, (F32,), "QG*W, D", "Receives each warp's weighted sum of values."),
        uniform_scalar("scale", "What every score is multiplied by.", FLOATS),
    ),
    scalar_result("The index 0: called for its effect.", INDEX),
    Scope.CTA,
    dynamic=("NK", "KW"),
    multiples=(("D", 32),),
)

BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        "warp_partial",
        Section.ATTENTION,
        (FORM,),
        "Runs one decode step of attention over a range of keys, each warp on its share, leaving one partial"
        " result per warp.",
        """\
@launch(128)
kernel decode_step(Q: tensor<f32>[4, 64],
                   K: tensor<f16>[NK, 512],
                   V: tensor<f16>[NK, 512],
                   M: tensor<f32>[4, 4],
                   L: tensor<f32>[4, 4],
                   ACC: tensor<f32>[16, 64],
                   scale: f32) {
  var q = Q[:, :]
  var wm: tile<f32>[4, 4]
  var wl: tile<f32>[4, 4]
  var wacc: tile<f32>[16, 64]
  warp_partial(q, K, V, 0, NK, 0, wm, wl, wacc, scale)
  M[:, :] = wm
  L[:, :] = wl
  ACC[:, :] = wacc
}
""",
        (
            "W is the number of warps in the CTA, and D a multiple of 32.",
            "Warp w takes the w-th of W equal shares of the keys from lo to hi. For each query it leaves the"
            " largest score m in WM, the sum of exp(score - m) in WL, and the values weighted by it in WACC.",
            "A warp with no keys leaves -3.0e38, 0 and 0.",
            "Ends in a CTA barrier. Merging the W partial results is the caller's.",
        ),
        use=Use.EITHER,
    ),
)
