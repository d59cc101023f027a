"""The peers in cuTile, compiled to machine code without a GPU.

Run by `bench.quality` with the Python of an environment that has cuTile: `python cutile_kernels.py KERNEL SM FOLDER`
writes `KERNEL.cubin` into the folder and prints the name of its entry.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint, export_kernel


@ct.kernel
def sgemm(A, B, C, alpha, beta):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((128, 128), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, 8))):
        a = ct.load(A, index=(row, k), shape=(128, 8))
        b = ct.load(B, index=(k, column), shape=(8, 128))
        total = ct.mma(a, b, total)
    c = ct.load(C, index=(row, column), shape=(128, 128))
    ct.store(C, index=(row, column), tile=alpha * total + beta * c)


@ct.kernel
def flash_attention(Q, K, V, O, scale, keys):
    row = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    q = ct.load(Q, index=(row, 0), shape=(64, 64), padding_mode=zero)
    acc = ct.full((64, 64), 0.0, dtype=ct.float32)
    top = ct.full((64, 1), -1.0e30, dtype=ct.float32)
    total = ct.full((64, 1), 0.0, dtype=ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(32, 64))):
        k = ct.load(K, index=(j, 0), shape=(32, 64), padding_mode=zero)
        v = ct.load(V, index=(j, 0), shape=(32, 64), padding_mode=zero)
        s = ct.mma(q, ct.transpose(k), ct.full((64, 32), 0.0, dtype=ct.float32)) * scale
        inside = ct.reshape(j * 32 + ct.arange(32, dtype=ct.int32), (1, 32)) < keys
        s = ct.where(inside, s, -1.0e30)
        following = ct.maximum(top, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - following)
        shrink = ct.exp(top - following)
        total = total * shrink + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p, v, acc * shrink)
        top = following
    ct.store(O, index=(row, 0), tile=acc / total)


def array(*multiples: int) -> ArrayConstraint:
    """Contiguous rows at a multiple of 16 bytes, with extents that are multiples of these."""
    return ArrayConstraint(
        ct.float32,
        2,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(None, 1),
        stride_divisible_by=(16, 1),
        shape_divisible_by=multiples,
        base_addr_divisible_by=16,
    )


FLOAT = ScalarConstraint(ct.float32)
KERNELS = {
    "sgemm": (sgemm, [array(128, 8), array(8, 128), array(128, 128), FLOAT, FLOAT]),
    "flash_attention": (flash_attention, [*(array(1, 64) for _ in range(4)), FLOAT, ScalarConstraint(ct.int32)]),
}


def main(name: str, target: str, folder: str) -> None:
    kernel, parameters = KERNELS[name]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=name)
    export_kernel(kernel, [signature], Path(folder, f"{name}.cubin"), gpu_code=target, output_format="cubin")
    print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
