"""Printed IR read back prints the same, and text that is not IR is refused with its line."""

import math

import pytest

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Param, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.parser import IrSyntaxError, parse_kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.ir.schedule import ColumnScan, Contraction, PatchSweep, RowFold, RowReduction, RowSweep, Sweep
from phobos_core.ir.types import TOKEN, Cyclic, MemType, Patches, Rows, TileType
from phobos_core.language.types import BF16, BOOL, F16, F32, I32, INDEX

TEXT = """\
kernel @k target=sm_86 threads=96 index=32 min_blocks=2 config={TM: 8, TN: 4} divisors={N: 4} assumed=[N] \
padstage=true line=3 (%X: mem<f16>[?x64, global] as [N, 64], %X.t: token, %s: f32, %N: index) {
  %0 = const {value = 0} : index
  %t, %t.2 = alloc {name = t, stages = 2, pitch = 72} : mem<f16>[8x64, shared], token @4
  %1 = view %X, %0, %0, %N {bounds = [upper, none]} : view<f16>[8x64, global] @5
  %2 = load %1, %X.t : tile<f16>[8x64, cyclic<96, 8>] @5
  %3 = view %t, %0, %0, %0 {bounds = [none, none]} : view<f16>[8x64, shared] @5
  %4 = store %3, %2, %t.2 {schedule = Sweep(vector=8)} : token @5
  %5 = for %0, %N, %0, %4 {unroll = 2} : token @6 (%i: index, %6: token) {
    %7 = const {value = true} : bool
    %8 = if %7 : token {
      barrier
      yield %6
    } {
      yield %6
    }
    yield %8
  }
  %9 = while %5 : token (%10: token) {
    %11 = const {value = -inf} : f32
    %12 = cmp %11, %s {predicate = lt} : bool
    yield %12, %10
  } (%13: token) {
    %14 = const {value = false} : bool
    trap_if %14 {message = "not \\"aligned\\""}
    async_wait {pending = 1}
    yield %13
  }
}
"""


def test_a_tile_in_patches_reads_back() -> None:
    """Four threads with two patches of 2 x 4 each: eight rows, two runs of two columns in each."""
    text = TEXT.replace("cyclic<96, 8>", "patches<4, 2, 4, 4, 2, 2>").replace("vector=8", "vector=1")
    kernel = parse_kernel(text)
    assert print_kernel(kernel) == text
    held = kernel.body.ops[3].result.type
    assert held == TileType(F16, (8, 64), Patches(4, 2, 4, 4, 2, 2))
    assert isinstance(held, TileType)
    assert held.runs == 2 * 2 * 2


def test_runs_of_rows_and_blocks_of_lanes_read_back() -> None:
    text = TEXT.replace("cyclic<96, 8>", "patches<64, 2, 4, 4, 16, 2, 2, 8>").replace("vector=8", "vector=1")
    kernel = parse_kernel(text)
    assert print_kernel(kernel) == text
    held = kernel.body.ops[3].result.type
    assert held == TileType(F16, (8, 64), Patches(64, 2, 4, 4, 16, 2, height=2, across=8))


def test_a_tile_of_rows_reads_back() -> None:
    """Four threads with two patches of two rows each."""
    text = TEXT.replace("cyclic<96, 8>", "rows<4, 2, 4, 2>").replace("vector=8", "vector=1")
    kernel = parse_kernel(text)
    assert print_kernel(kernel) == text
    held = kernel.body.ops[3].result.type
    assert held == TileType(F16, (8, 64), Rows(4, 2, 4, 2))
    assert isinstance(held, TileType)
    assert held.runs == 2 * 2


def test_text_round_trip() -> None:
    assert print_kernel(parse_kernel(TEXT)) == TEXT


def test_what_the_text_means() -> None:
    kernel = parse_kernel(TEXT)
    assert (kernel.name, kernel.target, kernel.threads, kernel.index_bits) == ("k", "sm_86", 96, 32)
    assert (kernel.min_blocks, kernel.max_registers, kernel.line) == (2, None, 3)
    assert kernel.config == {"TM": 8, "TN": 4}
    assert kernel.assumed == {"N"}
    assert kernel.padstage
    assert not kernel.pipeline
    tensor, scalar, dim = kernel.params
    assert (tensor.kind, tensor.dims, tensor.token) == ("tensor", ("N", 64), kernel.body.args[1])
    assert (scalar.kind, scalar.dtype, dim.kind) == ("scalar", F32, "dim")
    load = kernel.body.ops[3]
    assert load.result.type == TileType(F16, (8, 64), Cyclic(96, 8))
    assert load.line == 5
    assert [op.name for op in kernel.body.ops[-1].regions[1].ops] == ["const", "trap_if", "async_wait", "yield"]


@pytest.mark.parametrize(
    "schedule",
    [
        Sweep(4),
        PatchSweep(Patches(32, 2, 4, 2, 1, 2), 1),
        Contraction(8, 4, 4, 8, True),
        Contraction(8, 4, 4, 8, False, 4, 2, 8),
        RowSweep(Rows(32, 2, 2, 1)),
        RowFold(Patches(32, 2, 4, 2, 1, 2), 1),
        RowReduction(16, 1),
        ColumnScan(),
    ],
    ids=str,
)
def test_schedules(schedule: object) -> None:
    b = Builder(1)
    mem = Value(MemType(BF16, (4, 4), "global"), "X")
    token = Value(TOKEN, "X.t")
    view = b.whole(mem)
    b.op("store", (view, b.load(view, token), token), (TOKEN,), {"schedule": schedule})
    param = Param("X", "tensor", BF16, (4, 4), mem, token)
    kernel = Kernel("k", (param,), b.block([mem, token]), "sm_80", 32, None, None, 64, {}, {}, {}, frozenset())
    again = parse_kernel(print_kernel(kernel))
    assert again.body.ops[-1].attrs["schedule"] == schedule


@pytest.mark.parametrize("value", [1.5, -2, 1e-30, math.inf, -math.inf, math.nan, True, False, 2**40])
def test_constants(value: float) -> None:
    type = BOOL if isinstance(value, bool) else INDEX if isinstance(value, int) else F32
    b = Builder()
    b.const(value, type)
    kernel = Kernel("k", (), b.block(), "sm_80", 32, None, None, 64, {}, {}, {}, frozenset())
    again = parse_kernel(print_kernel(kernel)).body.ops[0].attrs["value"]
    assert again == value or (math.isnan(again) and math.isnan(value))
    assert isinstance(again, float if type is F32 else int)


def test_float_constant_that_looks_whole_stays_a_float() -> None:
    b = Builder()
    b.const(1e30, F32)
    b.const(3.0, F32)
    b.const(3, I32)
    kernel = Kernel("k", (), b.block(), "sm_80", 32, None, None, 64, {}, {}, {}, frozenset())
    values = [op.attrs["value"] for op in parse_kernel(print_kernel(kernel)).body.ops]
    assert [type(v) for v in values] == [float, float, int]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %0 = add %a, %b : f32", "line 2: expected a defined value, not %a"),
        ("  %0 = frobnicate : f32", "line 2: expected an op of the table, not 'frobnicate'"),
        ("  %0 = const {value = 1} : f31", "line 2: expected a scalar type, not 'f31'"),
        ("  %0 = const {value = 1}", "expected ':'"),
        ("  %0, %1 = const {value = 1} : f32", "expected 2 result types"),
        ("  barrier", "expected an op"),
    ],
)
def test_errors(body: str, message: str) -> None:
    end = "" if "barrier" in body else "\n}"
    with pytest.raises(IrSyntaxError, match=message.replace("(", r"\(")):
        parse_kernel(f"kernel @k target=sm_80 threads=32 index=64 () {{\n{body}{end}\n")


def test_every_op_name_is_one_word() -> None:
    assert all(name.isidentifier() for name in OPS)
