"""Math functions: the PTX instructions that the language names, their values within the PTX manual's bounds."""

from collections.abc import Callable

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.codegen import CodegenError
from phobos_core.ir.schedule import Sweep
from phobos_core.language.types import F32
from tests.codegen.support import TARGETS, Array, Program, values, zeros


def build(function: str, vector: int, count: int, target: str = "sm_80") -> Program:
    p = Program(threads=32, target=target)
    source, out = p.tensor("X", F32, count), p.tensor("Y", F32, count)
    p.store(out, p.b.math(function, p.load(source)), Sweep(vector))
    return p


APPROXIMATE: dict[str, tuple[str, Callable[[Array], Array], float]] = {
    "exp": ("ex2.approx.f32", np.exp, 1e-5),
    "log": ("lg2.approx.f32", np.log, 1e-5),
    "sqrt": ("sqrt.approx.f32", np.sqrt, 2**-22),
    "rsqrt": ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2**-22),
    "tanh": ("tanh.approx.f32", np.tanh, 2**-10),
    "sin": ("sin.approx.f32", np.sin, 2**-10),
    "cos": ("cos.approx.f32", np.cos, 2**-10),
}


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("function", APPROXIMATE)
def test_approximations(function: str, vector: int) -> None:
    instruction, exact, bound = APPROXIMATE[function]
    p = build(function, vector, 64)
    assert instruction in codegen.emit(p.kernel())
    x = np.abs(values(F32, 64)) + np.float32(0.1)
    y = zeros(F32, 64)
    p.run(x, y)
    np.testing.assert_allclose(y, exact(x.astype(np.float64)), rtol=bound, atol=bound / 4)


@pytest.mark.parametrize("vector", [1, 2])
@pytest.mark.parametrize(
    ("function", "instruction", "exact"),
    [
        ("round", "cvt.rni.f32.f32", np.rint),
        ("floor", "cvt.rmi.f32.f32", np.floor),
        ("ceil", "cvt.rpi.f32.f32", np.ceil),
    ],
)
def test_roundings_are_exact(function: str, instruction: str, exact: Callable[[Array], Array], vector: int) -> None:
    p = build(function, vector, 16)
    assert instruction in codegen.emit(p.kernel())
    x = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, -0.1, 3, 1e9, -1e30, np.inf, -np.inf, np.nan, 0, 7.5, -7.5], "f"
    )
    y = zeros(F32, 16)
    p.run(x, y)
    np.testing.assert_array_equal(y, exact(x))


def test_subnormals_are_kept() -> None:
    p = Program(threads=32)
    source, out = p.tensor("X", F32, 4), p.tensor("Y", F32, 4)
    x = p.load(source)
    p.store(out, p.b.binary("mul", x, p.b.splat(p.b.const(0.5, F32), (4,))), Sweep(1))
    assert ".ftz" not in codegen.emit(p.kernel())
    a, y = np.array([2e-38, 1e-40, -3e-45, 2.8e-45], "f"), zeros(F32, 4)
    p.run(a, y)
    np.testing.assert_array_equal(y, a * np.float32(0.5))


def test_tanh_needs_a_target_that_has_it() -> None:
    with pytest.raises(CodegenError) as raised:
        codegen.emit(build("tanh", 1, 4, target="sm_70").kernel())
    assert raised.value.code == "needs-target"
    assert raised.value.line == 1
    assert raised.value.message == "`tanh` needs sm_75 or later, and the target is sm_70"


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_every_function(target: str) -> None:
    for function in (*APPROXIMATE, "round", "floor", "ceil", "abs"):
        assert f".target {target}" in codegen.emit(build(function, 2, 32, target).kernel())
