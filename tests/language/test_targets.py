"""The table of targets against those who know: LLVM, and the PTX ISA manual's notes on features."""

import pytest
from llvmlite import binding

from phobos_core.language.targets import DEFAULT, LEAST_SM, TARGETS, Feature, Target, least_target

EMPTY = 'target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k() {\n  ret void\n}\n'


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_llvm_has_the_target_in_its_ptx_version(target: Target) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    major, minor = target.ptx
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(
        cpu=target.name, features=f"+ptx{major}{minor}"
    )
    ptx = machine.emit_assembly(binding.parse_assembly(EMPTY))
    assert f".version {major}.{minor}\n" in ptx
    assert f".target {target.name}\n" in ptx


def test_names_and_the_default() -> None:
    assert all(name == target.name == f"sm_{target.sm}" for name, target in TARGETS.items())
    assert DEFAULT in TARGETS
    assert list(TARGETS.values()) == sorted(TARGETS.values(), key=lambda t: t.sm)


@pytest.mark.parametrize(
    ("feature", "least"),
    [
        ("dp4a", "sm_61"),
        ("wmma", "sm_70"),
        ("acquire_release", "sm_70"),
        ("mma_sync", "sm_75"),
        ("mma_int8", "sm_75"),
        ("tanh_approx", "sm_75"),
        ("cp_async", "sm_80"),
        ("bf16", "sm_80"),
        ("bf16_arithmetic", "sm_90"),
    ],
)
def test_the_first_target_with_a_feature(feature: Feature, least: str) -> None:
    assert least_target(feature).name == least
    assert next(t.name for t in TARGETS.values() if t.has(feature)) == least


def test_every_feature_is_in_the_table() -> None:
    assert set(LEAST_SM) == set(Feature.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "kilobytes"), [("sm_75", 64), ("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_120", 99)]
)
def test_dynamic_shared_memory_limits_are_those_of_the_spec(name: str, kilobytes: int) -> None:
    assert TARGETS[name].shared_per_block == kilobytes * 1024
