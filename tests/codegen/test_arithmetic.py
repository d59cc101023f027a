"""Element-wise ops and conversions against NumPy, on scalars' worth of edge values and at vector widths."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.module import Value
from phobos_core.ir.schedule import Sweep
from phobos_core.language.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, INDEX, U8, U16, U32, ScalarType
from tests.codegen.support import FLOATS, INTEGERS, NUMPY, Array, Program, values, zeros

EVERY_TYPE = [F16, BF16, F32, F64, I8, I32, I64, U8, U16, U32]


def pairs(element: ScalarType) -> tuple[Array, Array]:
    """Every edge value with every other, a multiple of 16 in all, and random ones."""
    edges = _edges(element)
    a, b = (m.ravel() for m in np.meshgrid(edges, edges))
    more = (-len(a)) % 64 + 64
    a = np.concatenate([a, values(element, more, seed=1, scale=3)])
    b = np.concatenate([b, values(element, more, seed=2, scale=3)])
    return a, b


def _edges(element: ScalarType) -> Array:
    dtype = NUMPY[element]
    if element.is_float:
        tiny = np.float64(2.0) ** {F16: -24, BF16: -133, F32: -149, F64: -1074}[element]
        numbers = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3.0, 7.0, 1e4, tiny, -3 * tiny, np.inf, -np.inf, np.nan]
        return np.array(numbers).astype(dtype)
    info = np.iinfo(dtype)
    small = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 100]
    small += [] if info.min == 0 else [-1, -2, -7, -33]
    return np.array([*[n for n in small if n <= info.max], info.min, info.max, info.max - 1], dtype)


def run_binary(op: str, element: ScalarType, a: Array, b: Array, vector: int, target: str = "sm_80") -> Array:
    p = Program(threads=32, target=target)
    n = len(a)
    left, right, out = (p.tensor(name, element, n) for name in "ABC")
    p.store(out, p.b.binary(op, p.load(left), p.load(right)), Sweep(vector))
    c = zeros(element, n)
    p.run(a, b, c)
    return c


def same(got: Array, expected: Array) -> None:
    """Equal, any NaN for any other."""
    exact = np.int64 if expected.dtype.kind in "iu" else np.float64
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.astype(exact), expected.astype(exact))


FLOAT_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "min": np.fmin,
    "max": np.fmax,
}


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("element", FLOATS, ids=str)
@pytest.mark.parametrize("op", FLOAT_OPS)
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_floats_round_once_in_their_type(op: str, element: ScalarType, vector: int, target: str) -> None:
    a, b = pairs(element)
    with np.errstate(all="ignore"):
        wide = a.dtype if element == F64 else np.float64 if element == F32 else np.float32
        # The result of one op in more than twice the precision rounds to the same number.
        expected = FLOAT_OPS[op](a.astype(wide), b.astype(wide)).astype(a.dtype)
    same(run_binary(op, element, a, b, vector, target), expected)


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_a_remainder_and_a_magnitude_meet_in_one_kernel(element: ScalarType) -> None:
    a, b = pairs(element)
    p = Program(threads=32)
    left, right, out = (p.tensor(name, element, len(a)) for name in "ABO")
    p.store(out, p.b.math("abs", p.b.binary("rem", p.load(left), p.load(right))), Sweep(1))
    got = zeros(element, len(a))
    p.run(a, b, got)
    with np.errstate(all="ignore"):
        same(got, np.abs(np.fmod(a, b)))


def wrapped(numbers: Iterable[int], dtype: np.dtype[Any]) -> Array:
    """Integers kept to their low bits."""
    bits = 8 * dtype.itemsize
    return np.array([n & ((1 << bits) - 1) for n in numbers], f"u{dtype.itemsize}").view(dtype)


def _truncated_quotient(a: Array, b: Array) -> Array:
    return wrapped([_quotient(int(x), int(y)) for x, y in zip(a, b, strict=True)], a.dtype)


def _quotient(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def _shifted_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return wrapped([int(x) << int(n) if 0 <= n < bits else 0 for x, n in zip(a, b, strict=True)], a.dtype)


def _shifted_right(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return np.array([int(x) >> (int(n) if 0 <= n < bits else bits - 1) for x, n in zip(a, b, strict=True)], a.dtype)


INTEGER_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shifted_left,
    "shr": _shifted_right,
}


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("element", INTEGERS, ids=str)
@pytest.mark.parametrize("op", INTEGER_OPS)
def test_integers_wrap(op: str, element: ScalarType, vector: int) -> None:
    a, b = pairs(element)
    with np.errstate(all="ignore"):
        same(run_binary(op, element, a, b, vector), INTEGER_OPS[op](a, b))


@pytest.mark.parametrize("vector", [1, 2])
@pytest.mark.parametrize("element", INTEGERS, ids=str)
def test_integer_division_truncates_and_survives_a_zero_divisor(element: ScalarType, vector: int) -> None:
    a, b = pairs(element)
    quotient, rest = (run_binary(op, element, a, b, vector) for op in ("div", "rem"))
    known = b != 0
    expected = _truncated_quotient(a[known], b[known])
    same(quotient[known], expected)
    with np.errstate(all="ignore"):
        same(rest[known], a[known] - expected * b[known])


@pytest.mark.parametrize("divisor", [-1, 1, 3, 8, -8])
def test_integer_division_by_a_constant(divisor: int) -> None:
    p = Program(threads=32)
    a, _ = pairs(I32)
    source, quotient, rest = (p.tensor(name, I32, len(a)) for name in "AQR")
    by = p.b.splat(p.b.const(divisor, I32), (len(a),))
    p.store(quotient, p.b.binary("div", p.load(source), by), Sweep(1))
    p.store(rest, p.b.binary("rem", p.load(source), by), Sweep(1))
    q, r = zeros(I32, len(a)), zeros(I32, len(a))
    p.run(a, q, r)
    expected = _truncated_quotient(a.astype(np.int64), np.full(len(a), divisor)).astype(np.int32)
    same(q, expected)
    with np.errstate(all="ignore"):
        same(r, a - expected * np.int32(divisor))


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8, I32, I64], ids=str)
@pytest.mark.parametrize("target", ["sm_75", "sm_100"])
def test_comparisons_select(element: ScalarType, target: str) -> None:
    a, b = pairs(element)
    p = Program(threads=32, target=target)
    n = len(a)
    left, right = p.tensor("A", element, n), p.tensor("B", element, n)
    outputs = [p.tensor(f"O{name}", I8, n) for name in COMPARISONS]
    one, zero = (p.b.splat(p.b.const(v, I8), (n,)) for v in (1, 0))
    for name, out in zip(COMPARISONS, outputs, strict=True):
        chosen = p.b.cmp(name, p.load(left), p.load(right))
        p.store(out, p.b.select(chosen, one, zero), Sweep(2))
    results = [zeros(I8, n) for _ in COMPARISONS]
    p.run(a, b, *results)
    for (name, compare), got in zip(COMPARISONS.items(), results, strict=True):
        with np.errstate(invalid="ignore"):
            expected = compare(a, b)
        np.testing.assert_array_equal(got.astype(bool), expected, err_msg=name)


def test_conditions_combine() -> None:
    p = Program(threads=32)
    a = np.arange(16, dtype=np.int32)
    source, target = p.tensor("A", I32, 16), p.tensor("B", I32, 16)
    x = p.load(source)

    def constant(value: int) -> Value:
        return p.b.splat(p.b.const(value, I32), (16,))

    low = p.b.cmp("lt", x, constant(10))
    odd = p.b.cmp("eq", p.b.binary("and", x, constant(1)), constant(1))
    either = p.b.binary("or", p.b.binary("and", low, odd), p.b.binary("xor", low, p.b.unary("not", odd)))
    p.store(target, p.b.select(either, x, constant(-1)), Sweep(4))
    out = zeros(I32, 16)
    p.run(a, out)
    low_, odd_ = a < 10, a % 2 == 1
    np.testing.assert_array_equal(out, np.where((low_ & odd_) | (low_ ^ ~odd_), a, -1))


UNARY: dict[str, Callable[[Array], Array]] = {"neg": np.negative, "not": np.invert, "abs": np.abs}


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize(
    ("op", "element"),
    [(op, t) for op in UNARY for t in (*FLOATS, *INTEGERS) if op != "not" or not t.is_float],
    ids=str,
)
def test_unary(op: str, element: ScalarType, vector: int) -> None:
    a, _ = pairs(element)
    p = Program(threads=32, target="sm_75")
    source, target = p.tensor("A", element, len(a)), p.tensor("B", element, len(a))
    x = p.load(source)
    p.store(target, p.b.math("abs", x) if op == "abs" else p.b.unary(op, x), Sweep(vector))
    out = zeros(element, len(a))
    p.run(a, out)
    with np.errstate(all="ignore"):
        expected = UNARY[op](a)
    same(out, expected)
    if element.is_float:
        np.testing.assert_array_equal(np.signbit(out)[~np.isnan(a)], np.signbit(expected)[~np.isnan(a)])


def converted(a: Array, source: ScalarType, target: ScalarType) -> Array:
    """By the language's rules, exactly: through Python's integers and NumPy's one rounding."""
    if source.is_float and not target.is_float:
        info = np.iinfo(NUMPY[target])
        numbers = [0 if np.isnan(x) else x for x in a.astype(np.float64)]
        clipped = [info.min if x <= info.min else info.max if x >= info.max else int(x) for x in numbers]
        return np.array(clipped, NUMPY[target])
    if not source.is_float and not target.is_float:
        return wrapped(map(int, a), np.dtype(NUMPY[target]))
    with np.errstate(all="ignore"):
        if not source.is_float and target in (F16, BF16):
            # f32 holds these integers exactly
            return a.astype(np.float32).astype(NUMPY[target])
        if target == BF16 and source == F64:
            return _bf16_of(a)
        return a.astype(np.float32).astype(NUMPY[target]) if source == BF16 else a.astype(NUMPY[target])


def _bf16_of(a: Array) -> Array:
    """f64 to bf16 in one rounding: f32 rounded to odd keeps what decides."""
    near = a.astype(np.float32)
    bits = near.view(np.uint32).copy()
    with np.errstate(all="ignore"):
        away = np.abs(near.astype(np.float64)) > np.abs(a)
        inexact = (near.astype(np.float64) != a) & ~np.isnan(a)
    bits[away & inexact] -= 1
    bits[inexact] |= 1
    return bits.view(np.float32).astype(NUMPY[BF16])


def conversion_inputs(source: ScalarType, target: ScalarType) -> Array:
    a = pairs(source)[0]
    if source.is_float:
        halves = np.array(
            [0.5, 1.5, 2.5, -0.75, 126.9, 127.5, -128.9, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, -(2**70), 65504, 65520],
            np.float64,
        )
        with np.errstate(all="ignore"):
            a = np.concatenate([a, halves.astype(a.dtype)])
    elif target in (F16, BF16):
        a = a[np.abs(a.astype(np.float64)) < 2**24]
    return np.resize(a, -(-len(a) // 4) * 4)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_100"])
@pytest.mark.parametrize("source", EVERY_TYPE, ids=str)
def test_conversions(source: ScalarType, target: str, width: int) -> None:
    results = [F16, BF16, F32, F64, I8, I32, I64]
    for element in results if source.is_float or width == 64 else [F32, I64]:
        a = conversion_inputs(source, element)
        p = Program(threads=32, target=target, index_bits=width)
        left, out = p.tensor("A", source, len(a)), p.tensor("B", element, len(a))
        p.store(out, p.b.convert(p.load(left), element), Sweep(4))
        got = zeros(element, len(a))
        p.run(a, got)
        same(got, converted(a, source, element))


@pytest.mark.parametrize("width", [32, 64])
def test_index_converts_at_its_width(width: int) -> None:
    p = Program(threads=32, index_bits=width)
    source, wide, back = p.tensor("A", F64, 8), p.tensor("B", I64, 8), p.tensor("C", I8, 8)
    position = p.b.convert(p.load(source), INDEX)
    p.store(wide, p.b.convert(position, I64), Sweep(1))
    p.store(back, p.b.convert(position, I8), Sweep(1))
    a = np.array([1e10, -1e10, 2.9, -2.9, np.nan, 1e30, -1e30, 300])
    b, c = zeros(I64, 8), zeros(I8, 8)
    p.run(a, b, c)
    info = np.iinfo(f"i{width // 8}")
    expected = [min(max(int(x), info.min), info.max) if np.isfinite(x) else 0 for x in a]
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(c, [((x + 128) & 255) - 128 for x in expected])


def test_a_product_that_only_feeds_a_sum_may_fuse_and_another_may_not() -> None:
    def ptx(twice: bool) -> str:
        p = Program(threads=32)
        a, b, c, d = (p.tensor(name, F32, 32) for name in "ABCD")
        product = p.b.binary("mul", p.load(a), p.load(b))
        p.store(c, p.b.binary("add", product, p.load(c)), Sweep(1))
        if twice:
            p.store(d, product, Sweep(1))
        return codegen.emit(p.kernel())

    assert "fma.rn.f32" in ptx(twice=False)
    assert "fma.rn.f32" not in ptx(twice=True)


def test_a_rounding_of_the_source_survives_fusion() -> None:
    p = Program(threads=32)
    source, target = p.tensor("A", F32, 32), p.tensor("B", F32, 32)
    narrow = p.b.convert(p.load(source), F16)
    p.store(target, p.b.convert(narrow, F32), Sweep(1))
    a, b = values(F32, 32), zeros(F32, 32)
    p.run(a, b)
    np.testing.assert_array_equal(b, a.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize(("given", "expected"), [(True, 1), (False, 2)])
def test_bool_parameters_are_bytes(given: bool, expected: int) -> None:
    p = Program(threads=32)
    flag, target = p.scalar("flag", BOOL), p.tensor("B", I32, 1)
    chosen = p.b.select(flag, p.b.const(1, I32), p.b.const(2, I32))
    p.store(target, p.b.splat(chosen, (1,)), Sweep(1))
    out = zeros(I32, 1)
    p.run(given, out)
    assert out[0] == expected
