"""Codes of the build: limits, configurations, the assembler. The checker never gives them."""

from __future__ import annotations

from phobos_core.language.codes.schema import Code, Stage, statements

COPY = statements("C[:, :] = A[:, :]")
TILES = "Tiles and shared memory"
ATTRIBUTES = "Attributes"
PIPELINED = (
    "@pipeline\n"
    "kernel example(A: tensor<f32>[32, 512], B: tensor<f32>[512, 32], C: tensor<f32>[32, 32]) {\n"
    "  var acc: tile<f32>[32, 32] = 0.0\n"
    "  for k in range(0, 512, 16) {\n"
    "    var a = A[:, k :+ 16]\n"
    "    var b = B[k :+ 16, :]\n"
    "    acc += dot(a, b)\n"
    "  }\n"
    "  C[:, :] = acc\n}\n"
)


def transposed(extent: str) -> str:
    return (
        "kernel example(A: tensor<f32>[256, 256], C: tensor<f32>[256, 256]) {\n"
        f"  var t = A[0 :+ {extent}, 0 :+ {extent}]\n"
        f"  C[0 :+ {extent}, 0 :+ {extent}] = t + transpose(t)\n}}\n"
    )


def pointwise(times: int) -> str:
    return (
        "kernel example(O: tensor<f32>[65536]) {\n"
        f"  for<unroll {times}> i in range(0, 60000) {{\n    O[i] = O[i + 1] + 1.0\n  }}\n}}\n"
    )


def product(times: int) -> str:
    return (
        "kernel example(A: tensor<f32>[64, 4096], B: tensor<f32>[4096, 64], C: tensor<f32>[64, 64]) {\n"
        "  var acc: tile<f32>[64, 64] = 0.0\n"
        f"  for<unroll {times}> k in range(0, 4096, 16) {{\n    acc += dot(A[:, k :+ 16], B[k :+ 16, :])\n  }}\n"
        "  C[:, :] = acc\n}\n"
    )


def build(
    code: str,
    title: str,
    section: str,
    rule: str,
    wrong: str = "",
    right: str = "",
    options: tuple[str, ...] = (),
) -> Code:
    return Code(code, title, section, rule, wrong, right, stage=Stage.BUILD, options=options)


CODES: tuple[Code, ...] = (
    build(
        "over-shared-limit",
        "more shared memory than a block may have",
        TILES,
        "The tiles placed in shared memory, after reuse, fit 48 KB, or under @dynshared the chip's limit per block.",
        transposed("256"),
        transposed("64"),
    ),
    build(
        "no-configuration-fits",
        "no choice of the search space fits the limits",
        ATTRIBUTES,
        "Of the configurations that are built, at least one fits the limits of the target.",
        "@autotune(TILE in [192, 256, 224])\n" + transposed("TILE"),
        "@autotune(TILE in [32, 64, 256])\n" + transposed("TILE"),
        options=("--config", "all"),
    ),
    build(
        "configuration-skipped",
        "a configuration that does not fit",
        ATTRIBUTES,
        "Under `--config all` a configuration over a limit is left out, and the others are built.",
        "@autotune(TILE in [32, 64, 256])\n" + transposed("TILE"),
        "@autotune(TILE in [32, 64])\n" + transposed("TILE"),
        options=("--config", "all"),
    )._replace(severity="warning"),
    build(
        "nothing-pipelined",
        "@pipeline on a kernel where nothing is pipelined",
        ATTRIBUTES,
        "@pipeline asserts that a loop is double-buffered. A loop is eligible when it copies slices at the"
        " loop variable into tiles, stores to none of the tensors it copies from, and both stages fit.",
        "@pipeline\n" + COPY,
        COPY,
    ),
    build(
        "broken-constraint",
        "a dimension bound to a value that breaks a rule",
        "Bounds and masking",
        "A dimension that `-D` or `@autotune` binds keeps the promises of @aligned and fits the tiles that"
        " are made from it.",
    ),
    build(
        "index-width-kept",
        "a kernel that keeps 64-bit indices",
        "Indexing and synchronization",
        "Kernels with `load_acquire`, `store_release`, `cp.async` staging or a `_qgemm_t` built-in compile at"
        " 64-bit indices, whatever the option says.",
        PIPELINED,
        COPY,
        options=("--index-bits", "32"),
    )._replace(severity="note"),
    build(
        "spills",
        "registers kept in memory",
        ATTRIBUTES,
        "A thread needs more registers than it may have, so some live in local memory, which is slow. Raise"
        " max_regs of @launch, or make the tiles smaller.",
        "@launch(256, 1, 16)\n"
        "kernel example(A: tensor<f64>[64, 64], B: tensor<f64>[64, 64], C: tensor<f64>[64, 64]) {\n"
        "  C[:, :] = A[:, :] / B[:, :] + B[:, :] / (A[:, :] + 1.0)\n}\n",
        COPY,
        options=("--deny", "spills"),
    )._replace(severity="warning"),
    build(
        "unrolled-too-far",
        "a loop unrolled into more than can be compiled",
        "Statements",
        "With its loops unrolled a kernel has at most 32,768 operations, counted before they become instructions:"
        " beyond that it takes minutes to compile.",
        pointwise(30000),
        pointwise(4),
    ),
    build(
        "large-code",
        "a kernel of very many instructions",
        "Statements",
        "Past 20,000 PTX instructions the assembler takes seconds; unroll less, or use smaller tiles.",
        product(240),
        product(4),
    )._replace(severity="warning"),
    build(
        "assembler-missing",
        "no ptxas was found",
        "Built-ins",
        "PTX needs no NVIDIA software; registers, spills, cubins and SASS need ptxas. Install it with"
        " `pip install nvidia-cuda-nvcc`.",
    )._replace(severity="note"),
    build(
        "assembler-failed",
        "ptxas refused the code",
        "Built-ins",
        "The PTX of a kernel that was accepted is accepted by ptxas: this is a fault of the compiler, or of"
        " the pair of ptxas and target.",
    ),
    build(
        "disassembly-failed",
        "nvdisasm could not read the machine code",
        "Built-ins",
        "`--emit sass` needs an nvdisasm of the CUDA release of the ptxas that made the code: `nvidia-cuda-nvdisasm`"
        " beside `nvidia-cuda-nvcc`.",
    ),
    build(
        "assembler-timeout",
        "ptxas took too long",
        "Statements",
        "The assembler has a time limit; unroll less, or use smaller tiles.",
    ),
    build(
        "target-not-in-assembler",
        "a target that this ptxas does not have",
        "Built-ins",
        "The PTX is written all the same. Targets before sm_75 need the ptxas of CUDA 12"
        " (`pip install nvidia-cuda-nvcc-cu12`), later ones a newer release.",
    )._replace(severity="note"),
)
