"""Generated matrix products: however a loop over K is split, masked, unrolled and pipelined, it adds up the same, and
whatever is done to the sums on the way and after it, in registers or in memory.

The emulator's checks (races, uninitialised reads, a copy read before its wait) are on. Values are small integers, so
that any order of the sum is exact.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import phobos_core as phobos

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "40"))
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i8": np.int8,
}
RESULT = {"i8": "i32", "f64": "f64"}


@dataclass(frozen=True)
class Product:
    """`steps` are the runs of K that are summed one after the other, each with whether the sum is negated after it.
    `begins` and `ends` say whether C's old values are what the sum starts from, and are added to what is stored."""

    element: str
    source: str
    transposed: bool
    steps: tuple[tuple[slice, bool], ...]
    begins: bool
    ends: bool
    shape: tuple[int, int, int]  # M, N, K
    grid: tuple[int, int]
    target: str
    index_bits: int


@st.composite
def products(draw: st.DrawFn) -> Product:
    pick = st.sampled_from
    element = draw(pick(list(DTYPES)))
    accumulator = RESULT.get(element, "f32")
    transposed = element == "i8" or draw(st.booleans())
    tm, tn, tk = draw(pick([1, 4, 8, 12, 16])), draw(pick([1, 4, 8, 20])), draw(pick([1, 2, 4, 8, 12, 16]))
    m, n = draw(pick([4, 12, 16])), draw(pick([4, 16, 20]))
    k = draw(pick([4, 8, 12, 16, 36, 48]))
    attributes = [f"@launch({draw(pick([1, 32, 48, 128]))})"]
    if draw(st.booleans()):
        attributes.append("@padstage")
    static = draw(st.booleans())
    if not static and k % tk == 0 and draw(st.booleans()):
        attributes.append(f"@aligned(K = {tk})")
    how = draw(pick(["copies", "views", "mixed", "whole", "computed"]))
    if how == "copies" and not static and draw(st.booleans()):
        attributes.append("@pipeline")
    names = ("M", "N", str(k) if static else "K")
    b_dims = (names[1], names[2]) if transposed else (names[2], names[1])
    steps = [(slice(s, s + tk), False) for s in range(0, k, tk)]
    zero = "0" if accumulator == "i32" else "0.0"
    unroll = draw(pick(["", "", "<unroll 2>", "<unroll 3>"]))
    dot = "dot_t" if transposed else "dot"
    if how == "whole":
        b = f"B[pn :+ {tn}, :]" if transposed else f"B[:, pn :+ {tn}]"
        steps = [(slice(0, k), False)]
        body = f"acc += {dot}(A[pm :+ {tm}, :], {b})"
    else:
        a = f"A[pm :+ {tm}, k :+ {tk}]"
        b = f"B[pn :+ {tn}, k :+ {tk}]" if transposed else f"B[k :+ {tk}, pn :+ {tn}]"
        kinds = {"copies": ("var", "var"), "views": ("let", "let"), "mixed": ("var", "let"), "computed": ("var", "var")}
        first, second = kinds[how]
        if how == "computed" and element != "i8":
            a = f"{a} * 1.0"
        jump = draw(pick(["", "", f"if k == {tk * 2} {{ continue }}\n"])) if "@pipeline" not in attributes else ""
        if jump:
            del steps[2:3]
        twist = draw(pick(["", "", f"acc = {zero} - acc\n", f"if k >= {tk} {{ acc = {zero} - acc }}\n"]))
        if twist:
            steps = [(step, "if" not in twist or step.start >= tk) for step, _ in steps]
        loop, last = f"for{unroll} k in range(0, {names[2]}, {tk})", ""
        if not jump and "@pipeline" not in attributes and draw(pick([False, False, True])):
            loop, last = f"var k = 0\nwhile k < {names[2]}", f"k += {tk}\n"
        body = f"{loop} {{\n{jump}{first} a = {a}\n{second} b = {b}\nacc += {dot}(a, b)\n{twist}{last}}}"
    window = f"C[pm :+ {tm}, pn :+ {tn}]"
    begins, ends = draw(st.booleans()), draw(st.booleans())
    source = (
        " ".join(attributes) + f"\nkernel k(A: tensor<{element}>[M, {names[2]}], "
        f"B: tensor<{element}>[{b_dims[0]}, {b_dims[1]}], C: tensor<{accumulator}>[M, N]) {{\n"
        f"let pm = ctx.block.x * {tm}\nlet pn = ctx.block.y * {tn}\n"
        f"var acc: tile<{accumulator}>[{tm}, {tn}] = {window if begins else zero}\n{body}\n"
        f"{window} = {f'acc + {window}' if ends else 'acc'}\n}}\n"
    )
    target = draw(pick(["sm_61", "sm_75", "sm_80", "sm_90"]))
    grid = -(-m // tm), -(-n // tn)
    shape, index_bits = (m, n, k), draw(pick([64, 64, 32]))
    return Product(element, source, transposed, tuple(steps), begins, ends, shape, grid, target, index_bits)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="PHOBOS_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(products(), st.integers(0, 2**16))
def test_products(product: Product, seed: int) -> None:
    note(f"{product}\n{product.source}")
    rng = np.random.default_rng(seed)
    m, n, k = product.shape
    b_shape = (n, k) if product.transposed else (k, n)
    a = rng.integers(-2, 3, (m, k)).astype(DTYPES[product.element])
    b = rng.integers(-2, 3, b_shape).astype(DTYPES[product.element])
    c = np.full((m, n), -7, {"i32": np.int32, "f64": np.float64}.get(RESULT.get(product.element, ""), np.float32))
    old = c.copy()
    (kernel,) = phobos.compile_text(
        product.source, name="product.ph", target=product.target, index_bits=product.index_bits
    ).values()
    kernel.launch(product.grid, a, b, c, device="emulator")
    np.testing.assert_array_equal(c, expected(product, a, b, old))


def expected(product: Product, a: npt.NDArray[Any], b: npt.NDArray[Any], old: npt.NDArray[Any]) -> npt.NDArray[Any]:
    left, right = a.astype(np.float64), b.astype(np.float64)
    if product.transposed:
        right = right.T
    acc = old.astype(np.float64) if product.begins else np.zeros(old.shape)
    for step, negated in product.steps:
        acc = acc + left[:, step] @ right[step]
        acc = -acc if negated else acc
    return acc + old if product.ends else acc
