"""What is counted of machine code, on code written by hand and on what ptxas really makes."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from phobos_core.report.as_json import to_json
from phobos_core.report.sass.analyze import analyze
from phobos_core.report.sass.beside import beside
from phobos_core.report.sass.listing import Instruction
from phobos_core.report.sass.model import AccessCode
from phobos_core.report.sass.opcodes import bits, class_of
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.compiler import Compiled, Request, compile_kernel
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.options import Options
from phobos_core.toolchain import ptxas, sass
from tests.report.sass_texts import listing

LOOP = listing(
    "#3",
    "S2R R0, SR_TID.X",
    "#4",
    ".A:",
    "LDG.E.128 R4, [R2.64]",
    "#5",
    "STS.128 [R8], R4",
    "BAR.SYNC 0x0",
    "LDS.64 R12, [R9]",
    "LDS.64 R14, [R9+0x80]",
    "FFMA R16, R12, R13, R16",
    "FFMA R17, R14, R15, R17",
    "#4",
    "@P0 BRA .A",
    "#6",
    "STL [R1], R16",
    "EXIT",
)


def test_a_loop_is_told_with_its_line_mix_and_share_of_math() -> None:
    code = analyze(LOOP)
    (loop,) = code.loops
    assert code.largest_loop == loop
    assert (loop.name, loop.line, loop.depth, loop.first, loop.last, loop.instructions) == ("L1", 4, 1, 0x10, 0x80, 8)
    assert loop.mix == {"LDG": 1, "STS": 1, "BAR": 1, "LDS": 2, "FFMA": 2, "branch": 1}
    assert loop.math_share == 2 / 8


def test_a_loop_is_on_the_line_of_its_comparison() -> None:
    rows = ("#4", ".A:", "UISETP.GE.U32 UP0, UPT, UR4, UR5, UPT", "#9", "FADD R0, R0, R1", "BRA.U !UP0, .A", "EXIT")
    assert [loop.line for loop in analyze(listing(*rows)).loops] == [4]
    assert [loop.line for loop in analyze(listing("#9", ".A:", "NOP", "BRA .A")).loops] == [9]


def test_lines_and_accesses() -> None:
    code = analyze(LOOP)
    assert [(line.line, line.instructions) for line in code.lines] == [(3, 1), (4, 2), (5, 6), (6, 2)]
    assert code.accesses == (AccessCode(4, "LDG", 128, 1), AccessCode(5, "STS", 128, 1), AccessCode(5, "LDS", 64, 2))
    assert code.local_accesses == (AccessCode(6, "STL", 32, 1),)
    assert code.instructions == 11


def test_what_a_guard_never_lets_happen_accesses_nothing() -> None:
    code = analyze(listing("#4", ".A:", "@!PT LDS RZ, [RZ]", "@P1 LDS R0, [R1]", "LDS R0, [R1]", "@P0 BRA .A", "EXIT"))
    assert code.accesses == (AccessCode(4, "LDS", 32, 2),)
    assert code.loops[0].mix == {"LDS": 2, "other": 1, "branch": 1}


def test_code_without_instructions() -> None:
    code = analyze(listing())
    assert (code.instructions, code.loops, code.lines, code.live_registers, code.largest_loop) == (
        0,
        (),
        (),
        None,
        None,
    )


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("LDS", 32),
        ("LDS.U.64", 64),
        ("LDG.E.128.CONSTANT", 128),
        ("LDG.E.U8", 8),
        ("STG.E.U16", 16),
        ("LDS.S16", 16),
        ("LDGSTS.E.BYPASS.128", 128),
        ("LDG.E.ENL2.256", 256),
        ("LDSM.16.M88.4", 128),
        ("LDSM.16.MT88.2", 64),
        ("LDSM.16.M88", 32),
    ],
)
def test_widths(opcode: str, expected: int) -> None:
    assert bits(Instruction(0, None, opcode, "")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FFMA.FTZ R0, R1, R2, R3", "FFMA"),
        ("HMMA.16816.F32 R0, R4, R8, R0", "HMMA"),
        ("IDP.4A.S8.S8 R0, R1, R2, R0", "IDP"),
        ("HFMA2 R0, R1, R2, R3", "HFMA2"),
        ("HFMA2.MMA R0, -RZ, RZ, 0, 0", "other"),  # how ptxas loads some constants
        ("HADD2.F32 R0, -RZ, R4.H1_H1", "other"),  # and widens a half
        ("HADD2 R0, R2, -RZ", "HADD2"),
        ("BRA.U UP0, 0x10", "branch"),
        ("ATOMS.ADD R0, [R1], R2", "atomic"),
        ("UIADD3 UR4, UR4, 0x1, URZ", "other"),
    ],
)
def test_classes(text: str, expected: str) -> None:
    opcode, _, operands = text.partition(" ")
    assert class_of(Instruction(0, None, opcode, operands)) == expected


def test_the_listing_shows_each_line_with_what_it_became() -> None:
    source = ["// one", "", "kernel k() {", "  for i in range(0, n) {", "    s += a * b", "  }"]
    text = beside(LOOP, analyze(LOOP), source, "k  k.ph:3")
    by_line, by_address = text.split("// by address")
    rows = by_line.splitlines()
    at = rows.index("    5 |     s += a * b")
    assert rows[at + 1] == "      // 6 instructions"
    assert [row.split()[3:5] for row in rows[at + 2 : at + 8]] == [
        ["STS.128", "[R8],"],
        ["BAR.SYNC", "0x0"],
        ["LDS.64", "R12,"],
        ["LDS.64", "R14,"],
        ["FFMA", "R16,"],
        ["FFMA", "R17,"],
    ]
    assert all(row.split()[1] == "L1" for row in rows[at + 2 : at + 8])
    assert any(row.startswith("// L1 ") and "25.0% math" in row for row in rows)
    ordered = [row.split()[:2] for row in by_address.splitlines() if row[:5].strip().isdigit()]
    assert ordered == [[str(each.line), f"{each.address:04x}"] for each in LOOP.instructions]


def test_a_line_that_the_source_does_not_have() -> None:
    assert "   99 |" in beside(listing("#99", "EXIT"), analyze(listing("#99", "EXIT")), ["one"], "k")


# What ptxas really makes

DOT = """\
@aligned(K = 32, M = 32, N = 32)
@launch(256)
kernel product(A: tensor<f32>[M, K], B: tensor<f32>[K, N], C: tensor<f32>[M, N]) {
  var sum: tile<f32>[32, 32] = 0.0
  for k in range(0, K, 32) {
    let a = A[ctx.block.x * 32 :+ 32, k :+ 32]
    let b = B[k :+ 32, ctx.block.y * 32 :+ 32]
    sum += dot(a, b)
  }
  C[ctx.block.x * 32 :+ 32, ctx.block.y * 32 :+ 32] = sum
}
"""


def compiled(target: str) -> Compiled:
    tool = ptxas.for_target(target)
    if tool is None or sass.nvdisasm() is None:
        pytest.skip(f"needs ptxas for {target} and {sass.PACKAGE}")
    options = Options(target)
    checked = frontend.check(Source("product.ph", DOT.encode()), options)
    (placed,) = checked.kernels
    config = next(configurations(placed.kernel, options))
    return compile_kernel(Request(checked.source, placed, target, config, 64, ("sass",), tool))


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_a_product_of_tiles(target: str) -> None:
    result = compiled(target)
    assert not result.diagnostics
    assert result.report is not None
    code: Mapping[str, Any] = json.loads(json.dumps(to_json(result.report)))["code"]
    assert 5 in [loop["line"] for loop in code["loops"] if loop["mix"].get("FFMA")]
    for loop in code["loops"]:
        assert sum(loop["mix"].values()) == loop["instructions"] <= code["instructions"]
        assert 0 <= loop["math_share"] <= 1
    by_line = {line["line"]: line for line in code["lines"]}
    assert set(by_line) <= set(range(1, DOT.count("\n") + 1))
    assert by_line[8]["mix"]["FFMA"] == max(line["mix"].get("FFMA", 0) for line in code["lines"])
    assert {"LDS"} <= {access["operation"] for access in code["accesses"] if access["line"] == 8}
    assert any(access["operation"].startswith("STG") for access in code["accesses"] if access["line"] == 10)
    assert code["local_accesses"] == []
    assert result.report.resources.registers is not None
    assert 8 < code["live_registers"] <= result.report.resources.registers
    text = result.artifacts["sass"].decode()
    for number, line in enumerate(DOT.splitlines(), 1):
        assert (f"{number:5} | {line}" in text) == (number in by_line)
