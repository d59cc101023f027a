"""The entry's contract with whoever launches it, line tables, and what ptxas says of it for every target."""

import re

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.schedule import ColumnScan, Contraction, RowReduction, Sweep
from phobos_core.language.targets import TARGETS as TABLE
from phobos_core.language.types import BF16, BOOL, F16, F32, F64, I8, I32, I64
from phobos_core.toolchain import ptxas
from tests.codegen.support import TARGETS, Array, Program, values, zeros


def everything(target: str, **fields: object) -> Program:
    """A kernel with a store of every schedule, masks, and a loop."""
    p = Program(threads=128, target=target, **fields)
    x, w, out = p.tensor("X", F32, "M", 32), p.tensor("W", BF16, 32, 32), p.tensor("Y", F32, "M", 32)
    m = p.dim("M")
    tile, sums, product = p.shared(F32, 32, 32), p.shared(F32, 32, 1), p.shared(F32, 32, 32)
    row = p.b.binary("mul", p.b.ctx("block.x"), p.b.index(32))
    where = {"at": [row, 0], "bounds": [(None, m), (None, None)]}
    p.b.line = 5
    p.store(tile, p.load(x, 32, 32, **where), Sweep(4))
    p.barrier()
    p.b.line = 6
    p.store(tile, p.b.cumsum(p.load(tile)), ColumnScan())
    p.barrier()
    p.b.line = 7
    p.store(sums, p.b.reduce("max", p.load(tile)), RowReduction(4, 4))
    p.barrier()
    p.b.line = 8
    w32 = p.b.convert(p.load(w), F32)
    p.b.line = 9
    p.store(product, p.b.dot(p.load(tile), w32, transposed=False), Contraction(2, 4, 16, 8, False, 4))
    p.barrier()
    p.b.line = 10
    scaled = p.b.binary("mul", p.load(product), p.b.broadcast(p.load(sums), (32, 32)))
    p.store(out, scaled, Sweep(4), **where)
    return p


def test_parameters_in_order_with_their_types() -> None:
    p = Program(threads=32)
    p.tensor("A", F32, "M", "N")
    for name, element in (("a", F32), ("b", I32), ("c", BOOL), ("d", F16), ("e", F64), ("f", I8), ("g", I64)):
        p.scalar(name, element)
    p.tensor("B", I8, "N")
    p.dim("M")
    p.dim("N")
    ptx = codegen.emit(p.kernel())
    types = re.findall(r"\.param \.(\w+).*k_param_\d+", ptx)
    assert types == ["u64", "f32", "u32", "u8", "u16", "f64", "u8", "u64", "u64", "u64", "u64"]
    assert re.search(r"\.align 16 k_param_0", ptx)


def test_dimensions_have_the_index_width() -> None:
    p = Program(threads=32, index_bits=32)
    p.tensor("A", F32, "N")
    p.dim("N")
    assert re.findall(r"\.param \.(\w+).*k_param_\d+", codegen.emit(p.kernel())) == ["u64", "u32"]


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_half_scalars_travel_as_their_bits(element: object) -> None:
    p = Program(threads=32)
    assert element in (F16, BF16)
    scalar, out = p.scalar("a", element), p.tensor("Y", element, 4)
    p.store(out, p.b.splat(scalar, (4,)), Sweep(4))
    given, y = values(element, 1)[0], zeros(element, 4)
    p.run(given, y)
    np.testing.assert_array_equal(y, given)


def test_launch_bounds() -> None:
    ptx = codegen.emit(Program(threads=96, min_blocks=2, max_registers=64).kernel())
    assert re.findall(r"^\.(maxntid|minnctapersm|maxnreg) (\d+)", ptx, re.M) == [
        ("maxntid", "96"),
        ("minnctapersm", "2"),
        ("maxnreg", "64"),
    ]
    plain = codegen.emit(Program(threads=96).kernel())
    assert "minnctapersm" not in plain
    assert "maxnreg" not in plain


@pytest.mark.parametrize("target", TABLE)
def test_the_least_version_of_each_target(target: str) -> None:
    major, minor = TABLE[target].ptx
    ptx = codegen.emit(Program(threads=32, target=target).kernel())
    assert f".version {major}.{minor}\n.target {target}\n" in ptx


def test_shared_memory_is_one_buffer() -> None:
    static = codegen.emit(everything("sm_80").kernel())
    assert re.findall(r"^(.*\.shared .*);", static, re.M) == [".visible .shared .align 16 .b8 k_shared[8320]"]
    dynamic = codegen.emit(everything("sm_80", dynamic_shared=True).kernel())
    assert re.findall(r"^(.*\.shared .*);", dynamic, re.M) == [".extern .shared .align 16 .b8 k_shared[]"]
    none = Program(threads=32)
    none.tensor("X", F32, 4)
    assert ".shared" not in codegen.emit(none.kernel())


def test_every_line_of_the_source_is_in_the_line_table() -> None:
    ptx = codegen.emit(everything("sm_80", line=3, file="a b.ph").kernel())
    assert '.file	1 "a b.ph"' in ptx
    lines = {int(n) for n in re.findall(r"\.loc\s+1 (\d+)", ptx)}
    assert {5, 6, 7, 8, 9, 10} <= lines
    assert "debug" not in ptx.split("\n.visible")[0].split(".target")[1].split("\n")[0]


def test_the_same_kernel_gives_the_same_text() -> None:
    assert codegen.emit(everything("sm_80").kernel()) == codegen.emit(everything("sm_80").kernel())
    assert codegen.emit_llvm(everything("sm_80").kernel()) == codegen.emit_llvm(everything("sm_80").kernel())


def by_numpy(x: Array, w: Array) -> Array:
    """What `everything` computes from 40 rows."""
    padded = np.pad(x, ((0, 24), (0, 0)))
    blocks = [np.cumsum(b, axis=0) for b in (padded[:32], padded[32:])]
    return np.vstack([b.max(1, keepdims=True) * (b @ w.astype(np.float32)) for b in blocks])[:40]


def test_dynamic_shared_memory_runs() -> None:
    p = everything("sm_80", dynamic_shared=True)
    x, w, y = values(F32, 40, 32), values(BF16, 32, 32), zeros(F32, 40, 32)
    p.run(x, w, y, 40, grid=(2, 1, 1))
    np.testing.assert_allclose(y, by_numpy(x, w), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_every_schedule_runs_and_is_accepted_by_ptxas(target: str) -> None:
    p = everything(target)
    x, w, y = values(F32, 40, 32), values(BF16, 32, 32), zeros(F32, 40, 32)
    kernel = p.kernel()
    ptx = codegen.emit(kernel)
    p.run(x, w, y, 40, grid=(2, 1, 1))
    np.testing.assert_allclose(y, by_numpy(x, w), rtol=1e-4, atol=1e-4)
    tool = ptxas.for_target(target)
    assert tool is not None, ptxas.why_none(target)
    assembly = ptxas.assemble(tool, ptx, target)
    assert assembly.cubin is not None, assembly.messages
    assert assembly.entries["k"].spill_store_bytes == 0
