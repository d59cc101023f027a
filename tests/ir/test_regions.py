"""What two windows of one buffer may share, and how wide their accesses may be."""

from dataclasses import replace

import pytest

from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Kernel, Value
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.regions import Earlier, Region, Regions, disjoint
from phobos_core.ir.rewrite import Index

HEAD = """\
kernel @k target=sm_80 threads=32 index=64 divisors={N: 4, M: 64} assumed=[N] (%X: mem<f32>[?x?, global] as [M, N],
    %X.t: token, %H: mem<f16>[?x64, global] as [M, 64], %H.t: token, %L: index, %M: index, %N: index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  %c8 = const {value = 8} : index
  %c12 = const {value = 12} : index
  %b = ctx {field = block.x} : index
  %b8 = mul %b, %c8 : index
  %b9 = add %b8, %c1 : index
  %b16 = add %b8, %c8 : index
  %q = div %L, %c2 : index
"""


def views(*lines: str) -> tuple[Kernel, Index, list[Value]]:
    ops = "\n".join(f"  %v{n} = {line}" for n, line in enumerate(lines))
    kernel = parse_kernel(f"{HEAD}{ops}\n}}\n")
    index = Index(kernel.body)
    return kernel, index, [op.result for op in kernel.body.ops if op.name == "view"]


def window(row: str, column: str, shape: str = "8x8") -> str:
    return f"view %X, {row}, {column} {{bounds = [none, none]}} : view<f32>[{shape}, global]"


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        (window("%b8", "%c0"), window("%b16", "%c0"), True),
        (window("%b8", "%c0"), window("%b9", "%c0"), False),
        (window("%b9", "%c0"), window("%b8", "%c0", "1x8"), True),
        (window("%b8", "%c0"), window("%L", "%c0"), False),
        (window("%L", "%c0"), window("%q", "%c8"), True),
        (window("%L", "%c0"), window("%q", "%c2"), False),
    ],
)
def test_disjoint(first: str, second: str, apart: bool) -> None:
    kernel, index, (a, b) = views(first, second)
    regions = Regions(kernel, index)
    assert disjoint(regions.of_view(a), regions.of_view(b)) is apart
    assert disjoint(regions.of_view(b), regions.of_view(a)) is apart


def test_equal_windows_are_equal_regions() -> None:
    kernel, index, (a, b) = views(window("%b8", "%c0"), window("%b8", "%c0"))
    regions = Regions(kernel, index)
    assert regions.of_view(a) == regions.of_view(b)


@pytest.mark.parametrize(("step", "extent", "apart"), [(8, 8, True), (7, 8, False), (16, 8, True), (1, 1, True)])
def test_windows_of_earlier_iterations(step: int, extent: int, apart: bool) -> None:
    """Rows i .. i + extent against those at i - k * step with k >= 1, and the same counted down."""
    kernel, index, (a,) = views(window("%L", "%c0"))
    now = Regions(kernel, index).of_view(a)
    variable = kernel.params[2].value
    for sign in (1, -1):
        current = ((frozenset({(variable, sign)}), 0), (frozenset(), 0))
        before = ((frozenset({(Earlier(variable, step), sign)}), 0), (frozenset(), 0))
        here = replace(now, starts=current, shape=(extent, 8))
        there = replace(now, starts=before, shape=(extent, 8))
        assert disjoint(here, there) is apart
        assert disjoint(there, here) is apart


def test_stages_of_other_parity_are_apart() -> None:
    """s against 1 - s: no integer s makes them equal; s against 2 - s can be."""
    kernel, index, (a,) = views(window("%L", "%c0"))
    base = Regions(kernel, index).of_view(a)
    s = kernel.params[2].value

    def staged(coefficient: int, constant: int) -> Region:
        return replace(base, stage=(frozenset({(s, coefficient)}), constant))

    assert disjoint(staged(1, 0), staged(-1, 1))
    assert not disjoint(staged(1, 0), staged(-1, 2))
    assert disjoint(staged(1, 0), staged(1, 1))


@pytest.mark.parametrize(
    ("line", "vector", "relies_on"),
    [
        # Rows of N elements: 4 only because extents are taken for multiples of 4.
        ("view %X, %b, %c0 {bounds = [none, none]} : view<f32>[8x8, global]", 4, ("N",)),
        ("view %X, %b, %c2 {bounds = [none, none]} : view<f32>[8x8, global]", 2, ("N",)),
        ("view %X, %b, %b9 {bounds = [none, none]} : view<f32>[8x8, global]", 1, ()),
        # The first row alone does not depend on the row length.
        ("view %X, %c0, %b8 {bounds = [none, none]} : view<f32>[1x8, global]", 4, ()),
        # 16 bytes are 8 elements of f16, and 6 columns are three pairs.
        ("view %H, %b, %b8 {bounds = [none, none]} : view<f16>[8x64, global]", 8, ()),
        ("view %H, %b, %b8 {bounds = [none, none]} : view<f16>[8x6, global]", 2, ()),
        # A bound that a run might straddle.
        ("view %H, %b, %b8, %c12 {bounds = [none, upper]} : view<f16>[8x64, global]", 4, ()),
        ("view %H, %b, %b8, %c2, %M {bounds = [none, both]} : view<f16>[8x64, global]", 2, ()),
        ("view %H, %b, %b8, %L {bounds = [upper, none]} : view<f16>[8x64, global]", 8, ()),
    ],
)
def test_widest_access(line: str, vector: int, relies_on: tuple[str, ...]) -> None:
    kernel, index, (view,) = views(line)
    found = Vectors(kernel, index).widest([view], view.type.shape[-1])
    assert (found.vector, found.relies_on) == (vector, relies_on)


def test_the_requirement_of_a_width() -> None:
    kernel, index, _ = views(window("%b", "%c0"))
    (needed,) = Vectors(kernel, index).requirements(["N"])
    assert (needed.text, needed.op) == ("N % 4 == 0", "multiple of")
    assert needed.lhs.evaluate({"N": 12}) == 12
    assert needed.rhs.constant == 4
