"""`for<unroll n>` up to the size that a kernel may have; past it an error, before a copy is made."""

import pytest

from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.rewrite import walk
from phobos_core.passes import PassError
from phobos_core.passes.unroll import MOST_OPS, unroll


def unrolled(outer: int, inner: int = 1) -> int:
    """The ops of a kernel with one loop in another, each body unrolled so many times."""
    first, second = (f" {{unroll = {times}}}" if times > 1 else "" for times in (outer, inner))
    kernel = parse_kernel(f"""\
kernel @k target=sm_80 threads=32 index=64 (%Y: mem<f32>[?, global] as [N], %Y.t: token, %s: f32, %N: index) {{
  %z = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %y = for %z, %N, %c1, %Y.t{first} : token @3 (%i: index, %t: token) {{
    %u = for %z, %N, %c1, %t{second} : token @4 (%j: index, %v: token) {{
      %w = store_point %Y, %j, %s, %v : token @5
      yield %w @4
    }}
    yield %u @3
  }}
}}
""")
    return sum(1 for _ in walk(unroll(kernel).body))


def refused(outer: int, inner: int = 1) -> PassError:
    with pytest.raises(PassError) as caught:
        unrolled(outer, inner)
    return caught.value


def test_a_loop_past_the_limit_is_an_error_with_its_factor() -> None:
    error = refused(2, 1_000_000)
    assert (error.code, error.line) == ("unrolled-too-far", 4)
    assert "`for<unroll 1000000>`" in error.message


def test_the_factor_that_the_help_names_is_the_largest_that_fits() -> None:
    help = refused(1, MOST_OPS).help
    assert help is not None
    [fitting] = [int(word) for word in help.split() if word.isdigit()]
    assert MOST_OPS // 4 < unrolled(1, fitting) <= MOST_OPS + 100
    assert refused(1, fitting + 1).code == "unrolled-too-far"


def test_loops_in_each_other_multiply() -> None:
    unrolled(1, 100)
    unrolled(100, 1)
    assert refused(1000, 100).line == 3
