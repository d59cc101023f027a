"""Every example: right on the reference and on the emulator by NumPy's word, and accepted by ptxas without spills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.analysis import check
from phobos_core.runtime.module import Kernel, Module
from phobos_core.syntax import parse
from tests.examples import opinions
from tests.examples.opinions import Launch
from tests.examples.thread_opinions import THREAD_OPINIONS

Choice: TypeAlias = Callable[[str, str], Kernel]

OPINIONS = opinions.OPINIONS | THREAD_OPINIONS
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


def test_every_example_has_an_opinion() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.ph")} == set(OPINIONS)


def only(module: Module) -> Kernel:
    (kernel,) = module.values()
    return kernel


def first(name: str, target: str = "sm_80") -> Kernel:
    return only(phobos.compile(EXAMPLES / f"{name}.ph", target=target))


def configurations(name: str) -> list[Mapping[str, int]]:
    """All, largest tiles first."""
    (placed,) = check(parse((EXAMPLES / f"{name}.ph").read_bytes())).kernels
    assert placed.kernel
    search = placed.kernel.search
    every = [dict(zip(search, values, strict=True)) for values in product(*search.values())]
    return sorted(every, key=lambda c: -int(np.prod(list(c.values()))))


def largest(name: str, target: str = "sm_80") -> Kernel:
    """The largest configuration that fits; every larger one must say that it does not, and list its tiles."""
    for config in configurations(name):
        try:
            return only(phobos.compile(EXAMPLES / f"{name}.ph", target=target, config=config))
        except phobos.CompileError as error:
            (diagnostic,) = error.diagnostics
            assert diagnostic.code == "over-shared-limit"
    pytest.fail(f"no configuration of {name} fits")


def small_tiles(name: str, target: str) -> Kernel:
    """Of an example of SGEMM: of 256 threads half can copy a slice of A or of B, 16 bytes each."""
    config = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 8}
    return only(phobos.compile(EXAMPLES / f"{name}.ph", target=target, config=config))


def agree(kernel: Kernel, launch: Launch) -> None:
    results = {}
    for device in ("reference", "emulator"):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.args]
        kernel.launch(launch.grid, *args, device=device)
        results[device] = args
        for position, expected in launch.expected.items():
            found = args[position].astype(np.float64)
            np.testing.assert_allclose(
                found, expected.astype(np.float64), launch.tolerance, launch.tolerance, err_msg=device
            )
    for position, argument in enumerate(launch.args):
        if isinstance(argument, np.ndarray) and position not in {*launch.expected, *launch.scratch}:
            np.testing.assert_array_equal(results["emulator"][position], argument)


@pytest.mark.parametrize("extents", ["whole", "ragged"])
@pytest.mark.parametrize("choose", [first, largest], ids=["first", "largest"])
@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_reference_and_emulator_agree_with_numpy(name: str, choose: Choice, extents: str) -> None:
    kernel = choose(name, "sm_80")
    opinion = OPINIONS[name]
    config = kernel.config
    sizes = (opinion.ragged if extents == "ragged" and opinion.ragged else opinion.whole)(config)
    agree(kernel, opinion.make(sizes, config, np.random.default_rng(7)))


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_rows_wider_than_a_warp_agree_with_numpy(name: str) -> None:
    kernel = only(phobos.compile(EXAMPLES / f"{name}.ph", config={"C": 1024, "ROWS": 4}))
    assert any(tile.name.startswith("parts of") for tile in kernel.report.tiles)
    opinion = OPINIONS[name]
    assert opinion.ragged
    agree(kernel, opinion.make(opinion.ragged(kernel.config), kernel.config, np.random.default_rng(9)))


@pytest.mark.parametrize(
    ("name", "touched"),
    [
        ("flash_attention", [("dot_t(q, k)", "ld st"), ("exp(s - next)", "st"), ("dot(p, v)", "ld st")]),
        (
            "kda",
            [
                # What contractions read of other threads,
                ("var state: ", "st"),
                ("qd = qd * scale", "st"),
                ("var kd: ", "st"),
                ("dot_t(qd, kd)", "ld"),
                ("tril(p)", "st"),
                ("dot(p, v)", "ld st"),
                ("dot(qd, state)", "ld"),
                ("var rest = ", "st"),
                ("transpose(rest)", "ld"),
                ("state = state * exp(total) + fresh", "st"),
                # and the sums down the columns and over all, which every thread needs.
                ("cumsum(g)", "st"),
                ("var qd: ", "ld"),
                ("var kd: ", "ld"),
                ("rowsum(transpose(g))", "st"),
                ("var rest = ", "ld"),
                ("state = state * exp(total) + fresh", "ld"),
            ],
        ),
        ("softmax", []),
        ("layer_norm", []),
        ("top_k", []),
    ],
)
def test_statements_by_element_and_by_row_touch_no_shared_memory(name: str, touched: list[tuple[str, str]]) -> None:
    """Only what contractions read of other threads is there: of an attention q, k, v and the probabilities."""
    kernel = first(name)
    opinion = OPINIONS[name]
    launch = opinion.make(opinion.whole(kernel.config), kernel.config, np.random.default_rng(10))
    profile = kernel.profile(launch.grid, *launch.args)
    lines = (EXAMPLES / f"{name}.ph").read_text().split("\n")
    expected = {
        (number, operation)
        for text, operations in touched
        for number, line in enumerate(lines, 1)
        if text in line
        for operation in operations.split()
    }
    found = {(traffic.line, traffic.operation.partition(".")[0]) for traffic in profile.shared}
    assert found == expected
    assert all(traffic.degree == 1 for traffic in profile.shared), "no two lanes meet in a bank"


@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_pre_ampere_path_agrees_with_numpy(name: str) -> None:
    kernel = first(name, "sm_75")
    opinion = OPINIONS[name]
    sizes = (opinion.ragged or opinion.whole)(kernel.config)
    agree(kernel, opinion.make(sizes, kernel.config, np.random.default_rng(8)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("choose", [first, largest], ids=["first", "largest"])
@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_ptxas_accepts_without_spills(name: str, choose: Choice, target: str) -> None:
    resources = choose(name, target).report.resources
    assert resources.registers
    assert resources.spill_store_bytes == resources.spill_load_bytes == 0
