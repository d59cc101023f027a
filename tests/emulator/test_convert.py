"""cvt between all formats, and set, setp, selp, mov: against the manual's rules in plain Python."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Apply = Callable[..., Array]
RoundExact = Callable[..., float]

FLOATS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = [f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64)]
NAN, INF = float("nan"), float("inf")


def integer_type(kind: str) -> np.dtype[Any]:
    return np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")


def integers(kind: str) -> Array:
    limits = np.iinfo(integer_type(kind))
    middle = [limits.max // 2, limits.max // 3, 0, 1, 2, 100]
    return np.array([limits.min, limits.min + 1, limits.max, limits.max - 1, *middle], integer_type(kind))


def raw(values: Array) -> Array:
    return values.view(np.uint16) if values.dtype == ml_dtypes.bfloat16 else values


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(apply: Apply, source: str, to: str) -> None:
    a = integers(source)
    limits = np.iinfo(integer_type(to))
    size = max(16, int(to[1:])) // 8
    kind = f"{integer_type(to).kind}{size}"
    wrapped = apply(f"cvt.{to}.{source} %d, %a;", kind, a=a)
    np.testing.assert_array_equal(wrapped, a.astype(integer_type(to)).astype(kind))
    clamped = apply(f"cvt.sat.{to}.{source} %d, %a;", kind, a=a)
    expected = [min(max(v, limits.min), limits.max) for v in a.tolist()]
    np.testing.assert_array_equal(clamped, np.array(expected, kind))


ROUND: dict[str, Callable[[float], int]] = {
    "rni": lambda v: round(v),
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("to", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer_saturates(apply: Apply, source: str, to: str, mode: str) -> None:
    values = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.75, 127.5, 128, 300, -300, 40000, -40000, INF, -INF]
    if source != "f16":
        values += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30]
    a = np.array(values).astype(FLOATS[source])
    limits = np.iinfo(integer_type(to))
    size = max(2, int(to[1:]) // 8)

    def expected(value: float) -> int:
        if math.isinf(value):
            return limits.max if value > 0 else limits.min
        return min(max(ROUND[mode](value), limits.min), limits.max)

    got = apply(f"cvt.{mode}.{to}.{source} %d, %a;", f"{integer_type(to).kind}{size}", a=raw(a))
    np.testing.assert_array_equal(got, [expected(float(v)) for v in a])


def test_nan_to_integer(apply: Apply) -> None:
    single, double = np.array([NAN], np.float32), np.array([NAN], np.float64)
    assert apply("cvt.rzi.s32.f32 %d, %a;", "i4", a=single)[0] == 0
    assert apply("cvt.rzi.u32.f32 %d, %a;", "u4", a=single)[0] == 0
    # Where a side has 64 bits, only the top bit is set.
    assert apply("cvt.rzi.s64.f32 %d, %a;", "i8", a=single)[0] == -(1 << 63)
    assert apply("cvt.rzi.u32.f64 %d, %a;", "u4", a=double)[0] == 1 << 31


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float_rounds_once(apply: Apply, round_exact: RoundExact, source: str, to: str, mode: str) -> None:
    rng = np.random.default_rng(20)
    limits = np.iinfo(integer_type(source))
    random = rng.integers(limits.min, limits.max, 60, dtype=integer_type(source), endpoint=True)
    a = np.concatenate([integers(source), random])
    got = apply(f"cvt.{mode}.{to}.{source} %d, %a;", raw(np.zeros(1, FLOATS[to])).dtype, a=a)
    expected = [round_exact(Fraction(v), to, mode) for v in a.tolist()]
    np.testing.assert_array_equal(got.view(FLOATS[to]).astype(np.float64), expected)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("source", "to"), [("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16"), ("f64", "bf16")]
)
def test_narrowing_rounds_once(apply: Apply, round_exact: RoundExact, source: str, to: str, mode: str) -> None:
    rng = np.random.default_rng(21)
    scale = 2.0 ** rng.integers(-30, 20, 300)
    ties = (1 + rng.integers(0, 1 << 12, 300) / (1 << 12)) * scale
    a = np.concatenate([ties, -ties, rng.standard_normal(300) * scale, [1e6, -1e6, 65519.996, 65520]])
    a = a.astype(FLOATS[source])
    got = apply(f"cvt.{mode}.{to}.{source} %d, %a;", raw(np.zeros(1, FLOATS[to])).dtype, a=a)
    expected = [round_exact(Fraction(float(v)), to, mode) for v in a]
    np.testing.assert_array_equal(got.view(FLOATS[to]).astype(np.float64), expected)


@pytest.mark.parametrize(("source", "to"), [("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("f32", "f64")])
def test_widening_is_exact(apply: Apply, source: str, to: str) -> None:
    values = [0.0, -0.0, 1.5, -3.25, 2.0**-20, INF, -INF, 6e4]
    a = np.array(values).astype(FLOATS[source])
    got = apply(f"cvt.{to}.{source} %d, %a;", FLOATS[to], a=raw(a))
    np.testing.assert_array_equal(got, a.astype(FLOATS[to]))
    assert np.isnan(apply(f"cvt.{to}.{source} %d, %a;", FLOATS[to], a=raw(np.full(1, NAN).astype(a.dtype)))[0])


def test_f16_overflow_becomes_infinity_or_saturates(apply: Apply) -> None:
    a = np.array([1e6, -1e6, INF], np.float32)
    np.testing.assert_array_equal(apply("cvt.rn.f16.f32 %d, %a;", "f2", a=a), np.array([INF, -INF, INF], "f2"))
    unit = np.array([1.5, -0.5, 0.25, NAN], np.float32)
    np.testing.assert_array_equal(apply("cvt.rn.sat.f16.f32 %d, %a;", "f2", a=unit), np.array([1, 0, 0.25, 0], "f2"))
    np.testing.assert_array_equal(apply("cvt.sat.f32.f32 %d, %a;", "f4", a=unit), np.array([1, 0, 0.25, 0], "f4"))


def test_rounding_to_integral_floats(apply: Apply) -> None:
    a = np.array([0.5, 1.5, -0.5, -1.5, 2.7, -2.7, 1e20], np.float32)
    for mode, function in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
        np.testing.assert_array_equal(apply(f"cvt.{mode}.f32.f32 %d, %a;", "f4", a=a), function(a))


def test_packed_conversion_puts_the_first_source_above(apply: Apply) -> None:
    a, b = np.array([1.5, -2, 1e9, -4], np.float32), np.array([0.25, 3, NAN, 5], np.float32)
    got = apply("cvt.rn.f16x2.f32 %d, %a, %b;", "u4", a=a, b=b).view(np.float16).reshape(-1, 2)
    np.testing.assert_array_equal(got[:, 1], np.array([1.5, -2, INF, -4], "f2"))
    np.testing.assert_array_equal(got[:, 0], np.array([0.25, 3, NAN, 5], "f2"))
    got = apply("cvt.rn.relu.f16x2.f32 %d, %a, %b;", "u4", a=a, b=b).view(np.float16).reshape(-1, 2)
    np.testing.assert_array_equal(got[:, 1], np.array([1.5, 0, INF, 0], "f2"))
    got = apply("cvt.rn.bf16x2.f32 %d, %a, %b;", "u4", a=a, b=b).view(ml_dtypes.bfloat16).reshape(-1, 2)
    np.testing.assert_array_equal(got[:, 1].astype("f4"), a.astype(ml_dtypes.bfloat16).astype("f4"))


def test_tf32_keeps_ten_bits_rounding_ties_away(apply: Apply) -> None:
    a = np.array([1 + 2.0**-11, 1 + 2.0**-12, -(1 + 2.0**-11), 3.0], np.float32)
    got = apply("cvt.rna.tf32.f32 %d, %a;", "f4", a=a)
    np.testing.assert_array_equal(got, np.array([1 + 2.0**-10, 1, -(1 + 2.0**-10), 3], np.float32))


@pytest.mark.parametrize(("form", "dtype"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_eight_bit_floats_round_trip(apply: Apply, form: str, dtype: Any) -> None:
    a, b = np.array([1.0625, -3, 1e6], np.float32), np.array([0.3, 17.1, -1e6], np.float32)
    packed = apply(f"cvt.rn.satfinite.{form}x2.f32 %d, %a, %b;", "u2", a=a, b=b)
    limit = float(ml_dtypes.finfo(dtype).max)
    expected = np.stack([np.clip(b, -limit, limit), np.clip(a, -limit, limit)], axis=1).astype(dtype)
    np.testing.assert_array_equal(packed.view(np.uint8), expected.view(np.uint8).reshape(-1))
    wide = apply(f"cvt.rn.f16x2.{form}x2 %d, %a;", "u4", a=packed).view(np.float16)
    np.testing.assert_array_equal(wide, expected.astype(np.float16).reshape(-1))


def test_pack_with_saturation(apply: Apply) -> None:
    a, b = np.array([300, -300, 5], np.int32), np.array([-1, 127, 200], np.int32)
    c = np.array([0x11112222, 0, 0xABCD], np.uint32)
    got = apply("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, [0x2222FF00, 0x0000007F, 0xABCD05C8])
    got = apply("cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, [0x22227FFF, 0x0000807F, 0xABCD057F])
    got = apply("cvt.pack.sat.s16.s32 %d, %a, %b;", "u4", a=np.array([70000], "i4"), b=np.array([-70000], "i4"))
    np.testing.assert_array_equal(got, [0x7FFF8000])


# Comparisons

ORDERED = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
SELECT = "selp.b32 %d, 1, 0, %p;"


@pytest.mark.parametrize("name", [*ORDERED, "lo", "ls", "hi", "hs"])
@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_integer_comparisons(apply: Apply, kind: str, name: str) -> None:
    if name in ("lo", "ls", "hi", "hs") and kind[0] == "s":
        kind = f"u{kind[1:]}"
    both = list(product(integers(kind).tolist(), repeat=2))
    a, b = (np.array([row[i] for row in both], integer_type(kind)) for i in range(2))
    function = ORDERED[{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(name, name)]
    got = apply(f"setp.{name}.{kind} %p, %a, %b; {SELECT}", "u4", registers=".reg .pred %p;", a=a, b=b)
    np.testing.assert_array_equal(got, [function(x, y) for x, y in both])


@pytest.mark.parametrize("name", [*ORDERED, *(f"{n}u" for n in ORDERED), "num", "nan"])
@pytest.mark.parametrize("form", FLOATS)
def test_float_comparisons(apply: Apply, form: str, name: str) -> None:
    both = list(product([0.0, -0.0, 1.0, -2.0, INF, -INF, NAN], repeat=2))
    a, b = (raw(np.array([row[i] for row in both]).astype(FLOATS[form])) for i in range(2))

    def expected(x: float, y: float) -> bool:
        unordered = math.isnan(x) or math.isnan(y)
        if name in ("num", "nan"):
            return unordered == (name == "nan")
        if name in ORDERED:
            return not unordered and ORDERED[name](x, y)
        return unordered or ORDERED[name[:-1]](x, y)

    got = apply(f"setp.{name}.{form} %p, %a, %b; {SELECT}", "u4", registers=".reg .pred %p;", a=a, b=b)
    np.testing.assert_array_equal(got, [expected(x, y) for x, y in both])


@pytest.mark.parametrize(
    ("name", "function"), [("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)]
)
def test_setp_with_two_results_and_a_predicate(
    apply: Apply, name: str, function: Callable[[Array, Array], Array]
) -> None:
    a, b = np.array([1, 1, 2, 2], np.int32), np.array([1, 1, 1, 1], np.int32)
    c = np.array([0, 1, 0, 1], np.int32)
    for mark in ("", "!"):
        body = (
            f"setp.ne.s32 %r, %c, 0; setp.eq.{name}.s32 %p|%q, %a, %b, {mark}%r;"
            "selp.b32 %x, 1, 0, %p; selp.b32 %y, 2, 0, %q; or.b32 %d, %x, %y;"
        )
        got = apply(body, "u4", registers=".reg .pred %p, %q, %r; .reg .b32 %x, %y;", a=a, b=b, c=c)
        side = (c != 0) != (mark == "!")
        expected = function(a == b, side) * 1 + function(a != b, side) * 2
        np.testing.assert_array_equal(got, expected)


def test_predicate_logic(apply: Apply) -> None:
    a, b = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    body = (
        "setp.ne.s32 %p, %a, 0; setp.ne.s32 %q, %b, 0; xor.pred %r, %p, %q; and.pred %q, %p, %q;"
        "not.pred %q, %q; and.pred %p, %r, %q; selp.b32 %d, 7, 9, %p;"
    )
    got = apply(body, "u4", registers=".reg .pred %p, %q, %r;", a=a, b=b)
    np.testing.assert_array_equal(got, [9, 7, 7, 9])


def test_set_writes_ones_or_one(apply: Apply) -> None:
    a, b = np.array([1, 2, NAN], np.float32), np.array([2, 1, 0], np.float32)
    np.testing.assert_array_equal(apply("set.lt.u32.f32 %d, %a, %b;", "u4", a=a, b=b), [0xFFFFFFFF, 0, 0])
    np.testing.assert_array_equal(apply("set.ltu.f32.f32 %d, %a, %b;", "f4", a=a, b=b), [1, 0, 1])


def test_packed_comparison(apply: Apply) -> None:
    a = np.array([[1, 5], [3, NAN]], np.float16).view(np.uint32).reshape(-1)
    b = np.array([[2, 4], [3, 0]], np.float16).view(np.uint32).reshape(-1)
    body = "setp.lt.f16x2 %p|%q, %a, %b; selp.b32 %x, 1, 0, %p; selp.b32 %y, 2, 0, %q; or.b32 %d, %x, %y;"
    got = apply(body, "u4", registers=".reg .pred %p, %q; .reg .b32 %x, %y;", a=a, b=b)
    np.testing.assert_array_equal(got, [1, 0])
    got = apply("set.le.f16x2.f16x2 %d, %a, %b;", "u4", a=a, b=b).view(np.float16)
    np.testing.assert_array_equal(got, [1, 0, 1, 0])


# Moves


def test_select_by_sign(apply: Apply) -> None:
    a, b, c = np.array([1, 2], "u4"), np.array([3, 4], "u4"), np.array([0, -1], "i4")
    np.testing.assert_array_equal(apply("slct.b32.s32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c), [1, 4])


def test_pack_and_unpack_put_the_first_element_lowest(apply: Apply) -> None:
    a, b = np.array([0x11112222], "u4"), np.array([0x33334444], "u4")
    got = apply("mov.b64 %d, {%a, %b};", "u8", a=a, b=b)
    assert got[0] == 0x3333444411112222
    got = apply("mov.b32 {%l, %h}, %a; mov.b32 %d, {%h, %l};", "u4", registers=".reg .b16 %l, %h;", a=a)
    assert got[0] == 0x22221111
    got = apply(
        "mov.b64 {%w, %x, %y, %z}, %a; mov.b64 %d, {%z, %y, %x, %w};",
        "u8",
        registers=".reg .b16 %w, %x, %y, %z;",
        a=np.array([0x0123456789ABCDEF], "u8"),
    )
    assert got[0] == 0xCDEF89AB45670123


def test_unpack_into_a_register_that_is_also_the_source_half(apply: Apply) -> None:
    a = np.array([0x0123456789ABCDEF], "u8")
    got = apply("mov.b64 {_, %h}, %a; cvt.u64.u32 %d, %h;", "u8", registers=".reg .b32 %h;", a=a)
    assert got[0] == 0x01234567


def test_float_literals(apply: Apply) -> None:
    a = np.zeros(1, np.float32)
    assert apply("mov.b32 %d, 0f3FC00000;", "f4", a=a)[0] == 1.5
    assert apply("mov.b64 %d, 0d3FF8000000000000;", "f8", a=a)[0] == 1.5
    assert apply("mov.b16 %d, 0x3E00;", "f2", a=a)[0] == 1.5
    assert apply("add.f32 %d, %a, 1.5;", "f4", a=a)[0] == 1.5
    assert apply("mov.s32 %d, -7;", "i4", a=a)[0] == -7
