"""Codes of attributes, and of what they and the options ask of a kernel."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, statements

COPY = statements("C[:, :] = A[:, :]")
ATTRIBUTES = "Attributes"
REGISTERS = (
    "kernel example(A: tensor<f32>[64, 64], C: tensor<f32>[64, 64]) {{\n"
    "  var acc: tile<f32>[64, 64] = A[:, :]\n{}  C[:, :] = acc\n}}\n"
)
SCALE = (
    "kernel example(A: tensor<f32>[M, 64]) {\n"
    "  let row = ctx.block.x * 64\n"
    "  A[row :+ 64, :] = A[row :+ 64, :] * 2.0\n}\n"
)
SEARCHED = (
    "kernel example(A: tensor<f32>[M, 64]) {\n"
    "  let row = ctx.block.x * TILE\n"
    "  A[row :+ TILE, :] = A[row :+ TILE, :] * 2.0\n}\n"
)
QGEMM = (
    "kernel example(A: tensor<i8>[128, 512],\n"
    "               AS: tensor<f32>[128, 16],\n"
    "               QB: tensor<i8>[64, 288],\n"
    "               D: tensor<f16>[64, 2],\n"
    "               C: tensor<f32>[128, 64]) {\n"
    "  C[:, :] = q4k_qgemm_t(A[:, :], AS[:, :], QB[:, :], D[:, :])\n}\n"
)

CODES: tuple[Code, ...] = (
    Code(
        "unknown-attribute",
        "an attribute that the language does not have",
        ATTRIBUTES,
        "The attributes are autotune, cluster, aligned, launch, tensorcore, registers, pipeline, padstage,"
        " dynshared and persistent.",
        "@unrolled\n" + COPY,
        "@pipeline\n"
        "kernel example(A: tensor<f32>[32, 512], B: tensor<f32>[512, 32], C: tensor<f32>[32, 32]) {\n"
        "  var acc: tile<f32>[32, 32] = 0.0\n"
        "  for k in range(0, 512, 16) {\n"
        "    var a = A[:, k :+ 16]\n"
        "    var b = B[k :+ 16, :]\n"
        "    acc += dot(a, b)\n"
        "  }\n"
        "  C[:, :] = acc\n}\n",
    ),
    Code(
        "planned-attribute",
        "an attribute that is planned",
        ATTRIBUTES,
        "@readonly, @fast_math and @assert_coalesced are planned, and an error until then.",
        "@fast_math\n" + COPY,
        COPY,
    ),
    Code(
        "duplicate-attribute",
        "an attribute given twice",
        ATTRIBUTES,
        "@autotune, @cluster, @aligned and @registers add up; any other attribute stands once.",
        "@launch(128)\n@launch(256)\n" + COPY,
        "@launch(256)\n" + COPY,
    ),
    Code(
        "attribute-argument",
        "an argument that an attribute does not take",
        ATTRIBUTES,
        "Each attribute takes the arguments that its entry lists: @launch one to three integers (threads 1 to"
        " 1024, max_regs 16 to 255), @tensorcore `wmma` or `sync`, @autotune and @cluster search dimensions,"
        " @aligned promises, @registers names of tiles, and the others none.",
        "@launch(2048)\n" + COPY,
        "@launch(1024)\n" + COPY,
    ),
    Code(
        "autotune-range",
        "choices that make no search space",
        ATTRIBUTES,
        "Choices are positive. Two values are the ends of a range, and ascend; one value, or three and more,"
        " are the choices themselves.",
        "@autotune(TILE in [64, 32])\n" + SEARCHED,
        "@autotune(TILE in [32, 64])\n" + SEARCHED,
    ),
    Code(
        "too-many-configurations",
        "a search space too large to build",
        ATTRIBUTES,
        "The choices of all names are combined, and every combination is a kernel of its own.",
        "@autotune(TILE in [64, 128], P0 in [1, 512], P1 in [1, 512], P2 in [1, 512], P3 in [1, 512],\n"
        "          P4 in [1, 512], P5 in [1, 512], P6 in [1, 512], P7 in [1, 512])\n" + SEARCHED,
        "@autotune(TILE in [64, 128])\n" + SEARCHED,
    ),
    Code(
        "unknown-dimension",
        "a promise about what is no dimension of the kernel",
        ATTRIBUTES,
        "@aligned(DIM = tile) names a symbolic dimension of a tensor parameter.",
        "@aligned(N = 64)\n" + SCALE,
        "@aligned(M = 64)\n" + SCALE,
    ),
    Code(
        "aligned-mismatch",
        "a promise that a static dimension breaks",
        ATTRIBUTES,
        "@aligned(DIM = tile) promises that DIM is a whole number of tile; a DIM that is bound already must be.",
        "@autotune(M in [96])\n@aligned(M = 64)\n" + SCALE,
        "@autotune(M in [128])\n@aligned(M = 64)\n" + SCALE,
    ),
    Code(
        "registers-tile",
        "a tile that cannot stay in registers",
        ATTRIBUTES,
        "@registers names a `var t: tile<T>[dims] = e` of the kernel. Its elements are shared out evenly, at"
        " most 64 per thread, and it is not updated inside an `if` or `while`.",
        "@registers(acc)\n@launch(32)\n" + REGISTERS.format(""),
        "@registers(acc)\n@launch(64)\n" + REGISTERS.format(""),
    ),
    Code(
        "needs-target",
        "a built-in that the target does not have",
        "Built-ins",
        "Some built-ins need an instruction of a later chip; build for the least target that has it, or later.",
        statements("C[:, :] = tanh(A[:, :])"),
        statements("C[:, :] = exp(A[:, :])"),
        options=("--target", "sm_70"),
    ),
    Code(
        "not-whole-warps",
        "a CTA that is not a whole number of warps",
        "Indexing and synchronization",
        "`ctx.warps`, collectives, shuffles and the built-ins that give each warp a share need a CTA whose"
        " threads are a multiple of `ctx.lanes`.",
        "@launch(48)\n" + statements("let w = ctx.warps\nC[:, :] = A[:, :]"),
        "@launch(64)\n" + statements("let w = ctx.warps\nC[:, :] = A[:, :]"),
    ),
    Code(
        "needs-launch",
        "a built-in that needs another CTA size",
        "Quantized built-ins",
        "`<fmt>_qgemm_t` works on a fixed tile and needs @launch(256).",
        "@launch(128)\n" + QGEMM,
        "@launch(256)\n" + QGEMM,
    ),
    Code(
        "needs-persistent",
        "`grid_barrier` in a kernel that is not @persistent",
        "Indexing and synchronization",
        "Blocks that wait for each other must all be resident: @persistent says so and sizes the grid.",
        "kernel example(BAR: tensor<i32>[2]) {\n  grid_barrier(BAR)\n}\n",
        "@persistent\nkernel example(BAR: tensor<i32>[2]) {\n  grid_barrier(BAR)\n}\n",
    ),
)
