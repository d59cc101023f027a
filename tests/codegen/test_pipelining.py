"""Copies that are under way while threads compute: `cp.async`, and tiles in registers across a loop."""

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.codegen import CodegenError
from phobos_core.emulator import EmulatorFault, launch
from phobos_core.ir.schedule import Sweep
from phobos_core.ir.types import TOKEN
from phobos_core.language.types import F16, F32, I8, ScalarType
from tests.codegen.support import Program, values, zeros


def copying(element: ScalarType, vector: int, threads: int, target: str = "sm_80") -> Program:
    """Rows past N of a 12 x 32 window become 0 on their way through shared memory."""
    p = Program(threads, target)
    source, out = p.tensor("X", element, "N", 32), p.tensor("Y", element, 12, 32)
    n = p.dim("N")
    tile = p.shared(element, 12, 32)
    views = p.view(tile, 12, 32), p.view(source, 12, 32, bounds=[(None, n), (None, None)])
    tile.token = p.b.op("async_copy", (*views, tile.token, source.token), (TOKEN,), {"vector": vector}).result
    p.b.op("async_commit")
    p.b.op("async_wait", attrs={"pending": 0})
    p.barrier()
    p.store(out, p.load(tile), Sweep(1))
    return p


@pytest.mark.parametrize("threads", [32, 100])
@pytest.mark.parametrize(
    ("element", "vector", "instruction"),
    [
        (F32, 1, "cp.async.ca.shared.global"),
        (F32, 2, "cp.async.ca.shared.global"),
        (F32, 4, "cp.async.cg.shared.global"),
        (F16, 8, "cp.async.cg.shared.global"),
        (I8, 4, "cp.async.ca.shared.global"),
    ],
)
def test_copies_past_the_end_become_zero(element: ScalarType, vector: int, instruction: str, threads: int) -> None:
    p = copying(element, vector, threads)
    assert instruction in codegen.emit(p.kernel())
    x, y = values(element, 9, 32), zeros(element, 12, 32)
    p.run(x, y, 9)
    np.testing.assert_array_equal(y, np.vstack([x, np.zeros((3, 32), x.dtype)]))


def test_the_wait_is_needed() -> None:
    ptx = codegen.emit(copying(F32, 4, 32).kernel())
    damaged = "\n".join(line for line in ptx.splitlines() if "cp.async.wait" not in line)
    assert damaged != ptx
    with pytest.raises(EmulatorFault):
        launch(damaged, "k", (1, 1, 1), [values(F32, 9, 32), zeros(F32, 12, 32), 9])


def test_an_older_target_is_told_which_one_has_it() -> None:
    with pytest.raises(CodegenError, match=r"`cp\.async` needs sm_80 or later, and the target is sm_75"):
        codegen.emit(copying(F32, 4, 32, "sm_75").kernel())
