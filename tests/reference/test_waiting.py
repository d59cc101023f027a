"""How blocks wait for each other on the reference, and what it says of a grid that can never go on."""

from __future__ import annotations

import numpy as np
import pytest

from phobos_core import reference
from phobos_core.analysis import check
from phobos_core.reference import ReferenceFault
from phobos_core.reference.frame import Frame, Grid
from phobos_core.syntax import parse


def run(source: str, grid: int, *args: np.ndarray) -> list[str]:
    """The remarks of a run."""
    [placed] = check(parse(source), target="sm_80").kernels
    assert placed.kernel is not None
    return [r.message for r in reference.run(placed.kernel, (grid, 1, 1), args, config={}, dims={})]


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def fault(source: str, grid: int, *args: np.ndarray) -> str:
    with pytest.raises(ReferenceFault) as raised:
        run(source, grid, *args)
    return raised.value.code


def test_a_loop_that_changes_nothing_does_not_end() -> None:
    assert fault("kernel k(C: tensor<i32>[1]) { var i = 0\n while i < 4 { C[0] = 1 } }", 2, ints(0)) == "endless-loop"


def test_a_loop_that_changes_something_is_not_stopped() -> None:
    c = ints(0)
    run("@launch(32)\nkernel k(C: tensor<i32>[1]) { while C[0] < 3000 { C[0] += 1 } }", 1, c)
    assert c[0] == 3000


def test_a_thread_alone_may_go_on_for_long() -> None:
    c = ints(*[0] * 32)
    body = "var n = 0\n while n < ctx.lane * 100 { n += 1 }\n C[ctx.lane] = n"
    run(f"@launch(32)\nkernel k(C: tensor<i32>[32]) {{ {body} }}", 1, c)
    assert (c == np.arange(32) * 100).all()


def test_a_loop_that_counts_while_it_waits_lets_others_go_on() -> None:
    f, o = ints(0, 0), ints(0)
    body = "var n = 0\n if ctx.block.x == 0 { while F[0] == 0 { n += 1 }\n O[0] = 7 } else { F[0] = 1 }"
    run(f"@launch(32)\nkernel k(F: tensor<i32>[2], O: tensor<i32>[1]) {{ {body} }}", 2, f, o)
    assert o[0] == 7


def test_a_lock_that_nobody_opens() -> None:
    assert fault("kernel k(L: tensor<i32>[1]) { while atomic_cas(L, 0, 0, 1) != 0 {} }", 2, ints(0)) == "deadlock"


def test_blocks_that_wait_for_each_other() -> None:
    source = (
        "@launch(32)\nkernel k(F: tensor<i32>[2]) {\n"
        "  while load_acquire(F, 1 - ctx.block.x) == 0 {}\n  store_release(F, ctx.block.x, 1)\n}"
    )
    assert fault(source, 2, ints(0, 0)) == "deadlock"
    run(source, 2, ints(0, 1))


def test_polling_for_a_bounded_time_is_no_deadlock() -> None:
    source = (
        "@launch(32)\nkernel k(F: tensor<i32>[1], O: tensor<i32>[4]) {\n  for i in range(0, 10) {\n"
        "    if load_acquire(F, 0) != 0 {\n      break\n    }\n    O[ctx.block.x] = i + 1\n  }\n}"
    )
    o = ints(0, 0, 0, 0)
    run(source, 4, ints(0), o)
    assert (o == 10).all()


def test_grid_barriers_in_turn() -> None:
    source = (
        "@persistent\n@launch(32)\nkernel k(A: tensor<i32>[2], B: tensor<i32>[2], O: tensor<i32>[8]) {\n"
        "  if ctx.block.x % 2 == 0 {\n    grid_barrier(A)\n    grid_barrier(B)\n  } else {\n"
        "    grid_barrier(B)\n    grid_barrier(A)\n  }\n  O[ctx.block.x] = 1\n}"
    )
    assert fault(source, 2, ints(0, 0), ints(0, 0), ints(*[0] * 8)) == "deadlock"


def test_the_last_thread_stores_last() -> None:
    c = ints(0, 0)
    remarks = run("@launch(64)\nkernel k(C: tensor<i32>[2]) { C[ctx.thread % 2] = ctx.thread }", 1, c)
    assert c.tolist() == [62, 63]
    assert len(remarks) == 1
    assert remarks[0].startswith("several threads store to one element of `C`")


def test_the_last_thread_stores_last_where_runs_overlap() -> None:
    c = ints(*[0] * 34)
    run("@launch(32)\nkernel k(C: tensor<i32>[34]) { store(C[ctx.thread :+ 2], 100 + ctx.thread, 200) }", 1, c)
    assert c.tolist() == [*range(100, 132), 200, 0]


def test_threads_that_add_to_one_element_race() -> None:
    c = ints(5)
    remarks = run("@launch(64)\nkernel k(C: tensor<i32>[1]) { C[ctx.thread / 64] += 1 }", 1, c)
    assert len(remarks) == 1


def test_a_division_by_zero_is_of_a_thread_that_runs() -> None:
    source = "@launch(32)\nkernel k(C: tensor<i32>[32]) {{ if ctx.lane > {} {{ C[ctx.lane] = 100 / ctx.lane }} }}"
    assert run(source.format(0), 1, ints(*[0] * 32)) == []
    assert len(run(source.format(-1), 1, ints(*[0] * 32))) == 1


def test_values_of_threads_that_run() -> None:
    frame = Frame(64, {}, {}, Grid(1), 4)
    value = np.array([1, 2, 3, 4])
    assert frame.uniform(value) == 1
    frame.active = np.array([False, False, True, True])
    assert frame.uniform(value) == 3
    assert frame.of_running(value).tolist() == [3, 4]
    assert frame.of_running(np.array(7)).tolist() == 7
