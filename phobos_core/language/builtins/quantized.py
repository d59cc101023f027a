"""The quantized built-ins: those for Q8_0 and Q5_0 weights, and the raw-format families.

A family has a member for every format that `language.formats` gives it to; the member's block bytes, table
operands and table sizes come from there.
"""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.language.builtins.schema import (
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    Use,
    extents,
    tile_result,
)
from phobos_core.language.formats import BLOCK, FORMATS, Family, Format
from phobos_core.language.types import F16, F32, I8, ScalarType

IN_BOUNDS = "Every operand is a slice that is fully in bounds; `@aligned` promises it on a dynamic dimension."
CORES = "Runs on integer tensor cores (sm_75 and later); M and N are multiples of 8."
EIGHTS = (("M", 8), ("N", 8))
WHOLE_BLOCKS = ("K", BLOCK)


def operand(name: str, element: ScalarType, shape: str, doc: str) -> Param:
    return Param(name, (OperandKind.SLICE,), doc, (element,), shape=extents(shape))


def scaled_form(weights: str, weight_scales: str, multiples: tuple[tuple[str, int], ...]) -> Form:
    return Form(
        (
            operand("a", I8, "M, K", "The activations, signed bytes."),
            operand("a_scales", F32, "M, K/32", "One scale per 32 activations."),
            operand("w", I8, weights, "The weights."),
            operand("w_scales", F32, weight_scales, "One scale per 32 weights."),
        ),
        tile_result("The scaled sums.", F32, "M, N"),
        Scope.CTA,
        dynamic=("K",),
        multiples=multiples,
    )


def scaled_example(name: str, weight_bytes: str, scale_dims: str) -> str:
    scale_slice = ", ".join("n :+ 64" if dim == "N" else ":" for dim in scale_dims.split(", "))
    return f"""\
@launch(256)
@aligned(N = 64)
kernel project(A: tensor<i8>[8, 256],
               AS: tensor<f32>[8, 8],
               W: tensor<i8>[N, {weight_bytes}],
               WS: tensor<f32>[{scale_dims}],
               C: tensor<f32>[8, N]) {{
  let n = ctx.block.x * 64
  C[:, n :+ 64] = {name}(A[:, :], AS[:, :], W[n :+ 64, :], WS[{scale_slice}])
}}
"""


Q8 = "Q8_0 activations and weights"
Q5 = "Q8_0 activations with Q5_0 weights held as their blocks without their own scale"
Q5_NOTE = (
    "A block is 20 bytes for 32 weights: a word of high bits, then 16 bytes of which byte e holds weights e"
    " and e + 16 in its low and high nibble; each weight is its five bits minus 16."
)

SCALED: tuple[Builtin, ...] = (
    Builtin(
        "qdot_t",
        Section.QUANTIZED,
        (scaled_form("N, K", "N, K/32", ()),),
        f"Contracts {Q8}: integer sums per block of 32, each scaled by both block scales.",
        scaled_example("qdot_t", "256", "N, 8"),
        (IN_BOUNDS, "K may be dynamic."),
        min_target=61,
        supported=False,
    ),
    Builtin(
        "qmma_t",
        Section.QUANTIZED,
        (scaled_form("N, K", "K/32, N", EIGHTS),),
        f"Contracts {Q8} on integer tensor cores.",
        scaled_example("qmma_t", "256", "8, N"),
        (IN_BOUNDS, CORES, "The weight scales are transposed, [K/32, N]."),
        use=Use.EITHER,
        min_target=75,
        supported=False,
    ),
    Builtin(
        "q50_qdot_t",
        Section.QUANTIZED,
        (scaled_form("N, K/32*20", "N, K/32", ()),),
        f"Contracts {Q5}.",
        scaled_example("q50_qdot_t", "160", "N, 8"),
        (IN_BOUNDS, Q5_NOTE),
        min_target=61,
        supported=False,
    ),
    Builtin(
        "q50_qmma_t",
        Section.QUANTIZED,
        (scaled_form("N, K/32*20", "K/32, N", EIGHTS),),
        f"Contracts {Q5} on integer tensor cores.",
        scaled_example("q50_qmma_t", "160", "8, N"),
        (IN_BOUNDS, CORES, Q5_NOTE),
        use=Use.EITHER,
        min_target=75,
        supported=False,
    ),
)

FAMILY_SUMMARY = {
    Family.QDOT: "Multiplies one Q8_0 activation row by {} weights, decoded as they are read.",
    Family.QGEMM: "Projects 128 rows of Q8_0 activations onto 64 columns of {} weights on integer tensor cores.",
    Family.QMMA_STAGED: "Projects a batch of Q8_0 activations onto {} weights, decoded once per CTA, on"
    " integer tensor cores.",
    Family.QMMA: "Projects a batch of Q8_0 activations onto {} weights, decoded by each warp, on integer tensor cores.",
}
FAMILY_NOTES = {
    Family.QDOT: ("N is a multiple of 8, and the CTA a whole number of warps.", IN_BOUNDS),
    Family.QGEMM: (
        "A fixed tile of 128 x 64; needs `@launch(256)`.",
        "From sm_80 the activation tile is double-buffered where both stages fit 48 KB, which is every format"
        " but iq2xs and iq2s.",
        "Compiles at 64-bit indices.",
    ),
    Family.QMMA_STAGED: (
        CORES,
        "Exactly one patch of 8 x 8 tiles per warp, and the CTA's threads divide the lanes that stage the N columns.",
        IN_BOUNDS,
    ),
    Family.QMMA: (CORES, IN_BOUNDS),
}
# Rows of the activations and columns of the weights, as the example of a family uses them.
EXAMPLE_TILE = {
    Family.QDOT: (1, 64),
    Family.QGEMM: (128, 64),
    Family.QMMA_STAGED: (8, 64),
    Family.QMMA: (8, 64),
}


def family_shape(family: Family) -> tuple[str, str]:
    """The rows and columns of the result, as symbols or as the fixed numbers."""
    match family:
        case Family.QDOT:
            return "1", "N"
        case Family.QGEMM:
            return "128", "64"
        case _:
            return "M", "N"


def family_multiples(family: Family) -> tuple[tuple[str, int], ...]:
    match family:
        case Family.QDOT:
            return (("N", 8), WHOLE_BLOCKS)
        case Family.QGEMM:
            return (WHOLE_BLOCKS,)
        case _:
            return (*EIGHTS, WHOLE_BLOCKS)


def family_form(fmt: Format, family: Family) -> Form:
    rows, columns = family_shape(family)
    activations = "aq" if family is Family.QDOT else "a"
    tables = (operand(t.name, I8, f"1, {t.table.size}", f"The table {t.table.name}.") for t in fmt.tables[family])
    return Form(
        (
            operand(activations, I8, f"{rows}, K", "The activations, signed bytes."),
            operand("a_scales", F32, f"{rows}, K/32", "One scale per 32 activations."),
            operand("qb", I8, f"{columns}, K/{BLOCK}*{fmt.block_bytes}", "The raw bytes of the blocks."),
            operand("d", F16, f"{columns}, K/{BLOCK}", "The scale of each block."),
            *tables,
        ),
        tile_result("The scaled sums.", F32, f"{rows}, {columns}"),
        Scope.CTA,
        multiples=family_multiples(family),
    )


def family_example(fmt: Format, family: Family) -> str:
    name = f"{fmt.name}_{family.value}"
    rows, columns = EXAMPLE_TILE[family]
    tables = fmt.tables[family]
    table_params = "".join(f"               {t.name.upper()}: tensor<i8>[1, {t.table.size}],\n" for t in tables)
    table_args = "".join(f", {t.name.upper()}[:, :]" for t in tables)
    span = f"n :+ {columns}"
    return f"""\
@launch(256)
@aligned(N = {columns})
kernel project(A: tensor<i8>[{rows}, 512],
               AS: tensor<f32>[{rows}, 16],
               QB: tensor<i8>[N, {2 * fmt.block_bytes}],
               D: tensor<f16>[N, 2],
{table_params}               C: tensor<f32>[{rows}, N]) {{
  let n = ctx.block.x * {columns}
  C[:, {span}] = {name}(A[:, :], AS[:, :], QB[{span}, :], D[{span}, :]{table_args})
}}
"""


def format_notes(fmt: Format) -> Iterator[str]:
    if fmt.scale_in_block:
        yield "The scales are inside the block: `d` is taken but not read."
    if fmt.note:
        yield fmt.note
    if fmt.stripped_bytes is not None:
        yield f"Blocks without their own leading scale ({fmt.stripped_bytes} bytes) are accepted too."


def family_member(fmt: Format, family: Family) -> Builtin:
    return Builtin(
        f"{fmt.name}_{family.value}",
        Section.QUANTIZED,
        (family_form(fmt, family),),
        FAMILY_SUMMARY[family].format(fmt.name),
        family_example(fmt, family),
        (*FAMILY_NOTES[family], *format_notes(fmt)),
        use=Use.VALUE if family is Family.QDOT else Use.EITHER,
        min_target=61 if family is Family.QDOT else 75,
        min_index_bits=64 if family is Family.QGEMM else 32,
        threads=256 if family is Family.QGEMM else None,
        supported=False,
    )


BUILTINS: tuple[Builtin, ...] = (
    *SCALED,
    *(family_member(fmt, family) for fmt in FORMATS.values() for family in fmt.families),
)
