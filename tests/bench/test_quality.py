"""What the machine code of SGEMM is made of, as the benchmark reads it: the limits that the main loops are to keep."""

from __future__ import annotations

from pathlib import Path

import pytest

import phobos_core as phobos
from bench.quality import CASES, DEFAULT_TARGETS, Case, judge
from bench.quality import phobos as ours
from phobos_core.toolchain import ptxas, sass


@pytest.mark.parametrize("target", DEFAULT_TARGETS)
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.least_share is not None], ids=lambda c: f"{c.source.stem} {c.shape}"
)
def test_the_main_loop_is_multiply_adds(case: Case, target: str) -> None:
    assembler, disassembler = ptxas.for_target(target), sass.nvdisasm()
    if assembler is None or disassembler is None:
        pytest.skip(f"needs ptxas and {sass.PACKAGE}")
    emitted = ours(case, target)
    assert emitted.shape == case.shape
    found = judge(emitted, target, assembler, Path(disassembler))
    assert case.least_share is not None
    assert case.most_registers is not None
    assert found.share >= case.least_share
    assert found.registers is not None
    assert found.registers <= case.most_registers
    assert (found.spilled, found.code.local_accesses) == (0, ())
    # Every load of shared memory, in the rest after the whole tiles too, is 128 bits wide.
    assert {access.bits for access in found.code.accesses if access.operation == "LDS"} == {128}


@pytest.mark.parametrize("target", DEFAULT_TARGETS)
def test_no_two_lanes_meet_in_a_bank(target: str) -> None:
    config = {"TILE_M": 128, "TILE_N": 128, "TILE_K": 8}
    (kernel,) = phobos.compile(CASES[0].source, target=target, config=config).values()
    shared = [access for access in kernel.report.accesses if access.space == "shared"]
    assert {access.kind for access in shared} == {"load", "store"}
    for access in shared:
        assert access.banks is not None
        assert access.banks["degree"] == [1, 1]
