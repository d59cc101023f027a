"""Collectives and shuffles: the forms with angle brackets, which exchange scalars between threads.

The words in the brackets are keywords only there. A fold over `ctx.lane` needs every lane of its warp, a fold
over `ctx.thread` every thread of the CTA; which of them a call is follows from its bracket.
"""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    SCALARS,
    Bracket,
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    scalar,
    scalar_result,
)
from phobos_core.language.types import BOOL, INDEX

OVER = (
    Bracket("over", "ctx.lane", Scope.WARP, True, "Every lane of the warp, or of each piece of `width` lanes."),
    Bracket("over", "ctx.thread", Scope.CTA, False, "Every thread of the CTA; takes no width."),
)
SHUFFLES = (
    Bracket("from", "index", Scope.WARP, True, "The value of that lane, counted from the piece's first."),
    Bracket("xor", "index", Scope.WARP, True, "The value of the lane whose number differs in those bits."),
    Bracket("down", "index", Scope.WARP, True, "The value of the lane that many places up the warp."),
    Bracket("up", "index", Scope.WARP, True, "The value of the lane that many places down the warp."),
)
# What moves between threads without arithmetic.
MOVED = (*SCALARS, BOOL)
WIDTH_DOC = "`width w` splits the warp into pieces of w lanes; w is a constant power of two that divides ctx.lanes."
LANE_NOTE = "Needs every lane of its warp: control that is the same across a warp, never per lane."
FOLD_NOTES = (
    LANE_NOTE,
    WIDTH_DOC,
    "Over the whole warp the result is warp-uniform. Over ctx.thread it needs uniform control, costs three"
    " CTA barriers, and is uniform.",
)


def fold_example(name: str, call: str, element: str) -> str:
    return f"""\
kernel {name}_of_warp(X: tensor<{element}>[256], O: tensor<{element}>[8]) {{
  let x = X[ctx.thread]
  let r = {call}
  if ctx.lane == 0 {{
    O[ctx.warp] = r
  }}
}}
"""


def fold(name: str, summary: str) -> Builtin:
    form = Form((scalar("x", "One value per thread.", SCALARS, "T"),), scalar_result("The fold.", "T"))
    return Builtin(
        name,
        Section.COLLECTIVES,
        (form,),
        summary,
        fold_example(name, f"{name}<over ctx.lane>(x)", "f32"),
        FOLD_NOTES,
        brackets=OVER,
    )


def vote(name: str, summary: str) -> Builtin:
    condition = Param("c", (OperandKind.CONDITION,), "One bool per thread.", (BOOL,))
    return Builtin(
        name,
        Section.COLLECTIVES,
        (Form((condition,), scalar_result("A bool.", BOOL)),),
        summary,
        f"""\
kernel {name}_positive(X: tensor<f32>[256], O: tensor<f32>[8]) {{
  let c = {name}<over ctx.lane>(X[ctx.thread] > 0.0)
  if c {{
    O[ctx.warp] = 1.0
  }}
}}
""",
        FOLD_NOTES,
        brackets=OVER,
    )


COLLECTIVE_BUILTINS: tuple[Builtin, ...] = (
    fold("sum", "Adds up one value per thread; every thread gets the total."),
    fold("max", "Takes the largest of one value per thread."),
    fold("min", "Takes the smallest of one value per thread."),
    vote("any", "Tells whether a condition holds in at least one thread."),
    vote("all", "Tells whether a condition holds in every thread."),
    Builtin(
        "argmax",
        Section.COLLECTIVES,
        (
            Form(
                (scalar("x", "One value per thread.", SCALARS),),
                scalar_result("The lane, or under `over ctx.thread` the thread, as an index.", INDEX),
            ),
        ),
        "Finds which lane holds the largest value, the first one on a tie.",
        """\
kernel lane_of_max(X: tensor<f32>[256], O: tensor<i32>[8]) {
  let best = argmax<over ctx.lane>(X[ctx.thread])
  if ctx.lane == 0 {
    O[ctx.warp] = best
  }
}
""",
        ("With a width, lanes are counted from the first of the piece.", *FOLD_NOTES),
        brackets=OVER,
    ),
    Builtin(
        "reduce",
        Section.COLLECTIVES,
        (
            Form(
                (
                    scalar("x", "One value per thread.", MOVED, "T"),
                    Param("f", (OperandKind.FUNCTION,), "A `fn f(a, b) = e` that combines two values."),
                ),
                scalar_result("The fold.", "T"),
            ),
        ),
        "Folds one value per thread by a function of your own.",
        "fn product(a, b) = a * b\n\n" + fold_example("product", "reduce<over ctx.lane>(x, product)", "f32"),
        ("The function must be associative and commutative.", *FOLD_NOTES),
        brackets=OVER,
    ),
    Builtin(
        "shfl",
        Section.COLLECTIVES,
        (
            Form(
                (scalar("v", "One value per lane.", MOVED, "T"),),
                scalar_result("Another lane's value.", "T"),
            ),
        ),
        "Gives each lane the value that another lane of the warp holds.",
        """\
kernel neighbours(X: tensor<f32>[256], O: tensor<f32>[256]) {
  let x = X[ctx.thread]
  O[ctx.thread] = x + shfl<xor 1>(x)
}
""",
        (
            "A source outside the piece reads the lane's own value.",
            "A constant mask or distance at or past the width is an error.",
            LANE_NOTE,
            WIDTH_DOC,
        ),
        brackets=SHUFFLES,
    ),
)
