"""Integer arithmetic against Python's integers, with the edge cases of the PTX ISA manual."""

import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Apply = Callable[..., Array]

WIDTHS = (16, 32, 64)


def interesting(kind: str) -> list[int]:
    bits, signed = int(kind[1:]), kind[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = [0, 1, 2, 3, 7, 100, 255, high, high - 1, low, low + 1, high // 3]
    return values + ([-1, -2, -7, -100] if signed else [1 << (bits - 1)])


def dtype_of(kind: str) -> np.dtype[Any]:
    return np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")


def pairs(kind: str) -> tuple[Array, Array]:
    both = list(product(interesting(kind), repeat=2))
    return np.array([a for a, _ in both], dtype_of(kind)), np.array([b for _, b in both], dtype_of(kind))


def wrap(values: Sequence[int], dtype: Any) -> Array:
    dtype = np.dtype(dtype)
    bits = 8 * dtype.itemsize
    return np.array([v & ((1 << bits) - 1) for v in values], f"u{dtype.itemsize}").view(dtype)


def as_ints(*rows: Array) -> list[tuple[int, ...]]:
    return list(zip(*(row.tolist() for row in rows), strict=True))


KINDS = [f"{sign}{bits}" for sign in "su" for bits in WIDTHS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "function"),
    [("add", operator.add), ("sub", operator.sub), ("mul.lo", operator.mul), ("min", min), ("max", max)],
)
def test_arithmetic_wraps(apply: Apply, name: str, function: Callable[[int, int], int], kind: str) -> None:
    a, b = pairs(kind)
    got = apply(f"{name}.{kind} %d, %a, %b;", a.dtype, a=a, b=b)
    np.testing.assert_array_equal(got, wrap([function(x, y) for x, y in as_ints(a, b)], a.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_multiply_high(apply: Apply, kind: str) -> None:
    a, b = pairs(kind)
    got = apply(f"mul.hi.{kind} %d, %a, %b;", a.dtype, a=a, b=b)
    expected = [(x * y) >> int(kind[1:]) for x, y in as_ints(a, b)]
    np.testing.assert_array_equal(got, wrap(expected, a.dtype))


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32"])
def test_wide_products_keep_all_bits(apply: Apply, kind: str) -> None:
    a, b = pairs(kind)
    wide = dtype_of(f"{kind[0]}{2 * int(kind[1:])}")
    c = np.arange(a.size).astype(wide)
    got = apply(f"mul.wide.{kind} %d, %a, %b;", wide, a=a, b=b)
    np.testing.assert_array_equal(got, wrap([x * y for x, y in as_ints(a, b)], wide))
    got = apply(f"mad.wide.{kind} %d, %a, %b, %c;", wide, a=a, b=b, c=c)
    np.testing.assert_array_equal(got, wrap([x * y + z for x, y, z in as_ints(a, b, c)], wide))


@pytest.mark.parametrize("kind", KINDS)
def test_multiply_add(apply: Apply, kind: str) -> None:
    a, b = pairs(kind)
    c = a[::-1].copy()
    low = apply(f"mad.lo.{kind} %d, %a, %b, %c;", a.dtype, a=a, b=b, c=c)
    np.testing.assert_array_equal(low, wrap([x * y + z for x, y, z in as_ints(a, b, c)], a.dtype))
    high = apply(f"mad.hi.{kind} %d, %a, %b, %c;", a.dtype, a=a, b=b, c=c)
    expected = [((x * y) >> int(kind[1:])) + z for x, y, z in as_ints(a, b, c)]
    np.testing.assert_array_equal(high, wrap(expected, a.dtype))


def truncating(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return -quotient if (x < 0) != (y < 0) else quotient


@pytest.mark.parametrize("kind", KINDS)
def test_division_truncates_toward_zero(apply: Apply, kind: str) -> None:
    a, b = pairs(kind)
    kept = b != 0
    a, b = a[kept], b[kept]
    got = apply(f"div.{kind} %d, %a, %b;", a.dtype, a=a, b=b)
    np.testing.assert_array_equal(got, wrap([truncating(x, y) for x, y in as_ints(a, b)], a.dtype))
    got = apply(f"rem.{kind} %d, %a, %b;", a.dtype, a=a, b=b)
    expected = [x - truncating(x, y) * y for x, y in as_ints(a, b)]
    np.testing.assert_array_equal(got, wrap(expected, a.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_division_by_zero_is_not_an_error(apply: Apply, kind: str) -> None:
    a = np.array(interesting(kind), dtype_of(kind))
    got = apply(f"div.{kind} %d, %a, 0;", a.dtype, a=a)
    np.testing.assert_array_equal(got, wrap([-1] * a.size, a.dtype))


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_absolute_and_negation(apply: Apply, kind: str) -> None:
    a = np.array(interesting(kind), dtype_of(kind))
    np.testing.assert_array_equal(
        apply(f"abs.{kind} %d, %a;", a.dtype, a=a), wrap([abs(x) for x in a.tolist()], a.dtype)
    )
    np.testing.assert_array_equal(apply(f"neg.{kind} %d, %a;", a.dtype, a=a), wrap([-x for x in a.tolist()], a.dtype))


@pytest.mark.parametrize("name", ["add", "sub"])
def test_saturating_addition(apply: Apply, name: str) -> None:
    a, b = pairs("s32")
    function = operator.add if name == "add" else operator.sub
    got = apply(f"{name}.sat.s32 %d, %a, %b;", "i4", a=a, b=b)
    expected = [min(max(function(x, y), -(1 << 31)), (1 << 31) - 1) for x, y in as_ints(a, b)]
    np.testing.assert_array_equal(got, expected)


def test_sum_of_absolute_differences(apply: Apply) -> None:
    a, b = pairs("s32")
    c = b[::-1].copy()
    got = apply("sad.s32 %d, %a, %b, %c;", "i4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, wrap([z + abs(x - y) for x, y, z in as_ints(a, b, c)], "i4"))


def test_carry_chain_adds_128_bits(apply: Apply) -> None:
    a, b = pairs("u64")
    body = "mov.b64 %z, 0; add.cc.u64 %l, %a, %b; addc.cc.u64 %l, %a, %b; addc.u64 %d, %z, %z;"
    got = apply(body, "u8", registers=".reg .b64 %l, %z;", a=a, b=b)
    one = [(x << 64 | x) + (y << 64 | y) for x, y in as_ints(a, b)]
    np.testing.assert_array_equal(got, [v >> 128 for v in one])


def test_borrow_chain_subtracts_64_bits_by_halves(apply: Apply) -> None:
    a, b = pairs("u64")
    body = (
        "mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b; sub.cc.u32 %l, %al, %bl; subc.u32 %h, %ah, %bh;"
        "mov.b64 %d, {%l, %h};"
    )
    got = apply(body, "u8", registers=".reg .b32 %al, %ah, %bl, %bh, %l, %h;", a=a, b=b)
    np.testing.assert_array_equal(got, a - b)


@pytest.mark.parametrize("signs", [("s32", "s32"), ("u32", "u32"), ("s32", "u32"), ("u32", "s32")])
def test_dot_product_of_bytes(apply: Apply, signs: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(0, 1 << 32, 100, dtype=np.uint32) for _ in range(3))
    x, y = (
        row.view("i1" if sign == "s32" else "u1").reshape(-1, 4).astype(np.int64)
        for row, sign in zip((a, b), signs, strict=True)
    )
    got = apply(f"dp4a.{signs[0]}.{signs[1]} %d, %a, %b, %c;", "u4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, ((x * y).sum(axis=1) + c).astype(np.uint32))
    halves = a.view("i2" if signs[0] == "s32" else "u2").reshape(-1, 2).astype(np.int64)
    for part, columns in (("lo", slice(0, 2)), ("hi", slice(2, 4))):
        got = apply(f"dp2a.{part}.{signs[0]}.{signs[1]} %d, %a, %b, %c;", "u4", a=a, b=b, c=c)
        np.testing.assert_array_equal(got, ((halves * y[:, columns]).sum(axis=1) + c).astype(np.uint32))


def test_24_bit_products(apply: Apply) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-(1 << 23), 1 << 23, 100).astype(np.int32) for _ in range(2))
    exact = [x * y for x, y in as_ints(a, b)]
    np.testing.assert_array_equal(apply("mul24.lo.s32 %d, %a, %b;", "i4", a=a, b=b), wrap(exact, "i4"))
    high = [v >> 16 for v in exact]
    np.testing.assert_array_equal(apply("mul24.hi.s32 %d, %a, %b;", "i4", a=a, b=b), wrap(high, "i4"))
