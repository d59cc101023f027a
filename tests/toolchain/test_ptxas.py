"""Finding and calling ptxas: the real one where a result counts, a stand-in for what it must survive."""

import stat
import sys
from pathlib import Path

import pytest

from phobos_core.language.targets import TARGETS
from phobos_core.toolchain import find, ptxas, sass

# Written by hand: copies one word through shared memory, with statements on source lines 3 and 4.
COPY = """\
.version {version}
.target {target}
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
.maxntid 32
{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    .shared .align 4 .b8 stage[128];
    .loc 1 3 5
    ld.param.u64 %rd1, [from];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    mov.u32 %r3, stage;
    st.shared.u32 [%r3], %r2;
    bar.sync 0;
    .loc 1 4 5
    ld.shared.u32 %r2, [%r3];
    ld.param.u64 %rd3, [to];
    {last}
    ret;
}}
.file 1 "copy.ph"
"""

STORE = "st.global.u32 [%rd3], %r2;"


def copy_ptx(target: str, last: str = STORE) -> str:
    major, minor = TARGETS[target].ptx
    return COPY.format(version=f"{major}.{minor}", target=target, last=last)


def real(target: str) -> ptxas.Ptxas:
    tool = ptxas.for_target(target)
    if tool is None:
        pytest.skip(ptxas.why_none(target))
    return tool


def stand_in(path: Path, body: str) -> Path:
    """A program that says it is ptxas 12.9.86 for sm_61 and sm_80, and does `body` when asked to assemble."""
    path.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        "if '--version' in sys.argv: print('Cuda compilation tools, release 12.9, V12.9.86'); sys.exit()\n"
        "if '--help' in sys.argv: print(\"values: 'sm_61','compute_61','sm_80','sm_90a'\"); sys.exit()\n"
        f"{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].sm >= 75])
def test_a_kernel_is_assembled_for_every_target(target: str) -> None:
    result = ptxas.assemble(real(target), copy_ptx(target), target)
    assert result.cubin is not None
    assert result.cubin.startswith(b"\x7fELF")
    used = result.entries["copy"]
    assert used.shared_bytes == 128
    assert used.barriers == 1
    assert (used.local_bytes, used.spill_store_bytes, used.spill_load_bytes) == (0, 0, 0)
    assert 4 <= used.registers <= 32


def test_an_error_is_placed_in_the_source() -> None:
    result = ptxas.assemble(real("sm_80"), copy_ptx("sm_80", last="st.globl.u32 [%rd3], %r2;"), "sm_80")
    assert result.cubin is None
    assert [(m.severity, m.source_line) for m in result.messages] == [("error", 4)]
    assert ".globl" in result.messages[0].text


def test_sass_names_source_lines() -> None:
    tool = sass.nvdisasm()
    if tool is None:
        pytest.skip(f"needs {sass.PACKAGE}")
    cubin = ptxas.assemble(real("sm_80"), copy_ptx("sm_80"), "sm_80").cubin
    assert cubin is not None
    text = sass.disassemble(tool, cubin)
    assert "STG" in text
    assert 'copy.ph", line 4' in text


def test_nvdisasm_that_cannot_read_the_file_says_so() -> None:
    tool = sass.nvdisasm()
    if tool is None:
        pytest.skip(f"needs {sass.PACKAGE}")
    with pytest.raises(sass.DisassemblyError, match=r"\w"):
        sass.disassemble(tool, b"not a cubin")


@needs_scripts
def test_the_binary_is_asked_for_version_and_targets(tmp_path: Path) -> None:
    path = stand_in(tmp_path / "ptxas", "")
    assert ptxas.query(path) == ptxas.Ptxas(path, "12.9.86", frozenset({"sm_61", "sm_80", "sm_90a"}))


def test_a_program_that_is_no_ptxas_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ptxas").write_text("text")
    assert ptxas.query(tmp_path / "ptxas") is None
    assert ptxas.query(tmp_path / "absent") is None


@needs_scripts
def test_an_assembly_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    tool = ptxas.query(stand_in(tmp_path / "ptxas", "time.sleep(600)"))
    assert tool is not None
    result = ptxas.assemble(tool, copy_ptx("sm_80"), "sm_80", time_limit=0.5)
    assert result.timed_out
    assert result.cubin is None


@needs_scripts
def test_a_crash_of_ptxas_is_an_error_with_its_status(tmp_path: Path) -> None:
    tool = ptxas.query(stand_in(tmp_path / "ptxas", "print('Segmentation fault'); os._exit(139)"))
    assert tool is not None
    [message] = ptxas.assemble(tool, copy_ptx("sm_80"), "sm_80").messages
    assert message.severity == "error"
    assert "139" in message.text
    assert "Segmentation fault" in message.text


@needs_scripts
def test_a_target_nobody_assembles_names_what_there_is_and_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(find.OVERRIDE, str(stand_in(tmp_path / "ptxas", "")))
    assert ptxas.for_target("sm_120") is None
    assert ptxas.why_none("sm_120") == (
        "no ptxas for sm_120: ptxas 12.9.86 has sm_61, sm_80; "
        "`pip install --upgrade nvidia-cuda-nvcc` brings one that has it"
    )
    assert ptxas.for_target("sm_61") is not None


def test_without_any_ptxas_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(find.OVERRIDE, raising=False)
    monkeypatch.setattr(find, "wheel_roots", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ptxas.installed() == ()
    assert ptxas.for_target("sm_80") is None
    assert ptxas.why_none("sm_70") == ("no ptxas found; `pip install nvidia-cuda-nvcc-cu12` brings one for sm_70")


def test_an_override_that_is_no_ptxas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(find.OVERRIDE, "absent")
    assert ptxas.for_target("sm_80") is None
    assert ptxas.why_none("sm_80") == (
        "no ptxas found: PHOBOS_PTXAS=absent is no ptxas, and no other is looked for; "
        "unset it, `pip install nvidia-cuda-nvcc` brings a ptxas for sm_80"
    )


@needs_scripts
def test_a_ptxas_that_cannot_be_run_any_more_is_an_error(tmp_path: Path) -> None:
    tool = ptxas.query(stand_in(tmp_path / "ptxas", ""))
    assert tool is not None
    tool.path.unlink()
    [message] = ptxas.assemble(tool, copy_ptx("sm_80"), "sm_80").messages
    assert (message.severity, message.text) == ("error", f"{tool.path} cannot be run: No such file or directory")


def test_wheels_come_before_path_and_newer_cuda_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "ptxas.exe" if sys.platform == "win32" else "ptxas"
    places = [tmp_path / place / "bin" / name for place in ("nvidia/cu13", "nvidia/cuda_nvcc", "path")]
    for place in places:
        place.parent.mkdir(parents=True)
        place.touch(mode=0o755)
    monkeypatch.delenv(find.OVERRIDE, raising=False)
    monkeypatch.setattr(find, "wheel_roots", lambda: [tmp_path / "nvidia"])
    monkeypatch.setenv("PATH", str(places[2].parent))
    assert find.candidates("ptxas") == places
