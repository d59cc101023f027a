"""What ptxas says of a kernel, placed in its source. Stand-ins play a ptxas that refuses, spills or hangs."""

import sys
from pathlib import Path

import pytest

from phobos_core.language.codes import CODES
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Source
from phobos_core.runtime import assembly, frontend
from phobos_core.runtime.assembly import MANY_INSTRUCTIONS, instructions
from phobos_core.runtime.compiler import Compiled, Request, compile_kernel, translate
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.options import Options
from phobos_core.toolchain import ptxas

SOURCE = """\
// A comment first, so that the kernel does not stand at the start.
@autotune(U in [2, 4])
@launch(64, 1, 16)
kernel sum(X: tensor<f32>[64, 64], Y: tensor<f32>[64, 64]) {
  for<unroll U> i in range(0, 64) {
    Y[i :+ 1, :] = Y[i :+ 1, :] + X[i :+ 1, :]
  }
}
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")


def compile_with(path: Path, body: str, time_limit: float = 60.0) -> Compiled:
    """`body` is what the stand-in does with the PTX `source`; it has to write a cubin to succeed."""
    path.write_text(
        f"#!{sys.executable}\n"
        "import re, sys, time\n"
        "if '--version' in sys.argv: print('V13.0.88'); sys.exit()\n"
        "if '--help' in sys.argv: print(\"'sm_80'\"); sys.exit()\n"
        "name, cubin = sys.argv[-3], sys.argv[-1]\n"
        "source = open(name).read()\n"
        f"{body}\n"
    )
    path.chmod(0o755)
    options = Options()
    checked = frontend.check(Source("sum.ph", SOURCE.encode()), options)
    [placed] = checked.kernels
    config = next(configurations(placed.kernel, options))
    tool = ptxas.query(path)
    assert tool is not None
    return compile_kernel(Request(checked.source, placed, "sm_80", config, 64, ("ptx",), tool, time_limit))


def text_of(found: Diagnostic) -> str:
    return SOURCE.encode()[found.start : found.end].decode()


def test_a_refusal_stands_on_the_line_whose_code_was_refused(tmp_path: Path) -> None:
    body = (
        "lines = source.splitlines()\n"
        "at = next(n for n, line in enumerate(lines, 1) if 'st.global' in line)\n"
        "print(f'ptxas {name}, line {at}; error   : Not a name of any known instruction')\n"
        "sys.exit(255)"
    )
    result = compile_with(tmp_path / "ptxas", body)
    [found] = result.diagnostics
    assert (found.severity, found.code) == ("error", "assembler-failed")
    assert text_of(found) == "Y[i :+ 1, :] = Y[i :+ 1, :] + X[i :+ 1, :]"
    assert "ptxas 13.0.88 refused the code of `sum` for sm_80: Not a name of any known instruction" in found.message
    assert b".entry sum" in result.artifacts["ptx"]
    assert result.report is not None
    assert (result.report.status, result.report.resources.registers) == ("error", None)


def test_spills_are_a_warning_that_names_the_cap(tmp_path: Path) -> None:
    body = (
        "open(cubin, 'wb').write(b'x')\n"
        "print(\"ptxas info    : Compiling entry function 'sum' for 'sm_80'\")\n"
        "print('ptxas info    : Function properties for sum')\n"
        "print('    8 bytes stack frame, 40 bytes spill stores, 56 bytes spill loads')\n"
        "print('ptxas info    : Used 16 registers, used 0 barriers, 8 bytes cumulative stack size')"
    )
    result = compile_with(tmp_path / "ptxas", body)
    [found] = result.diagnostics
    assert (found.severity, found.code, text_of(found)) == ("warning", "spills", "sum")
    for said in ("`sum`", "16", "@launch", "40 bytes", "56"):
        assert said in found.message
    assert result.report is not None
    assert (result.report.status, result.report.resources.spill_store_bytes) == ("ok", 40)


def test_a_ptxas_that_takes_too_long_names_kernel_configuration_and_unroll_factor(tmp_path: Path) -> None:
    result = compile_with(tmp_path / "ptxas", "time.sleep(600)", time_limit=0.5)
    [found] = result.diagnostics
    assert (found.severity, found.code, text_of(found)) == ("error", "assembler-timeout", "sum")
    assert "did not finish `sum` with U=2 in 0.5 s" in found.message
    assert "unrolled 2 times" in found.message


def test_a_warning_of_ptxas_is_a_note_of_the_report(tmp_path: Path) -> None:
    body = "open(cubin, 'wb').write(b'x')\nprint('ptxas warning : something to know')"
    result = compile_with(tmp_path / "ptxas", body)
    assert result.diagnostics == ()
    assert result.report is not None
    assert "ptxas: something to know" in result.report.notes


def test_very_much_code_is_a_warning_with_the_unroll_factor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MANY_INSTRUCTIONS", 10)
    [found] = compile_with(tmp_path / "ptxas", "open(cubin, 'wb').write(b'x')").diagnostics
    assert (found.severity, found.code, text_of(found)) == ("warning", "large-code", "sum")
    assert "unrolled 2 times" in found.message


def test_instructions_are_counted_without_labels_and_directives() -> None:
    ptx = ".version 7.0\n.reg .b32 \t%r<5>;\n$L__BB0_1:\n\tmov.u32 \t%r1, %tid.x;\n\t@%p1 bra \t$L__BB0_1;\n\tret;\n}\n"
    assert instructions(ptx) == 3
    assert instructions("") == 0
    assert MANY_INSTRUCTIONS == 20_000


def test_the_example_of_very_much_code_has_that_much() -> None:
    code = CODES["large-code"]
    counts = []
    for text in (code.wrong, code.right):
        options = Options()
        checked = frontend.check(Source("example.ph", text.encode()), options)
        [placed] = checked.kernels
        translated = translate(Request(checked.source, placed, "sm_80", {}, 64, ("ptx",), None, 60.0))
        assert translated.ptx is not None
        counts.append(instructions(translated.ptx))
    assert counts[0] > MANY_INSTRUCTIONS > counts[1]
