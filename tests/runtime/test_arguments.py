"""What a launch checks before anything runs: each rule of the contract, with the message it gives."""

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import divide, sym
from phobos_core.language.types import BF16, BOOL, F16, F32, I8, I32
from phobos_core.runtime.arguments import Bound, LaunchError, bind, stored_tensors
from tests.runtime import programs as make

A, B, C = make.tensor("A", "M", "K"), make.tensor("B", "K", "N"), make.tensor("C", "M", "N")
MATMUL = make.kernel(A, B, C, make.scalar("alpha", F32), body=(make.copy(A, C),))


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


def launch(kernel: p.CheckedKernel, *values: object, grid: Sequence[int] | int = (1,), **more: Any) -> Bound:
    given: dict[str, Any] = {"config": {}, "requires": kernel.requires, "index_bits": 64, **more}
    return bind(kernel, grid, values, **given)


def refused(kernel: p.CheckedKernel, *values: object, **more: Any) -> str:
    with pytest.raises(LaunchError) as caught:
        launch(kernel, *values, **more)
    return str(caught.value)


def test_dimensions_come_from_the_arrays() -> None:
    bound = launch(MATMUL, f32(4, 8), f32(8, 12), f32(4, 12), 2, grid=(3, 2))
    assert bound.grid == (3, 2, 1)
    assert list(bound.dims.items()) == [("M", 4), ("K", 8), ("N", 12)]
    assert bound.values[3] == np.float32(2)
    assert isinstance(bound.values[3], np.float32)


def test_one_dimension_with_two_values_names_both_tensors() -> None:
    assert refused(MATMUL, f32(4, 8), f32(7, 12), f32(4, 12), 1.0) == (
        "dimension K has two values: axis 0 of `B` is 7, axis 1 of `A` is 8"
    )


def test_the_number_of_arguments() -> None:
    assert refused(MATMUL, f32(4, 8)) == "`k` takes 4 arguments (A, B, C, alpha), not 1"


def test_rank() -> None:
    assert refused(MATMUL, f32(4), f32(8, 12), f32(4, 12), 1.0) == "`A` has 2 axes, and the array has 1"


def test_dtype() -> None:
    message = refused(MATMUL, np.zeros((4, 8)), f32(8, 12), f32(4, 12), 1.0)
    assert message == "`A` is a tensor of f32: pass float32 elements, not float64"


@pytest.mark.parametrize(("element", "dtype"), [(F16, np.float16), (BF16, ml_dtypes.bfloat16), (I8, np.int8)])
def test_each_element_type_has_its_dtype(element: Any, dtype: Any) -> None:
    kernel = make.kernel(make.tensor("A", "N", element=element))
    assert launch(kernel, np.zeros(4, dtype)).dims == {"N": 4}
    assert "pass" in refused(kernel, np.zeros(4, np.uint16))


def test_bytes_in_the_other_order_are_another_dtype() -> None:
    assert "pass float32 elements" in refused(make.kernel(make.tensor("A", "N")), np.zeros(4, ">f4"))


def test_a_static_extent() -> None:
    static = make.kernel(make.tensor("A", "M", 64))
    assert refused(static, f32(4, 32)) == "axis 1 of `A` is 32, and the kernel was compiled for 64"


def test_an_extent_that_is_an_autotune_name() -> None:
    kernel = make.kernel(make.tensor("A", "N", "D"), search={"D": (64, 128)})
    assert launch(kernel, f32(4, 128), config={"D": 128}).dims == {"N": 4}
    assert "compiled for D = 64" in refused(kernel, f32(4, 128), config={"D": 64})


def test_arrays_have_to_be_arrays_contiguous_and_writable_where_stored_to() -> None:
    kernel = make.kernel(A, C, body=(make.copy(A, C),))
    assert "pass a NumPy array, not list" in refused(kernel, [[1.0]], f32(4, 12))
    assert "contiguous" in refused(kernel, f32(8, 4).T, f32(4, 12))
    frozen = f32(4, 12)
    frozen.flags.writeable = False
    assert refused(kernel, f32(4, 8), frozen) == "`C` is stored to, and the array is read-only"
    launch(kernel, frozen[:, :8].copy(), f32(4, 12))


def test_what_is_stored_to_may_overlap_nothing_and_both_are_named() -> None:
    x, y = make.tensor("X", "N"), make.tensor("Y", "N")
    writes = make.kernel(x, y, body=(make.copy(x, y),))
    reads = make.kernel(x, y)
    data = np.zeros(12, np.float32)
    assert refused(writes, data[:8], data[4:]) == (
        "`X` and `Y` overlap in memory, and `Y` is stored to; pass separate arrays"
    )
    launch(writes, data[:4], data[4:8])
    launch(reads, data[:8], data[4:])


def test_a_store_through_views_is_a_store_to_the_tensor() -> None:
    first = p.Symbol("v", "v", p.SymbolKind.VIEW, p.TileType(F32, (sym("M"), sym("K"))), make.AT)
    second = p.Symbol("w", "w", p.SymbolKind.VIEW, p.TileType(F32, (sym("M"), sym("K"))), make.AT)
    through = p.Place(make.AT, first, F32, (sym("M"), sym("K")))
    target = p.Place(make.AT, second, F32, (sym("M"), sym("K")))
    body = (
        p.BindView(make.AT, first, make.whole(A)),
        p.BindView(make.AT, second, through),
        p.StoreTile(make.AT, target, p.Const(make.AT, F32, 0.0)),
    )
    assert stored_tensors(make.kernel(A, B, body=body)) == {A}


def test_a_broken_alignment_promise() -> None:
    literal = make.kernel(A, aligned={"M": sym(16)})
    launch(literal, f32(32, 4))
    assert refused(literal, f32(24, 4)) == "@aligned promises that M is a multiple of 16, and it is 24"
    tile = make.kernel(A, aligned={"M": sym("TILE")}, search={"TILE": (16, 32)})
    launch(tile, f32(16, 4), config={"TILE": 16})
    message = refused(tile, f32(16, 4), config={"TILE": 32})
    assert message == "@aligned promises that M is a whole number of TILE: M is 16, TILE is 32"


@pytest.mark.parametrize(
    ("requirement", "good", "bad"),
    [
        (p.Requirement(sym("N"), "==", divide(sym("K"), sym(32)), "N == K / 32"), 4, 5),
        (p.Requirement(sym("N"), "<=", sym(4), "N <= 4"), 4, 5),
        (p.Requirement(sym("N"), "multiple of", sym(4), "N % 4 == 0"), 8, 6),
    ],
)
def test_requirements_left_to_the_launch(requirement: p.Requirement, good: int, bad: int) -> None:
    kernel = make.kernel(B, requires=(requirement,))
    launch(kernel, f32(128, good))
    message = refused(kernel, f32(128, bad))
    assert message.startswith(f"the kernel requires {requirement.text}; here ")
    assert f"N = {bad}" in message


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (F32, "x"),
        (F32, None),
        (F32, True),
        (I32, 1.5),
        (I32, True),
        (I32, 2**31),
        (BOOL, 1),
        (F32, np.zeros(2)),
        (F32, 1e39),
        (F32, 10**400),
        (F16, 65520.0),
        (BF16, np.float64(-1e39)),
    ],
)
def test_a_scalar_of_the_wrong_type_or_range(type: Any, value: object) -> None:
    assert "`x`" in refused(make.kernel(make.scalar("x", type)), value)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (F32, 1),
        (F32, np.float64(1.5)),
        (F16, 0.1),
        (BF16, ml_dtypes.bfloat16(2)),
        (I32, -(2**31)),
        (I32, np.int64(3)),
        (F32, math.inf),
        (F16, 65519.0),
        (F32, -np.float32(np.inf)),
    ],
)
def test_a_scalar_arrives_in_its_own_type(type: Any, value: Any) -> None:
    [got] = launch(make.kernel(make.scalar("x", type)), value).values
    expected = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32}[type.name]
    assert isinstance(got, expected)
    assert got == expected(value)


@pytest.mark.parametrize("grid", [1.0, "1", None, {1}, {1: 2}, object(), np.float32(1), np.ones((1, 1), int)])
def test_what_is_no_grid(grid: Any) -> None:
    assert "the grid is one to three positive integers" in refused(make.kernel(), grid=grid)


@pytest.mark.parametrize("grid", [(), (0,), (1, -1), (1, 1, 1, 1), (1.5,), (True,), (1, 65536)])
def test_a_grid_that_no_gpu_has(grid: Any) -> None:
    assert "grid" in refused(make.kernel(), grid=grid)


def test_a_grid_may_be_one_number() -> None:
    for seven in (7, np.int64(7), np.array(7), [7], np.array([7])):
        assert launch(make.kernel(), grid=seven).grid == (7, 1, 1)


def test_empty_tensors_overlap_nothing() -> None:
    x, y = make.tensor("X", "N"), make.tensor("Y", "N")
    empty = np.zeros(0, np.float32)
    assert launch(make.kernel(x, y, body=(make.copy(x, y),)), empty, empty).dims == {"N": 0}
