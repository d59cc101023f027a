"""What is said of each access without running a kernel, against what the emulator meets when it runs it.

Per instruction of the PTX: the bank degree and the passes over the banks of the emulator's profile, and the sectors of
the addresses that its global memory is asked for, counted here. Where one number was said, it is met in every launch;
a range is kept. Lanes that the launch masks make an access cost less than was said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis.strategies import SearchStrategy

import phobos_core as phobos
from phobos_core import emulator
from phobos_core.emulator.machine import Active, Index
from phobos_core.emulator.memory import Access, GlobalSpace
from phobos_core.report.accesses.collect import measure
from phobos_core.report.accesses.measure import Measured, Span
from phobos_core.runtime.arguments import bind
from phobos_core.runtime.module import Kernel
from tests.differential.kernels import Generated, mixed_kernels, tile_kernels
from tests.differential.test_threads import CASES, Case
from tests.examples.opinions import OPINIONS
from tests.examples.test_examples import Choice, first, largest, small_tiles

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "30"))
SECTOR = 32


@contextmanager
def global_addresses(seen: dict[int, list[tuple[Index, Index, int]]]) -> Iterator[None]:
    """Collects by line of the PTX the addresses, the threads' numbers over all blocks, and the size."""
    resolve = GlobalSpace.resolve

    def watched(self: GlobalSpace, access: Access, addresses: Index, active: Active) -> Any:
        seen.setdefault(access.site.ptx_line, []).append((addresses.copy(), active.lanes.copy(), access.size))
        return resolve(self, access, addresses, active)

    GlobalSpace.resolve = watched  # type: ignore[method-assign]
    try:
        yield
    finally:
        GlobalSpace.resolve = resolve  # type: ignore[method-assign]


def most_sectors(accesses: Sequence[tuple[Index, Index, int]], threads: int) -> int:
    """Of one warp in one access. A block's last warp may have fewer threads than 32."""
    most = 0
    for addresses, lanes, size in accesses:
        warps = lanes // threads * 64 + lanes % threads // 32
        for warp in np.unique(warps):
            mine = addresses[warps == warp]
            most = max(most, np.unique(np.concatenate([mine // SECTOR, (mine + size - 1) // SECTOR])).size)
    return most


def run(kernel: Kernel, grid: Sequence[int], arguments: Sequence[Any]) -> tuple[emulator.Result, dict[int, int]]:
    """The profile, and by line of the PTX the most sectors of a warp."""
    checked, compiled = kernel._translated.request.placed.kernel, kernel._kernel
    bound = bind(
        checked,
        grid,
        [a.copy() if isinstance(a, np.ndarray) else a for a in arguments],
        config=kernel.config,
        requires=compiled.requires,
        index_bits=compiled.index_bits,
    )
    width = np.int64 if compiled.index_bits == 64 else np.int32
    dims = [width(bound.dims[p.name]) for p in compiled.params if p.kind == "dim"]
    dynamic = compiled.shared_bytes if compiled.dynamic_shared else 0
    seen: dict[int, list[tuple[Index, Index, int]]] = {}
    with global_addresses(seen):
        result = emulator.run(
            kernel.ptx, kernel.name, bound.grid, [*bound.values, *dims], dynamic_shared=dynamic, profile=True
        )
    assert result.ok
    return result, {line: most_sectors(each, compiled.threads) for line, each in seen.items()}


def within(seen: int, said: Span, each: Measured) -> None:
    """The most that was seen in a launch. Where the launch leaves out lanes or sets them apart, it may be less than
    was said; where some cases only were tried, nothing is known."""
    least, most = said
    if each.sampled or (each.apart and each.banks):
        return
    assert seen <= most, each
    if not each.masked and not each.apart:
        assert seen >= least, each


def compare(kernel: Kernel, grid: Sequence[int], arguments: Sequence[Any]) -> int:
    """How many accesses had one number, and had it in the launch."""
    said = {(each.site.at.ptx_line, each.site.space): each for each in measure(kernel._kernel, kernel.ptx)}
    result, sectors = run(kernel, grid, arguments)
    exact = 0
    for access in result.shared:
        each = said[access.ptx_line, "shared"]
        if each.banks is None:
            assert each.unknown
            continue
        within(access.degree, each.banks.degree, each)
        least, most = each.banks.passes
        if least == most and not each.masked:
            assert access.passes * each.banks.phases == access.phases * most, each
            exact += 1
    for line, seen in sectors.items():
        each = said[line, "global"]
        if each.sectors is not None:
            within(seen, each.sectors.touched, each)
            exact += each.sectors.touched[0] == each.sectors.touched[1] == seen
    return exact


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
@pytest.mark.parametrize("choose", [first, largest], ids=["first", "largest"])
@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_every_access_of_the_examples(name: str, choose: Choice, target: str) -> None:
    kernel, opinion = choose(name, target), OPINIONS[name]
    for sizes in filter(None, (opinion.whole, opinion.ragged)):
        launch = opinion.make(sizes(kernel.config), kernel.config, np.random.default_rng(5))
        assert compare(kernel, launch.grid, launch.args) > 0


@pytest.mark.parametrize("target", ["sm_120", "sm_80", "sm_75"])
@pytest.mark.parametrize("name", ["sgemm", "sgemm_aligned"])
def test_every_access_of_tiles_that_half_of_the_threads_copy(name: str, target: str) -> None:
    kernel, opinion = small_tiles(name, target), OPINIONS[name]
    for sizes in filter(None, (opinion.whole, opinion.ragged)):
        launch = opinion.make(sizes(kernel.config), kernel.config, np.random.default_rng(5))
        assert compare(kernel, launch.grid, launch.args) > 0


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_every_access_of_per_thread_code(make: Callable[[], Case]) -> None:
    case = make()
    (kernel,) = phobos.compile_text(case.source).values()
    assert compare(kernel, case.grid, case.args) > 0


@pytest.mark.parametrize("kernels", [tile_kernels, mixed_kernels])
def test_every_access_of_generated_kernels(kernels: Callable[[], SearchStrategy[Generated]]) -> None:
    exact: list[int] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="PHOBOS_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(kernels())
    def check(generated: Any) -> None:
        note(f"{generated.source}options {dict(generated.options)}")
        (kernel,) = phobos.compile_text(generated.source, **generated.options).values()
        with np.errstate(all="ignore"):
            exact.append(compare(kernel, (generated.grid,), [*generated.arrays.values(), *generated.scalars]))

    check()
    assert sum(exact) > 2 * len(exact)
