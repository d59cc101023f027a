"""A barrier or a wait taken out of the PTX is reported by the emulator: each one placed is needed, its loss seen."""

from __future__ import annotations

import re

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core import emulator
from phobos_core.runtime.arguments import bind
from phobos_core.runtime.module import Kernel
from tests.examples.opinions import OPINIONS, Launch
from tests.examples.test_examples import EXAMPLES

SYNCHRONISES = re.compile(r"^\s*(bar\.sync|barrier\.sync|cp\.async\.wait)")


def findings(kernel: Kernel, ptx: str, launch: Launch) -> set[str]:
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.args]
    checked = kernel._translated.request.placed.kernel
    requires = kernel._kernel.requires
    bound = bind(checked, launch.grid, args, config=kernel.config, requires=requires, index_bits=64)
    dims = [np.int64(bound.dims[name]) for name in checked.dims]
    return {f.kind for f in emulator.run(ptx, kernel.name, bound.grid, [*bound.values, *dims]).findings}


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
