"""Vector widths by what the addresses allow."""

import pytest

from phobos_core.ir.divisors import Vectors
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.rewrite import Index


@pytest.mark.parametrize(("stages", "stage", "width"), [(1, "", 4), (2, "%1, ", 1)])
def test_the_second_copy_of_an_odd_row_begins_at_an_odd_place(stages: int, stage: str, width: int) -> None:
    kernel = parse_kernel(
        f"""
        kernel @k target=sm_80 threads=32 index=64 (%X: mem<f32>[4, global] as [4], %X.t: token) {{
          %0 = const {{value = 0}} : index
          %1 = const {{value = 1}} : index
          %t, %t.0 = alloc {{name = t, stages = {stages}}} : mem<f32>[1x7, shared], token
          %v = view %t, {stage}%0, %0 {{bounds = [none, none]}} : view<f32>[1x4, shared]
        }}
    """
    )
    view = kernel.body.ops[-1].result
    assert Vectors(kernel, Index(kernel.body)).widest([view], 4).vector == width
