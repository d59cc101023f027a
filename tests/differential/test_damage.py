"""A barrier or a wait taken out of the PTX is reported by the emulator: each one placed is needed, its loss seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core import emulator
from phobos_core.runtime.arguments import bind
from phobos_core.runtime.module import Kernel
from tests.differential.agreement import compiled, for_examples
from tests.differential.kernels import Generated, mixed_kernels
from tests.examples.opinions import OPINIONS, Launch
from tests.examples.test_examples import EXAMPLES

SYNCHRONISES = re.compile(r"^\s*(bar\.sync|barrier\.sync|cp\.async\.wait)")


def run(kernel: Kernel, ptx: str, grid: Sequence[int], arguments: Sequence[Any], **how: Any) -> tuple[Any, set[str]]:
    """What a launch leaves in its arrays, and the kinds of what the emulator finds."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    checked, compiled = kernel._translated.request.placed.kernel, kernel._kernel
    bits = compiled.index_bits
    bound = bind(checked, grid, args, config=kernel.config, requires=compiled.requires, index_bits=bits)
    dims = [(np.int64 if bits == 64 else np.int32)(bound.dims[p.name]) for p in compiled.params if p.kind == "dim"]
    how["dynamic_shared"] = compiled.shared_bytes if compiled.dynamic_shared else 0
    found = emulator.run(ptx, kernel.name, bound.grid, [*bound.values, *dims], **how).findings
    return [a for a in args if isinstance(a, np.ndarray)], {f.kind for f in found}


def findings(kernel: Kernel, ptx: str, launch: Launch) -> set[str]:
    return run(kernel, ptx, launch.grid, launch.args)[1]


KERNELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("sgemm", {}),
    ("sgemm_aligned", {}),
    ("flash_attention", {}),
    # Rows that more than a warp shares.
    ("softmax", {"C": 1024, "ROWS": 4}),
    ("kda", {}),
)


@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
@pytest.mark.parametrize(("name", "config"), KERNELS, ids=[name for name, _ in KERNELS])
def test_each_barrier_is_missed(name: str, config: dict[str, int], target: str) -> None:
    (kernel,) = phobos.compile(EXAMPLES / f"{name}.ph", target=target, config=config).values()
    opinion = OPINIONS[name]
    # Whole extents run the whole-tile loops, ragged ones the remainders: each barrier is in one of them.
    sizes = [opinion.whole(kernel.config)] + ([opinion.ragged(kernel.config)] if opinion.ragged else [])
    launches = [opinion.make(size, kernel.config, np.random.default_rng(3)) for size in sizes]
    lines = kernel.ptx.split("\n")
    places = [i for i, line in enumerate(lines) if SYNCHRONISES.match(line)]
    waits = [i for i in places if "cp.async" in lines[i]]
    # The wait behind a pipelined loop guards bytes that other tiles may reuse; these kernels reuse none.
    places = [i for i in places if i not in waits[-1:]]
    assert places
    assert not any(findings(kernel, kernel.ptx, launch) for launch in launches)
    for place in places:
        damaged = "\n".join(lines[:place] + lines[place + 1 :])
        found = set().union(*(findings(kernel, damaged, launch) for launch in launches))
        assert found & {"race-shared", "async-unwaited", "uninitialised-shared"}, f"PTX line {place + 1} was not missed"


def test_a_barrier_that_matters_is_missed_in_generated_kernels() -> None:
    """Whether one matters, orders of the warps tell: one that changes a result must be reported where it is gone."""
    mattered: list[int] = []

    def check(generated: Generated) -> None:
        kernel = compiled(generated, "sm_80")
        launch = (generated.grid,), [*generated.arrays.values(), *generated.scalars]
        intact, found = run(kernel, kernel.ptx, *launch)
        assert not found
        lines = kernel.ptx.split("\n")
        for place in [i for i, line in enumerate(lines) if SYNCHRONISES.match(line)][:4]:
            damaged = "\n".join(lines[:place] + lines[place + 1 :])
            for seed in range(3):
                result, unchecked = run(kernel, damaged, *launch, checks=False, schedule=seed, max_steps=200_000)
                if unchecked or all(map(np.array_equal, result, intact)):
                    continue
                mattered.append(place)
                assert run(kernel, damaged, *launch, max_steps=200_000)[1], f"PTX line {place + 1} was not missed"
                break

    for_examples(mixed_kernels(), 25, check)
    assert mattered
