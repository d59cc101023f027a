"""The order in which the emulator runs warps and blocks: any order gives what a kernel without races means, and a
kernel whose result depends on the order shows it. One seed is one order, and what is found names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import phobos_core as phobos
from phobos_core import emulator
from phobos_core.runtime.devices import KernelFault
from tests.differential.agreement import left
from tests.differential.test_threads import CASES, Case
from tests.examples.test_examples import OPINIONS, first

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_per_thread_code_in_every_order(make: Callable[[], Case]) -> None:
    case = make()
    (kernel,) = phobos.compile_text(case.source).values()
    for seed in SEEDS:
        args = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in case.args]
        kernel.launch(case.grid, *args, schedule=seed)
        for position, want in case.expected.items():
            found, want = (np.asarray(each).astype(np.float64) for each in (args[position], want))
            np.testing.assert_allclose(found, want, case.tolerance, case.tolerance, err_msg=f"{position}, {seed}")


@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_the_examples_in_every_order(name: str) -> None:
    kernel, opinion = first(name), OPINIONS[name]
    launch = opinion.make((opinion.ragged or opinion.whole)(kernel.config), kernel.config, np.random.default_rng(7))
    in_step = left(kernel, "emulator", launch.grid, launch.args)
    for seed in SEEDS[:2]:
        found = left(kernel, "emulator", launch.grid, launch.args, seed)
        for mine, theirs in zip(found, in_step, strict=True):
            np.testing.assert_allclose(
                mine.astype(np.float64), theirs.astype(np.float64), rtol=launch.tolerance, atol=launch.tolerance
            )


SWAP = """\
@launch(128)
kernel swap(X: tensor<i32>[128], O: tensor<i32>[128]) {
  var s: tile<i32>[1, 128] = 0
  let t = ctx.thread
  s[0, t] = X[t]
  barrier()
  O[t] = s[0, 127 - t]
}
"""
TICKETS = """\
@launch(32)
kernel tickets(C: tensor<i32>[1], O: tensor<i32>[8]) {
  let ticket = atomic_add(C, 0, 1)
  O[ctx.block.x] = ticket
}
"""


def damaged(schedule: int | None, *, checks: bool) -> tuple[NDArray[Any], emulator.Result]:
    """`swap` without its last barrier."""
    ptx = phobos.compile_text(SWAP)["swap"].ptx
    *_, last = re.finditer(r"bar\.sync[^;]*;", ptx)
    without = ptx[: last.start()] + ptx[last.end() :]
    o = np.zeros(128, np.int32)
    args = [np.arange(1, 129, dtype=np.int32), o]
    return o, emulator.run(without, "swap", (1, 1, 1), args, checks=checks, schedule=schedule)


def test_a_result_that_depends_on_the_order_shows() -> None:
    results = {damaged(seed, checks=False)[0].tobytes() for seed in range(8)}
    assert len(results) > 1


def test_one_seed_is_one_order() -> None:
    for seed in range(4):
        assert damaged(seed, checks=False)[0].tobytes() == damaged(seed, checks=False)[0].tobytes()


def test_a_finding_names_its_schedule() -> None:
    (finding, *_) = damaged(5, checks=True)[1].findings
    assert finding.kind == "race-shared"
    assert "(schedule 5)" in finding.render()
    assert "schedule" not in damaged(None, checks=True)[1].findings[0].render()


def test_blocks_take_turns_in_another_order() -> None:
    (kernel,) = phobos.compile_text(TICKETS).values()
    orders = set()
    for seed in range(6):
        count, o = np.zeros(1, np.int32), np.zeros(8, np.int32)
        kernel.launch((8,), count, o, schedule=seed)
        assert sorted(o.tolist()) == list(range(8))
        orders.add(tuple(o.tolist()))
    assert len(orders) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wait_that_nothing_ends_is_told_under_a_schedule(seed: int) -> None:
    source = """\
@launch(64)
kernel k(F: tensor<i32>[1], O: tensor<i32>[4]) {
  if ctx.block.x > 0 { while load_acquire(F, 0) == 0 {} }
  O[ctx.block.x] = 1
}
"""
    with pytest.raises(KernelFault, match=rf"deadlock(.|\n)*\(schedule {seed}\)"):
        phobos.compile_text(source)["k"].launch((4,), np.zeros(1, np.int32), np.zeros(4, np.int32), schedule=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_wait_for_others_go_on_under_a_schedule(seed: int) -> None:
    source = """\
@launch(64)
kernel k(F: tensor<i32>[9], O: tensor<i32>[8]) {
  let b = ctx.block.x
  while load_acquire(F, b) == 0 {}
  O[b] = b + 1
  store_release(F, b + 1, 1)
}
"""
    flags, o = np.zeros(9, np.int32), np.zeros(8, np.int32)
    flags[0] = 1
    phobos.compile_text(source)["k"].launch((8,), flags, o, schedule=seed)
    np.testing.assert_array_equal(o, np.arange(1, 9))


def test_a_schedule_is_of_the_emulator() -> None:
    with pytest.raises(phobos.LaunchError, match="a schedule is of the emulator"):
        phobos.compile_text(SWAP)["swap"].launch(
            (1,), np.zeros(128, np.int32), np.zeros(128, np.int32), device="reference", schedule=1
        )
