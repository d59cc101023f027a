"""Floating-point arithmetic: every result rounded once, checked against exact rational numbers."""

import operator
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

TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
NAN = float("nan")
INF = float("inf")


def samples(form: str, count: int = 300, seed: int = 7) -> Array:
    """Random bit patterns of finite numbers, so that every exponent occurs, with small and halfway cases."""
    rng = np.random.default_rng(seed)
    size = np.dtype(TYPES[form]).itemsize
    bits = rng.integers(0, 1 << 8 * size - 1, 2 * count, dtype=np.uint64).astype(f"u{size}")
    with np.errstate(invalid="ignore"):
        values = bits.view(TYPES[form])
        values = values[np.isfinite(values.astype(np.float64))][:count]
    sign = rng.choice([-1.0, 1.0], values.size)
    near_one = (rng.integers(-64, 65, values.size) / 16).astype(TYPES[form])
    mixed = np.where(rng.random(values.size) < 0.4, near_one.astype(np.float64), sign * values.astype(np.float64))
    return mixed.astype(TYPES[form])


def raw(values: Array) -> Array:
    """bf16 as the 16 bits that PTX sees."""
    return values.view(np.uint16) if values.dtype == ml_dtypes.bfloat16 else values


def same(got: Array, expected: Array, form: str) -> None:
    got = got.view(TYPES[form])
    np.testing.assert_array_equal(got.astype(np.float64), np.asarray(expected, np.float64))
    finite = np.isfinite(np.asarray(expected, np.float64))
    np.testing.assert_array_equal(
        np.signbit(got.astype(np.float64))[finite], np.signbit(np.asarray(expected, np.float64))[finite]
    )


OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


# PTX has directed rounding and division only from f32 up.
MODES = [(form, mode) for form in ("f32", "f64") for mode in ("rn", "rz", "rm", "rp")]
NARROW = [("f16", "rn"), ("bf16", "rn")]


@pytest.mark.parametrize(
    ("name", "form", "mode"),
    [(name, *each) for name in OPERATIONS for each in MODES + (NARROW if name != "div" else [])],
)
def test_operations_round_once(apply: Apply, round_exact: RoundExact, name: str, mode: str, form: str) -> None:
    a, b = samples(form, seed=8), samples(form, seed=9)
    kept = (a.astype(np.float64) != 0) & (b.astype(np.float64) != 0)
    a, b = a[kept], b[kept]
    got = apply(f"{name}.{mode}.{form} %d, %a, %b;", raw(a).dtype, a=raw(a), b=raw(b))
    exact = [OPERATIONS[name](Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    kept = np.array([e != 0 for e in exact])
    expected = np.array([round_exact(e, form, mode) for e in exact])
    # A tiny negative result rounds to a zero that keeps its sign.
    expected = np.where((expected == 0) & np.array([e < 0 for e in exact]), -0.0, expected)
    same(got[kept], expected[kept], form)


@pytest.mark.parametrize(("form", "mode"), MODES + NARROW)
def test_fused_multiply_add_rounds_once(apply: Apply, round_exact: RoundExact, mode: str, form: str) -> None:
    a, b, c = (samples(form, seed=seed) for seed in (10, 11, 12))
    rows = [[Fraction(float(x)) for x in each] for each in (a, b, c)]
    exact = [x * y + z for x, y, z in zip(*rows, strict=True)]
    got = apply(f"fma.{mode}.{form} %d, %a, %b, %c;", raw(a).dtype, a=raw(a), b=raw(b), c=raw(c))
    kept = np.array([e != 0 for e in exact])
    expected = np.array([round_exact(e, form, mode) for e in exact])
    expected = np.where((expected == 0) & np.array([e < 0 for e in exact]), -0.0, expected)
    same(got[kept], expected[kept], form)


@pytest.mark.parametrize("form", ["f16", "f32", "f64"])
def test_fma_of_infinities_and_nans(apply: Apply, form: str) -> None:
    """IEEE 754: inf * 0 and inf - inf are NaN; a finite product, however large, does not meet an infinity."""
    largest = {"f16": 65504.0, "f32": float(np.finfo("f4").max), "f64": float(np.finfo("f8").max)}[form]
    each = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5, largest, -largest]
    triples = [t for t in product(each, repeat=3) if not all(np.isfinite(t))]

    def expected(a: float, b: float, c: float) -> float:
        if np.isfinite(a) and np.isfinite(b):
            return c
        with np.errstate(invalid="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))

    a, b, c = np.array(triples).T.astype({"f16": "f2", "f32": "f4", "f64": "f8"}[form])
    got = apply(f"fma.rn.{form} %d, %a, %b, %c;", raw(a).dtype, a=raw(a), b=raw(b), c=raw(c))
    same(got, np.array([expected(*t) for t in triples]), form)


def test_fma_that_double_rounding_gets_wrong(apply: Apply) -> None:
    # The product is 2**-24 + 2**-60, so the sum lies above the middle of two float32 by less than a double
    # can tell: its nearest double is the middle, which would round to even, downward.
    a, b = np.float32(2.0**-24 * (1 + 2.0**-12)), np.float32(1 - 2.0**-12 + 2.0**-24)
    exact = Fraction(float(a)) * Fraction(float(b)) + 1
    middle = 1 + Fraction(2) ** -24
    assert exact > middle
    assert Fraction(float(exact)) == middle
    got = apply("fma.rn.f32 %d, %a, %b, %c;", "f4", a=a[None], b=b[None], c=np.ones(1, "f4"))
    assert got[0] == np.float32(1 + 2.0**-23)
    down = apply("fma.rn.f32 %d, %a, %b, %c;", "f4", a=a[None], b=-b[None], c=np.full(1, -1, "f4"))
    assert down[0] == -got[0]


def test_f32_products_keep_subnormals_unless_flushed(apply: Apply) -> None:
    a = np.array([2.0**-100, -(2.0**-100), 2.0**-149, 1.0], np.float32)
    b = np.array([2.0**-40, 2.0**-40, 1.0, 2.0**-126], np.float32)
    kept = apply("mul.rn.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(kept, np.array([2.0**-140, -(2.0**-140), 2.0**-149, 2.0**-126], np.float32))
    flushed = apply("mul.rn.ftz.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(flushed, np.array([0, 0, 0, 2.0**-126], np.float32))
    np.testing.assert_array_equal(np.signbit(flushed), [False, True, False, False])
    fused = apply("fma.rn.ftz.f32 %d, %a, %b, %a;", "f4", a=np.full(1, 2.0**-149, "f4"), b=np.ones(1, "f4"))
    assert fused[0] == 0


def test_saturation_maps_nan_to_zero(apply: Apply) -> None:
    a = np.array([-1, 0.25, 2, INF, -INF, NAN], np.float32)
    got = apply("add.sat.f32 %d, %a, 0f00000000;", "f4", a=a)
    np.testing.assert_array_equal(got, np.array([0, 0.25, 1, 1, 0, 0], np.float32))


def test_f16_overflows_to_infinity(apply: Apply) -> None:
    a = np.array([65504, 65504, 60000], np.float16)
    b = np.array([65504, 1, 5536], np.float16)
    got = apply("add.f16 %d, %a, %b;", "f2", a=a, b=b)
    np.testing.assert_array_equal(got, np.array([INF, 65504, INF], np.float16))


@pytest.mark.parametrize("form", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add.rn", "sub.rn", "mul.rn", "fma.rn", "min", "max"])
def test_packed_pairs_do_the_same_in_each_half(apply: Apply, name: str, form: str) -> None:
    rows = {key: raw(samples(form, 200, seed)) for key, seed in (("a", 13), ("b", 14), ("c", 15))}
    if not name.startswith("fma"):
        del rows["c"]
    operands = ", ".join(f"%{key}" for key in rows)
    single = apply(f"{name}.{form} %d, {operands};", rows["a"].dtype, **rows)
    packed = {key: row.view(np.uint32) for key, row in rows.items()}
    double = apply(f"{name}.{form}x2 %d, {operands};", "u4", **packed)
    np.testing.assert_array_equal(double.view(np.uint16), single.view(np.uint16))


def test_packed_pair_of_f32(apply: Apply) -> None:
    a, b, c = (samples("f32", 200, seed) for seed in (16, 17, 18))
    single = apply("fma.rn.f32 %d, %a, %b, %c;", "f4", a=a, b=b, c=c)
    double = apply("fma.rn.f32x2 %d, %a, %b, %c;", "u8", a=a.view("u8"), b=b.view("u8"), c=c.view("u8"))
    np.testing.assert_array_equal(double.view(np.uint32), single.view(np.uint32))


SPECIAL = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN]


@pytest.mark.parametrize("form", TYPES)
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_return_the_other_operand_on_nan(apply: Apply, name: str, form: str) -> None:
    both = list(product(SPECIAL, SPECIAL))
    a, b = (np.array([row[i] for row in both], TYPES[form]) for i in range(2))
    choose = min if name == "min" else max

    def expected(x: float, y: float) -> float:
        if np.isnan(x) or np.isnan(y):
            return y if np.isnan(x) else x
        return choose((x, y), key=lambda v: (v, not np.signbit(v)))

    rows = [expected(float(x), float(y)) for x, y in both]
    same(apply(f"{name}.{form} %d, %a, %b;", raw(a).dtype, a=raw(a), b=raw(b)), np.array(rows), form)
    strict = [NAN if np.isnan(x) or np.isnan(y) else r for (x, y), r in zip(both, rows, strict=True)]
    if form != "f64":
        got = apply(f"{name}.NaN.{form} %d, %a, %b;", raw(a).dtype, a=raw(a), b=raw(b))
        same(got, np.array(strict), form)


def test_the_result_of_two_nans_is_canonical(apply: Apply) -> None:
    a = np.array([0xFFC01234, 0x7FA00001], np.uint32)
    got = apply("min.f32 %d, %a, %a;", "u4", a=a)
    np.testing.assert_array_equal(got, [0x7FFFFFFF, 0x7FFFFFFF])


def test_xorsign_takes_magnitudes(apply: Apply) -> None:
    a, b = np.array([2, -2, -2, 3], np.float32), np.array([-1, -1, 1, 5], np.float32)
    got = apply("min.xorsign.abs.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(got, np.array([-1, 1, -1, 3], np.float32))


@pytest.mark.parametrize("form", TYPES)
def test_sign_bit_operations_also_on_nan(apply: Apply, form: str) -> None:
    a = np.array(SPECIAL, TYPES[form])
    bits = f"u{a.itemsize}"
    sign = np.array(1 << 8 * a.itemsize - 1, bits)
    negated = apply(f"neg.{form} %d, %a;", bits, a=raw(a))
    np.testing.assert_array_equal(negated, a.view(bits) ^ sign)
    np.testing.assert_array_equal(apply(f"abs.{form} %d, %a;", bits, a=raw(a)), a.view(bits) & ~sign)


def test_copysign_takes_the_sign_of_its_first_source(apply: Apply) -> None:
    a, b = np.array([-1, 1, -0.0], np.float32), np.array([3, -4, 5], np.float32)
    got = apply("copysign.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(got, np.array([-3, 4, -5], np.float32))


def test_properties(apply: Apply) -> None:
    a = np.array([0, 1, 2.0**-130, INF, NAN], np.float32)
    expected = {
        "finite": [1, 1, 1, 0, 0],
        "infinite": [0, 0, 0, 1, 0],
        "number": [1, 1, 1, 1, 0],
        "notanumber": [0, 0, 0, 0, 1],
        "normal": [0, 1, 0, 0, 0],
        "subnormal": [0, 0, 1, 0, 0],
    }
    for name, row in expected.items():
        got = apply(f"testp.{name}.f32 %p, %a; selp.b32 %d, 1, 0, %p;", "u4", registers=".reg .pred %p;", a=a)
        np.testing.assert_array_equal(got, row, name)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_rounded_reciprocal_and_root(apply: Apply, round_exact: RoundExact, mode: str) -> None:
    a = np.abs(samples("f32"))
    a = a[a > 0]
    got = apply(f"rcp.{mode}.f32 %d, %a;", "f4", a=a)
    same(got, np.array([round_exact(1 / Fraction(float(x)), "f32", mode) for x in a]), "f32")
    root = apply(f"sqrt.{mode}.f32 %d, %a;", "f4", a=a).astype(np.float64)
    for x, r in zip(a, root, strict=True):
        below, above = (Fraction(float(np.nextafter(np.float32(r), np.float32(s)))) for s in (0, INF))
        square, value = Fraction(r) ** 2, Fraction(float(x))
        assert mode not in ("rz", "rm") or square <= value < above**2
        assert mode != "rp" or below**2 < value <= square
        assert mode != "rn" or ((below + Fraction(r)) / 2) ** 2 <= value <= ((above + Fraction(r)) / 2) ** 2


APPROXIMATE = {
    "rcp": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximate_functions(apply: Apply, name: str) -> None:
    a = np.linspace(0.01, 6, 500, dtype=np.float32)
    got = apply(f"{name}.approx.f32 %d, %a;", "f4", a=a)
    with np.errstate(all="ignore"):
        expected = APPROXIMATE[name](a.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=2.0**-22, atol=2.0**-22)


def test_approximate_functions_at_their_limits(apply: Apply) -> None:
    a = np.array([0, -0.0, INF, -INF, NAN, 200], np.float32)
    np.testing.assert_array_equal(
        apply("ex2.approx.f32 %d, %a;", "f4", a=a), np.array([1, 1, INF, 0, NAN, INF], np.float32)
    )
    np.testing.assert_array_equal(
        apply("rcp.approx.f32 %d, %a;", "f4", a=a[:5]), np.array([INF, -INF, 0, -0.0, NAN], np.float32)
    )
    np.testing.assert_array_equal(
        apply("lg2.approx.f32 %d, %a;", "f4", a=np.array([0, 1, -1, INF], "f4")),
        np.array([-INF, 0, NAN, INF], np.float32),
    )


@pytest.mark.parametrize("form", ["f16", "bf16"])
def test_narrow_exponential_and_tangent(apply: Apply, form: str) -> None:
    a = np.linspace(-4, 4, 200).astype(TYPES[form])
    for name in ("ex2", "tanh"):
        suffix = "ex2.approx.ftz" if name == "ex2" and form == "bf16" else f"{name}.approx"
        got = apply(f"{suffix}.{form} %d, %a;", raw(a).dtype, a=raw(a)).view(TYPES[form])
        expected = APPROXIMATE[name](a.astype(np.float64))
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=2.0**-7, atol=2.0**-8)


def test_approximate_division_by_a_huge_number_is_zero(apply: Apply) -> None:
    a = np.array([6, 2.0**120, INF], np.float32)
    b = np.array([3, 2.0**127, 2.0**127], np.float32)
    got = apply("div.approx.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(got, np.array([2, 0, NAN], np.float32))
    full = apply("div.full.f32 %d, %a, %b;", "f4", a=a, b=b)
    np.testing.assert_array_equal(full, np.array([2, 2.0**-7, INF], np.float32))


@pytest.mark.parametrize("form", ["f16", "bf16"])
def test_f32_sums_with_narrow_sources_round_once(apply: Apply, round_exact: RoundExact, form: str) -> None:
    a, b, c = samples(form, seed=40), samples(form, seed=41), samples("f32", seed=42)
    rows = [[Fraction(float(x)) for x in each] for each in (a, b, c)]
    cases: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
        "add": lambda x, y, z: x + z,
        "sub": lambda x, y, z: x - z,
        "fma": lambda x, y, z: x * y + z,
    }
    for name, function in cases.items():
        operands = "%a, %b, %c" if name == "fma" else "%a, %c"
        got = apply(f"{name}.rn.f32.{form} %d, {operands};", "f4", a=raw(a), b=raw(b), c=c)
        expected = [round_exact(function(*row), "f32") for row in zip(*rows, strict=True)]
        np.testing.assert_array_equal(got, np.array(expected, np.float32), name)


def test_pairs_of_integers(apply: Apply) -> None:
    rng = np.random.default_rng(43)
    a, b = (rng.integers(-(1 << 15), 1 << 15, 100).astype(np.int16) for _ in range(2))
    rows = {"a": a.view(np.uint32), "b": b.view(np.uint32)}
    unsigned = a.view(np.uint16), b.view(np.uint16)
    for name, expected in {
        "add.s16x2": a + b,
        "min.s16x2": np.minimum(a, b),
        "max.relu.s16x2": np.maximum(np.maximum(a, b), 0),
        "max.u16x2": np.maximum(*unsigned).view(np.int16),
    }.items():
        got = apply(f"{name} %d, %a, %b;", "u4", **rows)
        np.testing.assert_array_equal(got.view(np.int16), expected, name)


@pytest.mark.parametrize("form", ["f16", "bf16"])
def test_functions_of_pairs(apply: Apply, form: str) -> None:
    a = raw(samples(form, 200, 44))
    for name in ("neg", "abs", "tanh.approx", "ex2.approx" if form == "f16" else "ex2.approx.ftz"):
        single = apply(f"{name}.{form} %d, %a;", a.dtype, a=a)
        double = apply(f"{name}.{form}x2 %d, %a;", "u4", a=a.view(np.uint32))
        np.testing.assert_array_equal(double.view(np.uint16), single.view(np.uint16), name)
