"""The operators: symbol, how tightly each binds, which operands it takes, and its compound assignment.

The checker reads the operand class, the formatter and hover the rest.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class OperatorClass(Enum):
    """What the operands are, and so what the result is."""

    ARITHMETIC = "arithmetic"  # numbers; the join of both
    BITWISE = "bitwise"  # integers only; the join of both
    SHIFT = "shift"  # integers only; the join of both
    EQUALITY = "equality"  # numbers or bools; a bool
    ORDER = "order"  # numbers; a bool
    LOGICAL = "logical"  # bools; a bool


class Operator(NamedTuple):
    """`level` grows with tightness, from 1 for `||`. `tiles` says whether a tile may be an operand.

    Comparisons and logic take tiles only inside the condition of a `where` (`tiles_in_where`).
    """

    symbol: str
    level: int
    kind: OperatorClass
    doc: str
    tiles: bool = True
    tiles_in_where: bool = True
    compound: str | None = None


UNARY_LEVEL = 11

FMA_NOTE = "A float product that feeds only this sum may be fused with it and rounded once."

BINARY: Mapping[str, Operator] = MappingProxyType(
    {
        op.symbol: op
        for op in (
            Operator("||", 1, OperatorClass.LOGICAL, "Either holds. Both sides are evaluated.", tiles=False),
            Operator("&&", 2, OperatorClass.LOGICAL, "Both hold. Both sides are evaluated.", tiles=False),
            Operator("==", 3, OperatorClass.EQUALITY, "The sides are equal.", tiles=False),
            Operator("!=", 3, OperatorClass.EQUALITY, "The sides differ; true for a NaN.", tiles=False),
            Operator("<", 4, OperatorClass.ORDER, "The left side is less; false for a NaN.", tiles=False),
            Operator("<=", 4, OperatorClass.ORDER, "The left side is less or equal; false for a NaN.", tiles=False),
            Operator(">", 4, OperatorClass.ORDER, "The left side is greater; false for a NaN.", tiles=False),
            Operator(
                ">=",
                4,
                OperatorClass.ORDER,
                "The left side is greater or equal; false for a NaN.",
                tiles=False,
            ),
            Operator("|", 5, OperatorClass.BITWISE, "The bits set in either side.", compound="|="),
            Operator("^", 6, OperatorClass.BITWISE, "The bits set in one side only.", compound="^="),
            Operator("&", 7, OperatorClass.BITWISE, "The bits set in both sides.", compound="&="),
            Operator(
                "<<",
                8,
                OperatorClass.SHIFT,
                "Shifted left. An amount at or past the width gives 0.",
                compound="<<=",
            ),
            Operator(
                ">>",
                8,
                OperatorClass.SHIFT,
                "Shifted right with the sign, so mask after it to read an unsigned field. An amount at or"
                " past the width leaves only the sign.",
                compound=">>=",
            ),
            Operator("+", 9, OperatorClass.ARITHMETIC, f"The sum. {FMA_NOTE}", compound="+="),
            Operator("-", 9, OperatorClass.ARITHMETIC, f"The difference. {FMA_NOTE}", compound="-="),
            Operator("*", 10, OperatorClass.ARITHMETIC, "The product, element by element.", compound="*="),
            Operator(
                "/",
                10,
                OperatorClass.ARITHMETIC,
                "The quotient: rounded correctly for floats, truncated toward zero for integers.",
                compound="/=",
            ),
            Operator(
                "%",
                10,
                OperatorClass.ARITHMETIC,
                "The remainder, with the sign of the dividend.",
                compound="%=",
            ),
        )
    }
)

UNARY: Mapping[str, Operator] = MappingProxyType(
    {
        op.symbol: op
        for op in (
            Operator("-", UNARY_LEVEL, OperatorClass.ARITHMETIC, "The negative; on a tile, of each element."),
            Operator(
                "!",
                UNARY_LEVEL,
                OperatorClass.LOGICAL,
                "Not. Scalars only.",
                tiles=False,
                tiles_in_where=False,
            ),
            Operator("~", UNARY_LEVEL, OperatorClass.BITWISE, "Every bit flipped."),
        )
    }
)

# Compound assignment to the operator it applies: "+=" to "+".
COMPOUND: Mapping[str, str] = MappingProxyType(
    {op.compound: op.symbol for op in BINARY.values() if op.compound is not None}
)
