"""`phobos build`: what it writes and prints, and what it does when something is missing or does not fit."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from phobos_core.cli import files
from phobos_core.cli.status import CommandError
from phobos_core.cli.terminal import Output, Progress
from phobos_core.toolchain import find, ptxas, sass
from tests.cli.conftest import BROKEN, SAXPY, Phobos

# 64 KB of f32 does not fit the static 48 KB; 16 KB does.
TILED = """\
@autotune(TILE in [128, 64])
kernel turn(A: tensor<f32>[128, 128], C: tensor<f32>[128, 128]) {
  var t: tile<f32>[TILE, TILE] = A[0 :+ TILE, 0 :+ TILE]
  var u: tile<f32>[TILE, TILE] = transpose(t)
  C[0 :+ TILE, 0 :+ TILE] = u
}
"""
# An explicit list has three choices or more; two are the ends of a range.
FITS_PARTLY = TILED.replace("[128, 64]", "[32, 64, 128]")
FITS_NOWHERE = TILED.replace("[128, 64]", "[128, 160, 192]").replace("A: tensor<f32>[128", "A: tensor<f32>[192")
TOO_LARGE = TILED.replace("[128, 64]", "[128]")

needs_ptxas = pytest.mark.skipif(ptxas.for_target("sm_80") is None, reason="needs ptxas")


@pytest.fixture
def no_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(find.OVERRIDE, "/absent/ptxas")


def write(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return Path(name)


def built(ran: Any) -> dict[str, Any]:
    value = json.loads(ran.out)
    assert value["schema"] == "phobos.build/1"
    return dict(value)


@needs_ptxas
def test_a_build_writes_ptx_and_reports_it(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("build", saxpy)
    assert (ran.status, ran.err) == (0, "")
    path = Path("build/saxpy/saxpy.sm_80.ptx")
    assert ".visible .entry saxpy(" in path.read_text()
    for said in (
        "saxpy  saxpy.ph:2  sm_80  TILE=128",
        "256 threads",
        "registers",
        "no spills",
        "limited by",
        str(path),
    ):
        assert said in ran.out
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@needs_ptxas
def test_the_json_report(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("build", "--format", "json", saxpy)
    assert (ran.status, ran.err) == (0, "")
    value = built(ran)
    assert value["diagnostics"] == []
    tool = ptxas.for_target("sm_80")
    assert tool is not None
    assert value["toolchain"]["ptxas"] == [
        {"path": str(tool.path), "version": tool.version, "flags": ["-v", "-lineinfo"]}
    ]
    [kernel] = value["kernels"]
    assert (kernel["kernel"], kernel["file"], kernel["line"]) == ("saxpy", "saxpy.ph", 2)
    assert (kernel["target"], kernel["config"], kernel["dims"], kernel["index_bits"]) == (
        "sm_80",
        {"TILE": 128},
        {},
        64,
    )
    assert kernel["artifacts"] == {"ptx": str(Path("build/saxpy/saxpy.sm_80.ptx"))}
    assert kernel["params"] == [
        {"name": "X", "kind": "tensor", "dtype": "f32", "dims": ["N"]},
        {"name": "Y", "kind": "tensor", "dtype": "f32", "dims": ["N"]},
        {"name": "a", "kind": "scalar", "dtype": "f32", "dims": []},
        {"name": "N", "kind": "dim", "dtype": "i64", "dims": []},
    ]
    assert kernel["suggested_grid"] == ["ceil(N / 128)"]
    assert kernel["status"] == "ok"
    assert kernel["resources"]["registers"] >= 8
    assert kernel["resources"]["spill_store_bytes"] == 0
    assert 0 < kernel["occupancy"]["fraction"] <= 1


@needs_ptxas
def test_targets_choices_and_bound_dimensions_name_the_outputs(phobos: Phobos, saxpy: Path) -> None:
    options = ("--target", "sm_75", "--target", "sm_90", "-D", "N=1024", "--config", "TILE=256")
    value = built(phobos("build", "--format", "json", *options, "-o", "out", saxpy))
    assert [Path(k["artifacts"]["ptx"]).name for k in value["kernels"]] == [
        "saxpy.sm_75.TILE-256.N-1024.ptx",
        "saxpy.sm_90.TILE-256.N-1024.ptx",
    ]
    for kernel in value["kernels"]:
        assert (kernel["config"], kernel["dims"]) == ({"TILE": 256}, {"N": 1024})
        assert [p["name"] for p in kernel["params"]] == ["X", "Y", "a"]
        assert kernel["suggested_grid"] == ["4"]
        assert f".target {kernel['target']}" in Path(kernel["artifacts"]["ptx"]).read_text()


def test_a_choice_outside_the_search_space_is_2_unless_bound_by_d(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("build", "--config", "TILE=96", saxpy)
    assert (ran.status, ran.out) == (2, "")
    assert "TILE=96 is not a choice of kernel `saxpy`: 128, 256, 512" in ran.err
    assert not Path("build").exists()
    assert phobos("build", "-D", "TILE=96", saxpy).status == 0
    # Another value is another output.
    assert phobos("build", "-D", "TILE=160", "-D", "N=640", saxpy).status == 0
    names = sorted(path.name for path in Path("build/saxpy").iterdir())
    assert names == ["saxpy.sm_80.TILE-160.N-640.ptx", "saxpy.sm_80.TILE-96.ptx"]


@needs_ptxas
def test_everything_that_can_be_emitted(phobos: Phobos, saxpy: Path) -> None:
    if sass.nvdisasm() is None:
        pytest.skip(f"needs {sass.PACKAGE}")
    ran = phobos("build", "--emit", "ptx,cubin,sass,llvm,ir", saxpy)
    assert ran.status == 0
    marks = {"ptx": b".entry saxpy", "cubin": b"\x7fELF", "sass": b"EXIT", "ll": b"define", "ir": b"saxpy"}
    for suffix, mark in marks.items():
        assert mark in Path(f"build/saxpy/saxpy.sm_80.{suffix}").read_bytes(), suffix


@needs_ptxas
def test_sass_comes_with_what_it_is_made_of(phobos: Phobos, saxpy: Path) -> None:
    if sass.nvdisasm() is None:
        pytest.skip(f"needs {sass.PACKAGE}")
    (kernel,) = built(phobos("build", "--emit", "sass", "--format", "json", saxpy))["kernels"]
    assert {line["line"] for line in kernel["code"]["lines"]} <= set(range(1, 6))
    assert {"LDG", "STG"} <= {access["operation"] for access in kernel["code"]["accesses"] if access["line"] == 4}
    text = Path(kernel["artifacts"]["sass"]).read_text()
    assert "    4 |   Y[at :+ TILE] = a * X[at :+ TILE] + Y[at :+ TILE]" in text
    (kernel,) = built(phobos("build", "--emit", "ptx", "--format", "json", saxpy))["kernels"]
    assert kernel["code"] is None


@needs_ptxas
def test_machine_code_that_nvdisasm_cannot_read_is_an_error_of_the_build(
    phobos: Phobos, saxpy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sass, "nvdisasm", lambda: Path(sys.executable))
    ran = phobos("build", "--emit", "ptx,sass", saxpy)
    assert ran.status == 1
    assert "error[disassembly-failed]" in ran.out
    assert Path("build/saxpy/saxpy.sm_80.ptx").exists()
    assert not Path("build/saxpy/saxpy.sm_80.sass").exists()


def test_what_is_emitted_adds_up(phobos: Phobos, saxpy: Path) -> None:
    [kernel] = built(phobos("build", "--format", "json", "--emit", "ptx", "--emit", "ir,ptx", saxpy))["kernels"]
    assert set(kernel["artifacts"]) == {"ptx", "ir"}


def test_a_file_with_an_error_writes_nothing_and_is_1(phobos: Phobos, broken: Path, saxpy: Path) -> None:
    broken.write_text(broken.read_text() + saxpy.read_text())
    ran = phobos("build", broken)
    assert ran.status == 1
    assert "error[unknown-name]" in ran.out
    assert not Path("build").exists()
    value = built(phobos("build", "--format", "json", broken))
    assert value["kernels"] == []
    assert [d["code"] for d in value["diagnostics"]] == ["unknown-name"]


def test_the_other_files_are_built(phobos: Phobos, broken: Path, saxpy: Path, tmp_path: Path) -> None:
    write(tmp_path, "bytes.ph", "").write_bytes(b"\xff")
    ran = phobos("build", "--format", "json", broken, saxpy)
    assert ran.status == 1
    assert [(k["kernel"], k["status"]) for k in built(ran)["kernels"]] == [("saxpy", "ok")]
    assert [d["code"] for d in built(ran)["diagnostics"]] == ["unknown-name"]
    assert [path.name for path in Path("build").rglob("*.ptx")] == ["saxpy.sm_80.ptx"]
    Path("build/saxpy/saxpy.sm_80.ptx").unlink()
    ran = phobos("build", "--format", "json", ".")
    assert (ran.status, ran.err) == (2, "error: bytes.ph is not UTF-8 text: byte 0xff on line 1\n")
    assert [d["code"] for d in built(ran)["diagnostics"]] == ["unknown-name"]
    assert [path.name for path in Path("build").rglob("*.ptx")] == ["saxpy.sm_80.ptx"]


def test_one_configuration_over_the_limit_is_an_error_that_lists_the_tiles(phobos: Phobos, tmp_path: Path) -> None:
    ran = phobos("build", write(tmp_path, "turn.ph", TOO_LARGE))
    assert ran.status == 1
    assert "error[over-shared-limit]" in ran.out
    assert "turn.ph:2:8" in ran.out
    for said in ("`turn`", "TILE = 128", "48 KB", "65,536 bytes"):
        assert said in ran.out
    assert not Path("build").exists()
    [kernel] = built(phobos("build", "--format", "json", "turn.ph"))["kernels"]
    assert (kernel["status"], kernel["artifacts"]) == ("error", {})


def test_of_all_configurations_those_that_do_not_fit_are_skipped(phobos: Phobos, tmp_path: Path) -> None:
    path = write(tmp_path, "turn.ph", FITS_PARTLY)
    ran = phobos("build", "--config", "all", "--format", "json", path)
    assert ran.status == 0
    value = built(ran)
    assert [(k["config"]["TILE"], k["status"]) for k in value["kernels"]] == [(32, "ok"), (64, "ok"), (128, "skipped")]
    [warning] = value["diagnostics"]
    assert (warning["severity"], warning["code"]) == ("warning", "configuration-skipped")
    assert "1 of the 3 configurations of `turn` was skipped" in warning["message"]
    assert "TILE=128" in warning["message"]
    assert sorted(p.name for p in Path("build/turn").iterdir()) == ["turn.sm_80.TILE-32.ptx", "turn.sm_80.TILE-64.ptx"]
    assert phobos("build", "--config", "all", "--deny", "warnings", path).status == 1


def test_that_no_configuration_fits_is_an_error(phobos: Phobos, tmp_path: Path) -> None:
    ran = phobos("build", "--config", "all", write(tmp_path, "turn.ph", FITS_NOWHERE))
    assert ran.status == 1
    assert "error[no-configuration-fits]: none of the 3 configurations of `turn` fits sm_80" in ran.out
    assert "65,536 bytes" in ran.out


@needs_ptxas
def test_processes_give_what_one_process_gives(phobos: Phobos, saxpy: Path) -> None:
    one = built(phobos("build", "--config", "all", "--format", "json", "--jobs", "1", saxpy))
    assert built(phobos("build", "--config", "all", "--format", "json", "--jobs", "2", saxpy)) == one
    assert built(phobos("build", "--config", "all", "--format", "json", "--jobs", "0", saxpy)) == one
    assert len(one["kernels"]) == 3


def test_without_ptxas_ptx_is_written_and_numbers_are_unknown(phobos: Phobos, saxpy: Path, no_ptxas: None) -> None:
    ran = phobos("build", saxpy)
    assert ran.status == 0
    assert ran.err == f"note: {ptxas.why_none('sm_80')}\n"
    assert ran.err.startswith("note: no ptxas found")
    assert Path("build/saxpy/saxpy.sm_80.ptx").exists()
    value = built(phobos("build", "--format", "json", saxpy))
    assert value["toolchain"]["ptxas"] == []
    [kernel] = value["kernels"]
    assert set(kernel["resources"].values()) == {None}
    assert kernel["occupancy"]["blocks_per_sm"] is kernel["occupancy"]["limiter"] is None
    assert any("no ptxas found" in note for note in kernel["notes"])


@pytest.mark.parametrize("options", [("--emit", "cubin"), ("--emit", "ptx,sass"), ("--deny", "spills")])
def test_what_needs_ptxas_is_2_without_it(
    phobos: Phobos, saxpy: Path, no_ptxas: None, options: tuple[str, ...]
) -> None:
    ran = phobos("build", *options, saxpy)
    assert (ran.status, ran.out) == (2, "")
    assert "needs ptxas: no ptxas found" in ran.err
    assert not Path("build").exists()


def test_sass_is_2_without_nvdisasm(phobos: Phobos, saxpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ptxas.for_target("sm_80") is None:
        pytest.skip("needs ptxas")
    monkeypatch.setattr(sass, "nvdisasm", lambda: None)
    ran = phobos("build", "--emit", "sass", saxpy)
    assert (ran.status, ran.out) == (2, "")
    assert "pip install nvidia-cuda-nvdisasm" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
def test_an_nvdisasm_that_fails_is_an_error_with_its_words(
    phobos: Phobos, saxpy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ptxas.for_target("sm_80") is None:
        pytest.skip("needs ptxas")
    tool = tmp_path / "nvdisasm"
    tool.write_text("#!/bin/sh\necho 'nvdisasm fatal: version' >&2; exit 255\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sass, "nvdisasm", lambda: tool)
    ran = phobos("build", "--emit", "ptx,sass", saxpy)
    assert ran.status == 1
    assert "nvdisasm could not read the code of `saxpy` for sm_80: nvdisasm fatal: version" in ran.out


@pytest.mark.skipif(sys.platform == "win32", reason="names that its files cannot have")
def test_a_source_of_any_name_is_built(phobos: Phobos, saxpy: Path) -> None:
    for name in ("a b.ph", 'q"\\n.ph', "-ü😀.ph", "%s.ph", "new\nline.ph"):
        saxpy.rename(name)
        ran = phobos("build", "--format", "json", "--", name)
        assert (ran.status, ran.err) == (0, "")
        assert json.loads(ran.out)["kernels"][0]["file"] == name
        saxpy = Path(name)


def test_a_folder_keeps_its_shape_below_the_output(phobos: Phobos, saxpy: Path, tmp_path: Path) -> None:
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    saxpy.rename(inner / "a.ph")
    assert phobos("build", "src", "-o", "out").status == 0
    assert Path("out/deep/a/saxpy.sm_80.ptx").exists()


def test_two_sources_for_one_output_are_refused(phobos: Phobos, saxpy: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.ph").write_text(saxpy.read_text())
    ran = phobos("build", "a/k.ph", "b/k.ph")
    assert ran.status == 2
    assert f"{Path('a/k.ph')} and {Path('b/k.ph')} would both be written to" in ran.err
    assert not Path("build").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_stays_and_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link.ptx").symlink_to("target.ptx")
    files.write(tmp_path / "link.ptx", b"new")
    assert (tmp_path / "link.ptx").is_symlink()
    assert (tmp_path / "target.ptx").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, what in (("pipe", "no ordinary file"), ("folder", "a folder")):
        with pytest.raises(CommandError, match=f"it is {what}"):
            files.write(tmp_path / name, b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_the_log_names_each_decision_and_why(phobos: Phobos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(
        tmp_path,
        "dot.ph",
        "@tensorcore\n"
        "kernel k(A: tensor<f32>[12, 12], C: tensor<f32>[12, 12]) {\n"
        "  C[:, :] = dot(A[:, :], A[:, :])\n}\n",
    )
    assert "debug" not in phobos("build", "--format", "json", path).err
    monkeypatch.setenv("PHOBOS_LOG", "debug")
    ran = phobos("build", "--format", "json", path)
    decisions = built(ran)["kernels"][0]["decisions"]
    [dot] = [d for d in decisions if d["op"] == "dot"]
    assert f"debug: dot.ph:3: k sm_80: dot: {dot['choice']}: {dot['reason']}\n" in ran.err
    assert dot["reason"]


def test_html_is_one_page(phobos: Phobos, saxpy: Path, tmp_path: Path) -> None:
    ran = phobos("build", "--format", "html", "--config", "all", saxpy)
    assert (ran.status, ran.err) == (0, "")
    page = ElementTree.fromstring(ran.out)
    assert ran.out.startswith("<!DOCTYPE html>")
    assert [heading.text for heading in page.iter("h2")] == ["saxpy "]
    assert [summary.text for summary in page.iter("summary")] == [f"sm_80 TILE={tile}" for tile in (128, 256, 512)]
    assert [code.text for code in page.iter("code")][:5] == SAXPY.splitlines()
    assert len(list((tmp_path / "build").rglob("*.ptx"))) == 3


def test_html_of_a_source_with_errors(phobos: Phobos, tmp_path: Path) -> None:
    broken = tmp_path / "<b>&.ph"
    broken.write_text(BROKEN)
    ran = phobos("build", "--format", "html", broken.name)
    assert ran.status == 1
    page = ElementTree.fromstring(ran.out)
    [shown] = page.iter("pre")
    assert shown.get("class") == "error"
    assert "error[unknown-name]" in (shown.text or "")
    assert "<b>&.ph:2:15" in (shown.text or "")


def test_an_empty_file_and_folder_build_nothing(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "empty.ph").touch()
    (tmp_path / "folder").mkdir()
    ran = phobos("build", "empty.ph", "folder")
    assert ran.status == 0
    assert "warning[no-kernels]" in ran.out
    assert "no .ph files below folder" in ran.err
    assert not Path("build").exists()


def test_an_output_folder_that_is_a_file_is_2(phobos: Phobos, saxpy: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    ran = phobos("build", "-o", "taken", saxpy)
    assert ran.status == 2
    assert ran.err.startswith("error: cannot write taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_full_disk_leaves_the_old_file_and_no_new_one(
    phobos: Phobos, saxpy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert phobos("build", saxpy).status == 0
    output = Path("build/saxpy/saxpy.sm_80.ptx")
    before = output.read_bytes()

    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    ran = phobos("build", "-D", "TILE=512", "--config", "first", saxpy)
    assert ran.status == 2
    assert "No space left on device" in ran.err
    assert output.read_bytes() == before
    assert [p.name for p in output.parent.iterdir()] == [output.name]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with files.whole_file(tmp_path / "k.ptx") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("terminal", "shown"), [(True, True), (False, False)])
def test_progress_is_shown_on_a_terminal_only(terminal: bool, shown: bool) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    progress = Progress(Output(stream), 100)
    progress.step()
    assert ("1 of 100 built" in stream.getvalue()) is shown
    progress.clear()
    assert stream.getvalue().endswith("\r\x1b[K") is shown


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of another kind")
def test_outputs_have_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    files.write(tmp_path / "a.ptx", b"x")
    (tmp_path / "b").touch()
    assert stat.S_IMODE((tmp_path / "a.ptx").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_in_the_middle_is_130_and_leaves_nothing(saxpy: Path, tmp_path: Path) -> None:
    """A ptxas that interrupts its caller, as Ctrl-C does, and then hangs."""
    tool = tmp_path / "ptxas"
    tool.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys, time\n"
        "if '--version' in sys.argv: print('V13.0.1'); sys.exit()\n"
        "if '--help' in sys.argv: print(\"'sm_80'\"); sys.exit()\n"
        "os.kill(os.getppid(), signal.SIGINT); time.sleep(60)\n"
    )
    tool.chmod(0o755)
    # What runs these tests in the background may have told its processes to ignore Ctrl-C.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from phobos_core.cli.main import entry; entry()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "build", tmp_path / saxpy, "-o", tmp_path / "out"],
        env={**os.environ, find.OVERRIDE: str(tool)},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "interrupted\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_process_outlives_a_killed_build(saxpy: Path, tmp_path: Path, number: int, status: int) -> None:
    """A ptxas that says when it was called, and then hangs. A worker left alone would keep the output open."""
    tool = tmp_path / "ptxas"
    called = tmp_path / "called"
    tool.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        "if '--version' in sys.argv: print('V13.0.1'); sys.exit()\n"
        "if '--help' in sys.argv: print(\"'sm_80'\"); sys.exit()\n"
        f"open({str(called)!r}, 'w').write(str(os.getpid())); time.sleep(60)\n"
    )
    tool.chmod(0o755)
    command = [sys.executable, "-m", "phobos_core", "build", tmp_path / saxpy, "--config", "all", "--jobs", "2"]
    build = subprocess.Popen(
        [*command, "-o", tmp_path / "out"],
        env={**os.environ, find.OVERRIDE: str(tool), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not called.exists() and build.poll() is None:
        time.sleep(0.01)
    build.send_signal(number)
    assert build.communicate(timeout=40) == (b"", b"")
    assert build.returncode == status
    assert not (tmp_path / "out").exists()
