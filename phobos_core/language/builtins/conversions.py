"""Built-ins that act as operators: `min`, `max`, and the conversions `T(x)`."""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    SCALARS,
    STORED,
    UNSIGNED,
    Builtin,
    Form,
    Scope,
    Section,
    scalar,
    scalar_or_tile,
    scalar_result,
    tile,
    tile_result,
)
from phobos_core.language.types import CONVERSIONS, ScalarType


def extremum(name: str, summary: str, clamp: str) -> Builtin:
    return Builtin(
        name,
        Section.OPERATORS,
        (
            Form(
                (
                    scalar_or_tile("a", "One side.", SCALARS, "T"),
                    scalar_or_tile("b", "The other side.", SCALARS, "U"),
                ),
                tile_result("The operands' broadcast shape.", "join(T, U)"),
                Scope.CTA,
            ),
            Form(
                (scalar("a", "One side.", SCALARS, "T"), scalar("b", "The other side.", SCALARS, "U")),
                scalar_result("The join of both types.", "join(T, U)"),
            ),
        ),
        summary,
        f"""\
kernel clamp_rows(A: tensor<f32>[64, 64], O: tensor<f32>[64, 64]) {{
  var t = A[:, :]
  t = {clamp}
  O[:, :] = t
}}
""",
        ("Takes scalars, tiles, or one of each.", "On floats, when one side is NaN the other is returned."),
    )


def rounding_note(target: ScalarType) -> tuple[str, ...]:
    if target.is_float:
        return ("A float rounds to the nearest value; an integer is read as signed.",)
    return (
        "A float is truncated toward zero and saturates; NaN gives 0.",
        "A wider integer keeps its low bits.",
    )


def conversion(target: ScalarType) -> Builtin:
    name = target.name
    example = f"""\
kernel to_{name}(A: tensor<f32>[64, 64], O: tensor<{name}>[64, 64]) {{
  var t = {name}(A[:, :])
  O[:, :] = t
}}
"""
    return Builtin(
        name,
        Section.OPERATORS,
        (
            Form(
                (tile("x", "A tile of numbers, unsigned storage included.", STORED),),
                tile_result(f"The shape of `x`, elements {name}.", target),
                Scope.CTA,
            ),
            Form(
                (scalar("x", "A number.", SCALARS + UNSIGNED),),
                scalar_result(f"A scalar of type {name}.", target),
            ),
        ),
        f"Converts a scalar or each element of a tile to {name}.",
        example,
        (*rounding_note(target), "A bool has no conversion."),
    )


BUILTINS: tuple[Builtin, ...] = (
    extremum("min", "Takes the smaller of two values.", "min(t, 1.0)"),
    extremum("max", "Takes the larger of two values.", "max(t, 0.0)"),
    *(conversion(target) for target in CONVERSIONS.values()),
)
