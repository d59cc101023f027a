"""The report of a kernel: what is collected, its JSON and its text."""

import json
from dataclasses import replace

from phobos_core.analysis.symbolic import sym
from phobos_core.ir import module as ir
from phobos_core.ir.types import MemType
from phobos_core.language.types import F32, INDEX
from phobos_core.report import text
from phobos_core.report.as_json import build_json
from phobos_core.report.collect import collect
from phobos_core.report.model import Assembler, Toolchain
from phobos_core.report.sass.model import Code, LoopCode
from phobos_core.report.style import PLAIN
from phobos_core.toolchain.messages import Resources

A = ir.Value(MemType(F32, (None, 64), "global"), "A")

KERNEL = ir.Kernel(
    name="matmul",
    params=(
        ir.Param("A", "tensor", F32, ("M", 64), A),
        ir.Param("alpha", "scalar", F32, (), ir.Value(F32)),
        ir.Param("M", "dim", INDEX, (), ir.Value(INDEX)),
    ),
    body=ir.Block((), ()),
    target="sm_80",
    threads=256,
    min_blocks=None,
    max_registers=None,
    index_bits=64,
    config={"TILE_M": 32},
    dims={},
    divisors={"M": 4},
    assumed=frozenset({"M"}),
    line=6,
    shared_bytes=12288,
    shared_bytes_without_reuse=20480,
    tiles=(
        ir.Placement("acc", 13, (32, 64), F32, "shared", 8192, 0, (13, 20)),
        ir.Placement("b", 16, (16, 64), F32, "shared", 4096, 8192, (16, 17)),
        ir.Placement("c_old", 19, (32, 64), F32, "view", 0, None, (19, 20)),
    ),
    decisions=(
        ir.Decision(17, "dot", "FMA, 4 x 4 a thread", "no @tensorcore"),
        ir.Decision(14, "for", "pipelined", "two stages of cp.async"),
    ),
    requires=(ir.Requirement(sym("M"), "multiple of", sym(32), "M % 32 == 0"),),
    notes=("a note",),
)

# 132 registers at 8 warps: one block, two from 128 down (see test_occupancy).
USED = Resources(132, 12288, 0, 0, 0, 400, 1)
TOOLCHAIN = Toolchain("0.1.0", "22.1.0", (Assembler("/bin/ptxas", "13.5.37", ("-v",)),))


def test_json_has_the_contract_keys_and_values() -> None:
    report = collect(KERNEL, "k.ph", USED, dims={"K": 64}, suggested_grid=("ceil(M / 32)",), cluster={"T": (256, 512)})
    report = replace(report, artifacts={"ptx": "build/k.ptx"})
    value = json.loads(json.dumps(build_json(TOOLCHAIN, [report], [])))
    assert value["schema"] == "phobos.build/1"
    assert value["toolchain"]["ptxas"] == [{"path": "/bin/ptxas", "version": "13.5.37", "flags": ["-v"]}]
    assert value["diagnostics"] == []
    assert value["kernels"] == [
        {
            "kernel": "matmul",
            "file": "k.ph",
            "line": 6,
            "target": "sm_80",
            "config": {"TILE_M": 32},
            "dims": {"K": 64},
            "index_bits": 64,
            "artifacts": {"ptx": "build/k.ptx"},
            "launch": {
                "threads": 256,
                "min_blocks": None,
                "max_registers": None,
                "dynamic_shared_bytes": 0,
                "cooperative": False,
            },
            "params": [
                {"name": "A", "kind": "tensor", "dtype": "f32", "dims": ["M", 64]},
                {"name": "alpha", "kind": "scalar", "dtype": "f32", "dims": []},
                {"name": "M", "kind": "dim", "dtype": "i64", "dims": []},
            ],
            "resources": {
                "registers": 132,
                "shared_bytes": 12288,
                "local_bytes": 0,
                "spill_store_bytes": 0,
                "spill_load_bytes": 0,
                "constant_bytes": 400,
                "barriers": 1,
            },
            "occupancy": {
                "blocks_per_sm": 1,
                "warps_per_sm": 8,
                "fraction": 0.125,
                "limiter": "registers",
                "limiters": ["registers"],
            },
            "tiles": [
                {
                    "name": "acc",
                    "line": 13,
                    "shape": [32, 64],
                    "dtype": "f32",
                    "storage": "shared",
                    "bytes": 8192,
                    "offset": 0,
                    "live": [13, 20],
                },
                {
                    "name": "b",
                    "line": 16,
                    "shape": [16, 64],
                    "dtype": "f32",
                    "storage": "shared",
                    "bytes": 4096,
                    "offset": 8192,
                    "live": [16, 17],
                },
                {
                    "name": "c_old",
                    "line": 19,
                    "shape": [32, 64],
                    "dtype": "f32",
                    "storage": "view",
                    "bytes": 0,
                    "offset": None,
                    "live": [19, 20],
                },
            ],
            "decisions": [
                {"line": 17, "op": "dot", "choice": "FMA, 4 x 4 a thread", "reason": "no @tensorcore"},
                {"line": 14, "op": "for", "choice": "pipelined", "reason": "two stages of cp.async"},
            ],
            "requires": ["M % 32 == 0"],
            "suggested_grid": ["ceil(M / 32)"],
            "cluster": {"T": [256, 512]},
            "coresident_grid": "1 * SMs",
            "shared_bytes_without_reuse": 20480,
            "cliff": "4 registers fewer: 2 blocks",
            "status": "ok",
            "notes": ["a note"],
            "accesses": [],
            "code": None,
        }
    ]


def test_without_ptxas_every_number_of_its_is_null() -> None:
    [value] = build_json(TOOLCHAIN, [collect(KERNEL, "k.ph", None, dims={}, notes=("no ptxas",))], [])["kernels"]
    assert set(value["resources"].values()) == {None}
    assert value["occupancy"].pop("limiters") == []
    assert set(value["occupancy"].values()) == {None}
    assert value["cliff"] is value["coresident_grid"] is None
    assert value["notes"] == ["a note", "no ptxas"]
    assert "unknown without ptxas" in text.full(collect(KERNEL, "k.ph", None, dims={}), PLAIN)


def test_dynamic_shared_memory_counts_towards_what_a_block_uses() -> None:
    kernel = replace(KERNEL, dynamic_shared=True, shared_bytes=80 * 1024)
    report = collect(kernel, "k.ph", replace(USED, registers=32, shared_bytes=0), dims={})
    assert report.launch.dynamic_shared_bytes == 80 * 1024
    assert report.resources.shared_bytes == 80 * 1024
    assert (report.occupancy.blocks_per_sm, report.occupancy.limiter) == (2, "shared memory")


def test_the_text_report_says_all_of_it() -> None:
    report = collect(
        KERNEL, "k.ph", USED, dims={"K": 64}, suggested_grid=("ceil(M / 32)", "2"), cluster={"T": (64, 128)}
    )
    report = replace(report, artifacts={"ptx": "build/k.ptx"})
    assert text.full(report, PLAIN).splitlines() == [
        "matmul  k.ph:6  sm_80  TILE_M=32  K=64",
        "  launch      256 threads",
        "  resources   132 registers, 12,288 B shared, no spills, 400 B constant, 1 barrier",
        "  occupancy   1 block on an SM, 8 of 64 warps (12 %), limited by registers; 4 registers fewer: 2 blocks",
        "  grid        ceil(M / 32) x 2",
        "  cluster     T in 64, 128",
        "  requires    M % 32 == 0",
        "  tiles       name   line  shape    type  storage  bytes  offset  live",
        "              acc      13  32 x 64  f32   shared   8,192       0  13-20",
        "              b        16  16 x 64  f32   shared   4,096   8,192  16-17",
        "              c_old    19  32 x 64  f32   view         0       -  19-20",
        "  shared      12,288 B used, 20,480 B without reuse",
        "  decisions   14  for  pipelined: two stages of cp.async",
        "              17  dot  FMA, 4 x 4 a thread: no @tensorcore",
        "  notes       a note",
        "  wrote       build/k.ptx",
    ]


def test_the_text_report_tells_the_loops_of_the_machine_code() -> None:
    report = collect(KERNEL, "k.ph", USED, dims={})
    loop = LoopCode("L1", 14, 1, 0x40, 0x200, 30, {"FFMA": 27, "LDS": 3}, 0.9)
    said = text.full(replace(report, code=Code(50, 40, (loop,), (), (), ())), PLAIN)
    assert "  loops       L1  line 14  30 instructions  90.0% math  FFMA 27, LDS 3" in said.splitlines()
    assert "loops       none" in text.full(replace(report, code=Code(50, 40, (), (), (), ())), PLAIN)


def test_spills_are_never_silent_and_name_what_caps_the_registers() -> None:
    spilled = replace(USED, registers=32, spill_store_bytes=40, spill_load_bytes=56, local_bytes=24)
    report = collect(replace(KERNEL, max_registers=32), "k.ph", spilled, dims={})
    said = "32 registers, 12,288 B shared, spills 40 B stored, 56 B loaded under the 32 of @launch, 24 B local"
    assert said in text.full(report, PLAIN)
    assert "spills 40 B stored" in text.concise(report)


def test_a_cooperative_kernel_names_the_largest_grid() -> None:
    report = collect(replace(KERNEL, persistent=True), "k.ph", USED, dims={})
    assert report.launch.cooperative
    assert "at most 1 * SMs blocks" in text.full(report, PLAIN)


def test_the_concise_report_is_one_line() -> None:
    assert text.concise(collect(KERNEL, "k.ph", USED, dims={})) == (
        "k.ph:6: matmul sm_80 TILE_M=32: 132 registers, 12,288 B shared, no spills, 400 B constant, 1 barrier; "
        "1 block on an SM, 8 of 64 warps (12 %), limited by registers; 4 registers fewer: 2 blocks"
    )
    assert (
        text.concise(collect(KERNEL, "k.ph", None, dims={}, status="skipped"))
        == "k.ph:6: matmul sm_80 TILE_M=32: skipped"
    )
