"""The built-ins of the spec's section Elementwise: one value per element, on a tile or on a scalar."""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    FLOATS,
    NUMBERS,
    SCALARS,
    SIGNED,
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    scalar,
    scalar_or_tile,
    scalar_result,
    tile,
    tile_result,
)
from phobos_core.language.types import BOOL, F32, I32, INDEX

BROADCAST = "The operands' broadcast shape."


def math_forms(doc: str) -> tuple[Form, ...]:
    return (
        Form((tile("t", doc, FLOATS, "T"),), tile_result("The shape and type of `t`.", "T"), Scope.CTA),
        Form((scalar("t", doc, FLOATS),), scalar_result("An f32.", F32)),
    )


def math_example(call: str) -> str:
    name = call.partition("(")[0]
    return f"""\
kernel {name}_rows(A: tensor<f32>[64, 64], O: tensor<f32>[64, 64]) {{
  var t = A[:, :]
  t = {call}
  O[:, :] = t
}}
"""


def math(name: str, summary: str, note: str, operand: str = "The argument.", min_target: int = 0) -> Builtin:
    """A call of one float argument: on a tile in the tile's type, on a scalar in f32."""
    return Builtin(
        name,
        Section.ELEMENTWISE,
        math_forms(operand),
        summary,
        math_example(f"{name}(t)"),
        (note, "On a scalar the result is an f32."),
        min_target=min_target,
    )


POW = Builtin(
    "pow",
    Section.ELEMENTWISE,
    (
        Form(
            (
                scalar_or_tile("a", "The base, above 0.", FLOATS, "T"),
                scalar_or_tile("b", "The exponent.", FLOATS, "U"),
            ),
            tile_result(BROADCAST, "join(T, U)"),
            Scope.CTA,
        ),
        Form(
            (scalar("a", "The base, above 0.", FLOATS), scalar("b", "The exponent.", FLOATS)),
            scalar_result("An f32.", F32),
        ),
    ),
    "Raises the first argument to the power of the second.",
    math_example("pow(abs(t) + 1.0, 1.5)"),
    ("Approximate: computed as `exp(b * log(a))`, so only for `a > 0`.", "On scalars the result is an f32."),
)

ABS = Builtin(
    "abs",
    Section.ELEMENTWISE,
    (
        Form(
            (tile("t", "A float or integer tile.", NUMBERS, "T"),),
            tile_result("The shape and type of `t`.", "T"),
            Scope.CTA,
        ),
        Form((scalar("t", "A float.", FLOATS),), scalar_result("An f32.", F32)),
        Form((scalar("t", "An integer.", (*SIGNED, INDEX), "T"),), scalar_result("The type of `t`.", "T")),
    ),
    "Drops the sign.",
    math_example("abs(t)"),
    ("Exact. An integer `x` gives `max(x, -x)`, so the least value of its type stays as it is.",),
)

WHERE = Builtin(
    "where",
    Section.ELEMENTWISE,
    (
        Form(
            (
                Param("c", (OperandKind.CONDITION,), "Comparisons joined by `&&` and `||`.", (BOOL,)),
                scalar_or_tile("a", "Taken where `c` holds.", SCALARS, "T"),
                scalar_or_tile("b", "Taken elsewhere.", SCALARS, "U"),
            ),
            tile_result("The shape of the tile that is assigned.", "join(T, U)"),
            Scope.CTA,
            assigned_only=True,
        ),
        Form(
            (
                Param("c", (OperandKind.CONDITION,), "A bool.", (BOOL,)),
                scalar("a", "The result where `c` holds.", SCALARS, "T"),
                scalar("b", "The result elsewhere.", SCALARS, "U"),
            ),
            scalar_result("The join of both types.", "join(T, U)"),
        ),
        Form(
            (
                Param("c", (OperandKind.CONDITION,), "A bool.", (BOOL,)),
                scalar("a", "The result where `c` holds.", (BOOL,)),
                scalar("b", "The result elsewhere.", (BOOL,)),
            ),
            scalar_result("A bool.", BOOL),
        ),
    ),
    "Chooses between two values, for each element by the condition on that element.",
    """\
kernel mask_columns(S: tensor<f32>[64, 64], n: i32) {
  var s = S[:, :]
  s = where(iota(1) < n, s, -1.0e30)
  S[:, :] = s
}
""",
    (
        "On tiles it is the whole value of an assignment to a tile or slice, of a typed declaration, or of a"
        " `var`; its branches may hold another `where`.",
        "On scalars it is a select; both branches are evaluated.",
    ),
)

IOTA = Builtin(
    "iota",
    Section.ELEMENTWISE,
    (
        Form(
            (Param("d", (OperandKind.CONSTANT,), "An axis: a literal below the rank of the tile.", (INDEX,)),),
            tile_result("The shape of the tile that is assigned.", I32),
            Scope.CTA,
            assigned_only=True,
        ),
    ),
    "Gives each element its position along one axis of the tile being assigned.",
    """\
kernel ramp(O: tensor<f32>[16, 64]) {
  var t: tile<f32>[16, 64] = 0.0
  t = where(iota(1) < 32, 1.0, 0.0)
  O[:, :] = t
}
""",
    ("Only inside the value of an assignment to a tile, where the tile gives it a shape.",),
)

TMAX = Builtin(
    "tmax",
    Section.ELEMENTWISE,
    (
        Form(
            (
                tile("a", "One side.", NUMBERS, "T"),
                tile("b", "The other side, of the same element type.", NUMBERS, "T"),
            ),
            tile_result(BROADCAST, "T"),
            Scope.CTA,
        ),
    ),
    "Takes the larger of two tiles, element by element.",
    """\
kernel running_max(A: tensor<f32>[64, 64], O: tensor<f32>[64, 1]) {
  var m: tile<f32>[64, 1] = -1.0e30
  var r = rowmax(A[:, :])
  m = tmax(m, r)
  O[:, :] = m
}
""",
    ("Both sides have one element type; shapes broadcast.", "A NaN is ignored, as in `max`."),
)

ARGSEL = Builtin(
    "argsel",
    Section.ELEMENTWISE,
    (
        Form(
            (
                tile("va", "The first value.", FLOATS, "T"),
                tile("vb", "The second value, of the same float type.", FLOATS, "T"),
                tile("ia", "What goes with the first value.", NUMBERS, "U"),
                tile("ib", "What goes with the second value, of the same type as `ia`.", NUMBERS, "U"),
            ),
            tile_result(BROADCAST, "U"),
            Scope.CTA,
        ),
    ),
    "Keeps the companion of the larger of two values: `va >= vb ? ia : ib`.",
    """\
kernel better(VA: tensor<f32>[64, 1],
              VB: tensor<f32>[64, 1],
              IA: tensor<i32>[64, 1],
              IB: tensor<i32>[64, 1],
              O: tensor<i32>[64, 1]) {
  var va = VA[:, :]
  var vb = VB[:, :]
  var ia = IA[:, :]
  var ib = IB[:, :]
  var pick = argsel(va, vb, ia, ib)
  O[:, :] = pick
}
""",
    (
        "A step of a fold by hand; `rowargmax` is the fold of a whole row.",
        "Where a value is NaN the second companion is taken.",
    ),
)

BUILTINS: tuple[Builtin, ...] = (
    math("exp", "Raises e to the argument.", "Approximate (`ex2.approx`)."),
    math("log", "Takes the natural logarithm.", "Approximate (`lg2.approx`).", "A value above 0."),
    POW,
    math("sqrt", "Takes the square root.", "Approximate (`sqrt.approx.f32`)."),
    math("tanh", "Takes the hyperbolic tangent.", "Approximate (`tanh.approx.f32`).", min_target=75),
    math("round", "Rounds to the nearest integer, ties to the even one.", "Exact (`cvt.rni`)."),
    math("floor", "Rounds toward minus infinity.", "Exact (`cvt.rmi`)."),
    math("ceil", "Rounds toward plus infinity.", "Exact (`cvt.rpi`)."),
    ABS,
    math("rsqrt", "Takes one over the square root.", "Approximate (`rsqrt.approx.f32`)."),
    math(
        "sin",
        "Takes the sine.",
        "Approximate (`sin.approx.f32`), least accurate far from zero.",
        "An angle in radians.",
    ),
    math(
        "cos",
        "Takes the cosine.",
        "Approximate (`cos.approx.f32`), least accurate far from zero.",
        "An angle in radians.",
    ),
    WHERE,
    IOTA,
    TMAX,
    ARGSEL,
)
