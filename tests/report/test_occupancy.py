"""The occupancy formula against NVIDIA's own calculator, and what the report says of limits and cliffs."""

import importlib.util
import itertools
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from phobos_core.language.targets import TARGETS, Target
from phobos_core.report.occupancy import BlockUse, nearest_cliff, occupancy

SM80 = TARGETS["sm_80"]
SM90 = TARGETS["sm_90"]

# The order in which the oracle writes what each resource allows.
RESOURCES = ["registers", "shared memory", "warps", "barriers", "blocks"]


def cuda_header() -> Path:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        for header in Path(root).glob("*/include/cuda_occupancy.h"):
            return header
    pytest.skip("needs cuda_occupancy.h of the nvidia-cuda-runtime wheel")


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("oracle") / "occupancy"
    source = Path(__file__).with_name("occupancy_oracle.cc")
    subprocess.run([compiler, "-O1", f"-I{cuda_header().parent}", str(source), "-o", str(program)], check=True)
    return program


def uses(target: Target) -> list[BlockUse]:
    """Every mixture of the edges of each resource: units of allocation, limits, and one to each side."""
    threads = [1, 32, 33, 64, 96, 128, 160, 192, 256, 320, 384, 500, 512, 640, 768, 800, 1024]
    registers = [
        0,
        1,
        8,
        9,
        16,
        24,
        31,
        32,
        33,
        40,
        41,
        48,
        56,
        63,
        64,
        65,
        80,
        96,
        97,
        127,
        128,
        129,
        168,
        255,
    ]
    top = target.shared_per_block
    shared = [0, 1, 127, 128, 129, 1024, 4096, 9216, 16384, 24576, 32640, 48 * 1024, 48 * 1024 + 1, 50000]
    shared = [*shared, 65536, 99 * 1024, top - 1, top, top + 1]
    barriers = [0, 1, 2, 5, 16] if target.barrier_slots else [1]
    return [BlockUse(*use) for use in itertools.product(threads, registers, shared, barriers)]


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_blocks_and_limiters_are_those_of_the_cuda_header(oracle: Path, target: Target) -> None:
    configurations = uses(target)
    device = f"{target.sm} {target.warps_per_sm} {target.shared_per_sm} {target.shared_per_block} "
    device += f"{target.shared_reserved}"
    lines = []
    for use in configurations:
        static = min(use.shared, 48 * 1024)
        if use.shared > static:  # past 48 KB, shared memory is dynamic
            static = 0
        lines.append(f"{device} {use.threads} {use.registers} {static} {use.shared - static} {use.barriers}")
    answer = subprocess.run([str(oracle)], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = answer.stdout.splitlines()
    assert len(answers) == len(configurations)
    for use, line in zip(configurations, answers, strict=True):
        blocks, *each = map(int, line.split())
        limiters = {name for name, most in zip(RESOURCES, each, strict=True) if most == blocks}
        ours = occupancy(target, use)
        assert (ours.blocks, set(ours.limiters)) == (blocks, limiters), use
        assert ours.warps == blocks * -(-use.threads // 32)
        assert ours.fraction == ours.warps / target.warps_per_sm


@pytest.mark.parametrize(
    ("target", "use", "limiter", "cliff"),
    [
        # 132 registers take 17 units of 256 a warp: 3 warps a quarter, 12 in all, one block of 8.
        (SM80, BlockUse(256, 132, 0), "registers", "4 registers fewer: 2 blocks"),
        # 81 registers: 5 warps a quarter, 20 in all; 80 lets 6 stay.
        (SM80, BlockUse(256, 81, 0), "registers", "1 register fewer: 3 blocks"),
        # (164 KB / 2 = 82 KB a block, of which the driver keeps 1 KB) against 90 KB.
        (SM80, BlockUse(128, 32, 90 * 1024), "shared memory", "9216 bytes of shared memory fewer: 2 blocks"),
        # 22 warps a block: two in 64; 21 fit three times.
        (SM80, BlockUse(704, 24, 0), "warps", "32 threads fewer: 3 blocks"),
    ],
)
def test_the_nearest_cliff_names_resource_amount_and_blocks(
    target: Target, use: BlockUse, limiter: str, cliff: str
) -> None:
    assert occupancy(target, use).limiters[0] == limiter
    assert str(nearest_cliff(target, use)) == cliff


def test_several_limiters_leave_no_single_cut() -> None:
    # Four blocks by registers (64 take 8 units: 32 warps) and four by shared memory (41 KB each of 164).
    use = BlockUse(256, 64, 40 * 1024)
    assert occupancy(SM80, use).limiters == ("registers", "shared memory")
    assert nearest_cliff(SM80, use) is None


def test_a_full_sm_is_limited_by_its_warps() -> None:
    assert occupancy(SM80, BlockUse(256, 32, 19 * 1024)).limiters == ("warps", "registers", "shared memory")


def test_a_full_sm_has_no_cliff() -> None:
    assert occupancy(SM80, BlockUse(256, 32, 4096)).fraction == 1.0
    assert nearest_cliff(SM80, BlockUse(256, 32, 4096)) is None


def test_a_cliff_is_the_first_step_that_helps() -> None:
    """One unit less of the cut must not help yet: the amount is the least."""
    for use in [BlockUse(256, 132, 9000), BlockUse(512, 72, 30000), BlockUse(96, 255, 40000)]:
        cliff = nearest_cliff(SM90, use)
        assert cliff is not None
        field = {"registers": "registers", "bytes of shared memory": "shared", "threads": "threads"}[cliff.resource]
        now = getattr(use, field)
        assert occupancy(SM90, replace(use, **{field: now - cliff.amount})).blocks == cliff.blocks
        almost = replace(use, **{field: now - cliff.amount + 1})
        assert occupancy(SM90, almost).blocks == occupancy(SM90, use).blocks
