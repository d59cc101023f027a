"""What is known of index values: each fact is one that holds by arithmetic."""

import pytest

from phobos_core.ir.builder import Builder
from phobos_core.ir.integers import Integers, Linear, Range
from phobos_core.ir.module import Value
from phobos_core.language.types import INDEX, U8


class Facts:
    """A builder whose ops are observed."""

    def __init__(self) -> None:
        self.build = Builder()
        self.facts = Integers(threads=256, index_bits=64)

    def const(self, value: int) -> Value:
        return self._seen(self.build.index(value))

    def op(self, name: str, a: Value, b: Value) -> Value:
        return self._seen(self.build.binary(name, a, b))

    def ctx(self, field: str) -> Value:
        return self._seen(self.build.ctx(field))

    def extent(self, multiple: int = 1) -> Value:
        value = Value(INDEX)
        self.facts.declare_extent(value, multiple)
        return value

    def loop(self, lo: Value, hi: Value, step: Value) -> Value:
        value = Value(INDEX)
        self.facts.declare_loop(value, lo, hi, step)
        return value

    def room(self, start: Value, extent: int, end: Value) -> int | None:
        """The least that end - start - extent can be."""
        form = self.facts.linear(end).minus(self.facts.linear(start)).minus(Linear({}, extent))
        return self.facts.minimum(form)

    def _seen(self, value: Value) -> Value:
        self.facts.observe(self.build.ops[-1])
        return value


def test_sums_of_the_same_terms_are_equal() -> None:
    f = Facts()
    x, y = f.ctx("block.x"), f.ctx("block.y")
    a = f.op("mul", f.op("add", x, y), f.const(4))
    b = f.op("add", f.op("mul", y, f.const(4)), f.op("shl", x, f.const(2)))
    assert f.facts.constant(f.op("sub", a, b)) == 0


def test_multiples() -> None:
    f = Facts()
    tile = f.op("mul", f.ctx("block.x"), f.const(64))
    assert f.facts.range(f.op("add", tile, f.const(48))).multiple == 16
    assert f.facts.range(f.op("add", tile, f.const(48))).modulus == 64
    assert f.facts.constant(f.op("rem", f.op("add", tile, f.const(3)), f.const(32))) == 3
    half = f.op("div", tile, f.const(2))
    assert f.facts.range(half).multiple == 32
    product = f.op("mul", tile, f.op("mul", f.ctx("block.y"), f.const(6)))
    assert f.facts.range(product).multiple == 384


@pytest.mark.parametrize(
    ("name", "divisor", "expected"),
    [("rem", 8, (0, 7)), ("div", 8, (0, 31)), ("and", 15, (0, 15)), ("shr", 4, (0, 15)), ("min", 9, (0, 9))],
)
def test_ranges(name: str, divisor: int, expected: tuple[int, int]) -> None:
    f = Facts()
    known = f.facts.range(f.op(name, f.ctx("thread"), f.const(divisor)))
    assert (known.lo, known.hi) == expected


def test_a_remainder_of_what_may_be_negative_may_be_negative() -> None:
    f = Facts()
    known = f.facts.range(f.op("rem", f.op("sub", f.ctx("thread"), f.const(5)), f.const(8)))
    assert (known.lo, known.hi) == (-7, 7)


def test_a_loaded_value_is_known_by_its_type_only() -> None:
    f = Facts()
    byte = f.build.convert(Value(U8), INDEX)
    f.facts.observe(f.build.ops[-1])
    assert f.facts.range(byte) == Range(0, 255)
    assert f.facts.range(Value(INDEX)) == Range()


def test_a_loop_variable_stays_below_its_end() -> None:
    f = Facts()
    n = f.extent()
    i = f.loop(f.const(0), n, f.const(1))
    assert f.room(i, 1, n) == 0
    assert f.room(i, 2, n) == -1


def test_whole_tiles_of_an_aligned_extent() -> None:
    f = Facts()
    n = f.extent(multiple=32)
    i = f.loop(f.const(0), n, f.const(16))
    assert f.room(i, 16, n) == 0
    ragged = f.extent()
    j = f.loop(f.const(0), ragged, f.const(16))
    assert f.room(j, 16, ragged) == -15


def test_the_last_iteration_of_a_constant_loop() -> None:
    f = Facts()
    i = f.loop(f.const(2), f.const(20), f.const(5))
    known = f.facts.range(i)
    assert (known.lo, known.hi, known.modulus, known.residue) == (2, 17, 5, 2)


def test_a_loop_within_a_loop() -> None:
    f = Facts()
    n = f.extent()
    i = f.loop(f.const(0), n, f.const(1))
    j = f.loop(f.const(0), i, f.const(1))
    assert f.room(j, 1, n) == 1
