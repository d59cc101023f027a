"""Intervals of integer values hold every value that the ops give, by the ops' own documents, wrapping included."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phobos_core.ir.builder import Builder
from phobos_core.ir.intervals import Intervals, of_kernel
from phobos_core.ir.module import Value
from phobos_core.ir.parser import parse_kernel
from phobos_core.language.types import I8, I32, INDEX, U8, U32, ScalarType

BITS = 64


def wrapped(value: int, type: ScalarType) -> int:
    bits = BITS if type == INDEX else type.bits
    value &= (1 << bits) - 1
    return value if type in (U8, U32) or not value >> bits - 1 else value - (1 << bits)


def shifted(name: str, a: int, b: int, bits: int) -> int:
    if not 0 <= b < bits:
        return 0 if name == "shl" else (-1 if a < 0 else 0)
    return a << b if name == "shl" else a >> b


def computed(name: str, a: int, b: int, type: ScalarType) -> int | None:
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "div" | "rem":
            if b == 0:
                return None
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if name == "div" else a - quotient * b
        case _:
            return shifted(name, a, b, BITS if type == INDEX else type.bits)


NAMES = ["add", "sub", "mul", "min", "max", "and", "or", "xor", "div", "rem", "shl", "shr"]
NUMBERS = st.one_of(st.integers(-70, 70), st.integers(-(2**40), 2**40), st.integers(-(2**63), 2**63 - 1))


@given(st.sampled_from([INDEX, I32]), st.sampled_from(NAMES), NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.data())
def test_an_interval_holds_what_the_op_gives(
    type: ScalarType, name: str, a: int, b: int, c: int, d: int, data: st.DataObject
) -> None:
    ends = [wrapped(n, type) for n in (a, b, c, d)]
    intervals = (min(ends[:2]), max(ends[:2])), (min(ends[2:]), max(ends[2:]))
    found, build = Intervals(32, BITS), Builder()
    operands = [Value(type), Value(type)]
    for value, interval in zip(operands, intervals, strict=True):
        found.declare(value, interval)
    result = build.binary(name, *operands)
    found.observe(build.ops[-1])
    x, y = (data.draw(st.integers(*interval)) for interval in intervals)
    exact = computed(name, x, y, type)
    if exact is not None:
        least, most = found.of(result)
        assert least <= wrapped(exact, type) <= most


def test_arithmetic_that_may_wrap_says_nothing() -> None:
    found, build = Intervals(32, 64), Builder()
    a, b = Value(INDEX), build.index(1 << 40)
    found.observe(build.ops[-1])
    found.declare(a, (0, 1 << 40))
    product = build.binary("mul", a, b)
    found.observe(build.ops[-1])
    rest = build.binary("rem", product, b)
    found.observe(build.ops[-1])
    assert found.of(product) == found.of_type(INDEX)
    # The product may have become negative.
    assert found.of(rest) == (1 - (1 << 40), (1 << 40) - 1)


def test_conversions_keep_what_fits() -> None:
    found, build = Intervals(32, 64), Builder()
    wide = Value(INDEX)
    found.declare(wide, (0, 300))
    for type, interval in ((I32, (0, 300)), (I8, (-128, 127)), (U8, (0, 255))):
        value = build.convert(wide, type)
        found.observe(build.ops[-1])
        assert found.of(value) == interval
    byte = Value(I8)
    back = build.convert(byte, INDEX)
    found.observe(build.ops[-1])
    assert found.of(back) == (-128, 127)


def test_a_loop_variable_that_may_wrap_is_not_bounded() -> None:
    text = """
kernel @k target=sm_80 threads=64 index=64 (%n: i32, %w: i64) {{
  %z = const {{value = 0}} : index
  %s = const {{value = 4}} : index
  %hi = convert %{hi} : index
  for %z, %hi, %s (%i: index) {{
    yield
  }}
}}
"""
    for hi, most in (("n", 2**31 - 2), ("w", 2**63 - 1)):
        kernel = parse_kernel(text.format(hi=hi))
        loop = kernel.body.ops[-1]
        assert of_kernel(kernel).of(loop.regions[0].args[0])[1] == most


def test_dp4a_and_popcount() -> None:
    found, build = Intervals(32, 64), Builder()
    word, zero = Value(U32), build.const(0, I32)
    found.observe(build.ops[-1])
    signed = build.dp4a(word, word, zero)
    found.observe(build.ops[-1])
    assert found.of(signed) == (-4 * 128 * 127, 4 * 128 * 128)
    unsigned = build.dp4a(word, word, zero, (True, True))
    found.observe(build.ops[-1])
    assert found.of(unsigned) == (0, 4 * 255 * 255)
