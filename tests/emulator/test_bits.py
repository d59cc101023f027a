"""Logic, shifts, bit fields and permutations against the manual's definitions in plain Python."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Apply = Callable[..., Array]

PATTERNS = [
    0,
    1,
    2,
    0x80,
    0xFF,
    0x1234,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xDEADBEEF,
    0xFFFFFFFF,
]


def words(bits: int) -> list[int]:
    wide = [*PATTERNS, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF]
    return sorted({v & ((1 << bits) - 1) for v in wide})


def columns(*choices: list[int], types: str = "u4") -> list[Array]:
    rows = list(product(*choices))
    kinds = types.split(",") if "," in types else [types] * len(choices)
    return [np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic(apply: Apply, bits: int) -> None:
    kind = f"u{bits // 8}"
    a, b = columns(words(bits), words(bits), types=f"{kind},{kind}")
    np.testing.assert_array_equal(apply(f"and.b{bits} %d, %a, %b;", kind, a=a, b=b), a & b)
    np.testing.assert_array_equal(apply(f"or.b{bits} %d, %a, %b;", kind, a=a, b=b), a | b)
    np.testing.assert_array_equal(apply(f"xor.b{bits} %d, %a, %b;", kind, a=a, b=b), a ^ b)
    np.testing.assert_array_equal(apply(f"not.b{bits} %d, %a;", kind, a=a), ~a)
    np.testing.assert_array_equal(apply(f"cnot.b{bits} %d, %a;", kind, a=a), a == 0)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_past_the_width(apply: Apply, bits: int) -> None:
    kind = f"u{bits // 8}"
    amounts = [0, 1, 5, bits - 1, bits, bits + 1, 255, 0xFFFFFFFF]
    a, b = columns(words(bits), amounts, types=f"{kind},u4")
    mask = (1 << bits) - 1
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    left = [(x << y) & mask if y < bits else 0 for x, y in pairs]
    right = [x >> y if y < bits else 0 for x, y in pairs]
    arithmetic = [((x - (x >> bits - 1 << bits)) >> min(y, bits)) & mask for x, y in pairs]
    np.testing.assert_array_equal(apply(f"shl.b{bits} %d, %a, %b;", kind, a=a, b=b), np.array(left, kind))
    np.testing.assert_array_equal(apply(f"shr.u{bits} %d, %a, %b;", kind, a=a, b=b), np.array(right, kind))
    np.testing.assert_array_equal(apply(f"shr.s{bits} %d, %a, %b;", kind, a=a, b=b), np.array(arithmetic, kind))


@pytest.mark.parametrize("amount", [0, 3, 31, 32, 40])
def test_shifts_by_a_constant(apply: Apply, amount: int) -> None:
    a = np.array(words(32), "u4")
    left = [(x << amount) & 0xFFFFFFFF for x in a.tolist()]
    np.testing.assert_array_equal(apply(f"shl.b32 %d, %a, {amount};", "u4", a=a), left)
    signed = [x >> amount for x in a.view("i4").tolist()]
    np.testing.assert_array_equal(apply(f"shr.s32 %d, %a, {amount};", "i4", a=a), signed)


@pytest.mark.parametrize("table", [0x96, 0xE8, 0xCA, 0x00, 0xFF, 0x1B])
def test_three_input_logic(apply: Apply, table: int) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(3))
    expected = np.zeros_like(a)
    for bit in range(32):
        index = ((a >> bit & 1) << 2) | ((b >> bit & 1) << 1) | (c >> bit & 1)
        expected |= (np.uint32(table) >> index & 1) << np.uint32(bit)
    got = apply(f"lop3.b32 %d, %a, %b, %c, {table};", "u4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_funnel_shift(apply: Apply, mode: str) -> None:
    a, b, c = columns(words(32), [0, 0xDEADBEEF, 0xFFFFFFFF], [0, 1, 31, 32, 33, 64])
    amounts = [min(n, 32) if mode == "clamp" else n & 31 for n in c.tolist()]
    wide = [y << 32 | x for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    left = [(v << n) >> 32 & 0xFFFFFFFF for v, n in zip(wide, amounts, strict=True)]
    right = [v >> n & 0xFFFFFFFF for v, n in zip(wide, amounts, strict=True)]
    np.testing.assert_array_equal(apply(f"shf.l.{mode}.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c), left)
    np.testing.assert_array_equal(apply(f"shf.r.{mode}.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c), right)


@pytest.mark.parametrize("bits", [32, 64])
def test_counts(apply: Apply, bits: int) -> None:
    a = np.array(words(bits), f"u{bits // 8}")
    numbers = a.tolist()
    np.testing.assert_array_equal(apply(f"popc.b{bits} %d, %a;", "u4", a=a), [v.bit_count() for v in numbers])
    np.testing.assert_array_equal(apply(f"clz.b{bits} %d, %a;", "u4", a=a), [bits - v.bit_length() for v in numbers])
    mirrored = [int(f"{v:0{bits}b}"[::-1], 2) for v in numbers]
    np.testing.assert_array_equal(apply(f"brev.b{bits} %d, %a;", a.dtype, a=a), np.array(mirrored, a.dtype))


@pytest.mark.parametrize("bits", [32, 64])
def test_find_highest_bit(apply: Apply, bits: int) -> None:
    a = np.array(words(bits), f"u{bits // 8}")
    unsigned = [(v.bit_length() - 1) & 0xFFFFFFFF for v in a.tolist()]
    signed = [((~v if v < 0 else v).bit_length() - 1) & 0xFFFFFFFF for v in a.view(f"i{bits // 8}").tolist()]
    np.testing.assert_array_equal(apply(f"bfind.u{bits} %d, %a;", "u4", a=a), unsigned)
    np.testing.assert_array_equal(apply(f"bfind.s{bits} %d, %a;", "u4", a=a), signed)
    shifts = [v if v == 0xFFFFFFFF else bits - 1 - v for v in unsigned]
    np.testing.assert_array_equal(apply(f"bfind.shiftamt.u{bits} %d, %a;", "u4", a=a), shifts)


def extract(value: int, start: int, length: int, bits: int, signed: bool) -> int:
    """The manual's pseudocode of bfe, bit by bit."""
    if length == 0:
        return 0
    sign = value >> min(start + length - 1, bits - 1) & 1 if signed else 0
    result = 0
    for i in range(bits):
        inside = i < length and start + i < bits
        result |= (value >> (start + i) & 1 if inside else sign) << i
    return result


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_extract_bit_field(apply: Apply, kind: str) -> None:
    bits = int(kind[1:])
    edges = [0, 1, 5, bits - 1, bits, bits + 9, 255]
    a, b, c = columns(words(bits), edges, edges, types=f"u{bits // 8},u4,u4")
    expected = [
        extract(x, y, z, bits, kind[0] == "s") for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    got = apply(f"bfe.{kind} %d, %a, %b, %c;", a.dtype, a=a, b=b, c=c)
    np.testing.assert_array_equal(got, np.array(expected, a.dtype))


@pytest.mark.parametrize("bits", [32, 64])
def test_insert_bit_field(apply: Apply, bits: int) -> None:
    edges = [0, 1, 5, bits - 1, bits, bits + 9, 255]
    some = words(bits)[::4]
    a, b, c, e = columns(some, some, edges, edges, types=f"u{bits // 8},u{bits // 8},u4,u4")

    def insert(value: int, into: int, start: int, length: int) -> int:
        for i in range(length):
            if start + i < bits:
                into = into & ~(1 << start + i) | (value >> i & 1) << start + i
        return into

    rows = zip(a.tolist(), b.tolist(), c.tolist(), e.tolist(), strict=True)
    expected = [insert(*row) for row in rows]
    got = apply(f"bfi.b{bits} %d, %a, %b, %c, %e;", a.dtype, a=a, b=b, c=c, e=e)
    np.testing.assert_array_equal(got, np.array(expected, a.dtype))


def test_sign_extension_by_a_variable_width(apply: Apply) -> None:
    a, b = columns(words(32), [0, 1, 8, 31, 32, 40])
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    zero = [x & ((1 << min(y, 32)) - 1) for x, y in pairs]
    signed = [extract(x, 0, y, 32, True) for x, y in pairs]
    np.testing.assert_array_equal(apply("szext.clamp.u32 %d, %a, %b;", "u4", a=a, b=b), zero)
    np.testing.assert_array_equal(apply("szext.clamp.s32 %d, %a, %b;", "u4", a=a, b=b), signed)


def test_bit_mask(apply: Apply) -> None:
    a, b = columns([0, 1, 16, 31, 32, 40], [0, 1, 16, 31, 32, 40])
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    clamped = [((1 << min(y, 32)) - 1) << x & 0xFFFFFFFF if x < 32 else 0 for x, y in pairs]
    wrapped = [((1 << (y & 31)) - 1) << (x & 31) & 0xFFFFFFFF for x, y in pairs]
    np.testing.assert_array_equal(apply("bmsk.clamp.b32 %d, %a, %b;", "u4", a=a, b=b), clamped)
    np.testing.assert_array_equal(apply("bmsk.wrap.b32 %d, %a, %b;", "u4", a=a, b=b), wrapped)


def test_permute_bytes(apply: Apply) -> None:
    rng = np.random.default_rng(6)
    a, b, c = (rng.integers(0, 1 << 32, 200, dtype=np.uint32) for _ in range(3))

    def permute(low: int, high: int, select: int) -> int:
        pool = (high << 32 | low).to_bytes(8, "little")
        out = 0
        for place in range(4):
            nibble = select >> 4 * place & 15
            byte = pool[nibble & 7]
            out |= ((0xFF if byte & 0x80 else 0) if nibble & 8 else byte) << 8 * place
        return out

    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    np.testing.assert_array_equal(
        apply("prmt.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c), [permute(*row) for row in rows]
    )


# The selections that the manual's table gives for each mode, as bytes from the highest to the lowest.
MODES = {
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


@pytest.mark.parametrize("mode", MODES)
def test_permute_modes(apply: Apply, mode: str) -> None:
    a, b = np.full(4, 0x13121110, "u4"), np.full(4, 0x17161514, "u4")
    expected = [sum((0x10 + int(digit)) << 8 * (3 - i) for i, digit in enumerate(row)) for row in MODES[mode]]
    got = apply(f"prmt.b32.{mode} %d, %a, %b, %c;", "u4", a=a, b=b, c=np.arange(4, dtype=np.uint32))
    np.testing.assert_array_equal(got, expected)


def test_find_nth_set_bit(apply: Apply) -> None:
    a = np.array([0b10110, 0b10110, 0b10110, 0b10110, 0, 0b10110], "u4")
    b = np.array([0, 2, 4, 2, 5, 0], "u4")
    c = np.array([1, 2, -2, 0, 1, 9], "i4")
    got = apply("fns.b32 %d, %a, %b, %c;", "u4", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, [1, 4, 2, 2, 0xFFFFFFFF, 0xFFFFFFFF])
