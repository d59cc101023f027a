"""The words of the language: keywords, the reserved name, and words with a meaning in one position only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "Declares a kernel: what every CTA of the grid runs.",
        "fn": "Declares a function, which is inlined at every call.",
        "let": "Binds a name that is not assigned again. Bound to a tensor slice, it is a view of it.",
        "var": "Binds a name that may be assigned again. Given a tensor slice, it copies it into a tile.",
        "if": "Runs a block where a scalar condition holds.",
        "else": "The other branch of an `if`; stands on the line of the `}` before it.",
        "for": "Counts a name from a lower to an upper bound by a step.",
        "in": "Stands between the loop name and its `range`, and before the choices of a search dimension.",
        "while": "Repeats a block as long as a scalar condition holds.",
        "break": "Leaves the innermost loop.",
        "continue": "Goes on with the next iteration of the innermost loop.",
        "return": "Skips the rest of the kernel.",
        "true": "The bool that holds.",
        "false": "The bool that does not hold.",
    }
)

# Read through its fields only (`language.context`), and never bound.
RESERVED_NAME = "ctx"
RESERVED_DOC = "Places the thread in its CTA and the CTA in its grid. Read through its fields, and never bound."

# What stands between the parts of a subscript.
SUBSCRIPT_MARKS: Mapping[str, str] = MappingProxyType(
    {
        ":+": "A span: `A[s :+ n]` selects the `n` elements from `s`. Past the end of a tensor it reads 0 and stores"
        " nothing.",
        ":": "A range: `A[s : e]` selects from `s` to before `e`. Without `s` it begins at 0, without `e` it goes to"
        " the end of the dimension: `A[:]` is all of it.",
    }
)

# Ordinary names outside their position. Built-in and scalar type names are contextual too; they have tables
# of their own (`language.builtins`, `language.types`).
CONTEXTUAL: Mapping[str, str] = MappingProxyType(
    {
        "tensor": "The type of an array in global memory; a kernel parameter.",
        "tile": "The type of a block of elements that the CTA works on together.",
        "range": "The bounds of a `for`: `range(lo, hi[, step])`, from `lo` up to but not including `hi`.",
        "unroll": "`for<unroll n>` builds the body of a loop n times a turn.",
        "over": "In a collective: the group whose values are folded, `ctx.lane` or `ctx.thread`.",
        "from": "In a shuffle: the lane whose value is read.",
        "xor": "In a shuffle: the bits in which the source lane's number differs.",
        "down": "In a shuffle: how many places up the warp the source lane is.",
        "up": "In a shuffle: how many places down the warp the source lane is.",
        "width": "In a collective or shuffle: the number of lanes in a piece of the warp.",
    }
)
