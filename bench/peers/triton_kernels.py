"""The peers in Triton, compiled to PTX without a GPU.

Run by `bench.quality` with the Python of an environment that has Triton: `python triton_kernels.py KERNEL SM FOLDER`
writes `KERNEL.ptx` into the folder and prints the name of its entry. `bench.compile_time` runs it as
`python triton_kernels.py KERNEL SM --time`, which prints the milliseconds of processor and of wall time to a cubin.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel


@triton.jit
def sgemm(A, B, C, alpha, beta, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    steps = tl.arange(0, TK)
    a = A + rows[:, None] * K + steps[None, :]
    b = B + steps[:, None] * N + columns[None, :]
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for _ in range(0, K, TK):
        total = tl.dot(tl.load(a), tl.load(b), total, input_precision="ieee")
        a += TK
        b += TK * N
    c = C + rows[:, None] * N + columns[None, :]
    tl.store(c, alpha * total + beta * tl.load(c))


@triton.jit
def flash_attention(Q, K, V, O, scale, queries, keys, BR: tl.constexpr, BC: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    depth = tl.arange(0, D)
    columns = tl.arange(0, BC)
    at = rows[:, None] * D + depth[None, :]
    q = tl.load(Q + at, mask=rows[:, None] < queries, other=0.0)
    acc = tl.zeros((BR, D), dtype=tl.float32)
    top = tl.full((BR,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BR,), dtype=tl.float32)
    for j in range(0, keys, BC):
        inside = j + columns < keys
        block = (j + columns)[:, None] * D + depth[None, :]
        k = tl.load(K + block, mask=inside[:, None], other=0.0)
        v = tl.load(V + block, mask=inside[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(inside[None, :], s, -1.0e30)
        following = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - following[:, None])
        shrink = tl.exp(top - following)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p, v, acc * shrink[:, None], input_precision="ieee")
        top = following
    tl.store(O + at, acc / total[:, None], mask=rows[:, None] < queries)


# The kernel, its runtime arguments with their types, its constants, and its warps. Every pointer and extent is a
# multiple of 16, as @aligned promises in Phobos.
KERNELS = {
    "sgemm": (
        sgemm,
        {"A": "*fp32", "B": "*fp32", "C": "*fp32", "alpha": "fp32", "beta": "fp32", "N": "i32", "K": "i32"},
        {"TM": 128, "TN": 128, "TK": 8},
        {"num_warps": 8, "num_stages": 2},
    ),
    "flash_attention": (
        flash_attention,
        {"Q": "*fp32", "K": "*fp32", "V": "*fp32", "O": "*fp32", "scale": "fp32", "queries": "i32", "keys": "i32"},
        {"BR": 64, "BC": 32, "D": 64},
        {"num_warps": 4, "num_stages": 1},
    ),
}
EVERY_MULTIPLE = [["tt.divisibility", 16]]


def build(name: str, target: str) -> CompiledKernel:
    function, arguments, constants, options = KERNELS[name]
    names = list(function.arg_names)
    source = ASTSource(
        fn=function,
        signature={**arguments, **dict.fromkeys(constants, "constexpr")},
        constexprs={(names.index(each),): value for each, value in constants.items()},
        attrs={(names.index(each),): EVERY_MULTIPLE for each, type in arguments.items() if not type.startswith("fp")},
    )
    return triton.compile(source, target=GPUTarget("cuda", int(target.removeprefix("sm_")), 32), options=options)


def emit(name: str, target: str, folder: str) -> None:
    compiled = build(name, target)
    Path(folder, f"{name}.ptx").write_text(compiled.asm["ptx"], encoding="utf-8")
    print(compiled.metadata.name)


def time(name: str, target: str) -> None:
    """Each round anew, past every cache."""
    # Loaded here: only this finds it, where the caller says where it is.
    from bench.measure import measure

    triton.knobs.compilation.always_compile = True
    with TemporaryDirectory(prefix="phobos-") as folder:
        triton.knobs.cache.dir = folder
        times = measure(lambda: build(name, target).asm["cubin"], rounds=5)
    print(times.cpu, times.wall)


if __name__ == "__main__":
    kernel, sm, how = sys.argv[1:]
    time(kernel, sm) if how == "--time" else emit(kernel, sm, how)
