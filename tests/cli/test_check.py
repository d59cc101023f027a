"""`phobos check`: what it prints in each format, and its exit statuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Phobos

PRINTED_MODULES = """
import sys
from phobos_core.cli.main import main
status = main(["check", sys.argv[1]])
print(status, *(name for name in ("numpy", "ml_dtypes", "llvmlite") if name in sys.modules))
"""


def test_nothing_wrong_is_0(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("check", saxpy)
    assert (ran.status, ran.out, ran.err) == (0, "1 file checked, nothing wrong\n", "")


def test_an_error_is_1_and_shows_its_place(phobos: Phobos, broken: Path) -> None:
    ran = phobos("check", broken)
    assert ran.status == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith("error[unknown-name]: ")
    assert lines[1].strip() == "--> broken.ph:2:15"
    assert "2 |   X[0 :+ 4] = Z[0 :+ 4]" in lines
    assert lines[-1] == "1 error"


def test_exit_zero_prints_the_same_and_exits_0(phobos: Phobos, broken: Path) -> None:
    assert phobos("check", "--exit-zero", broken).status == 0
    assert phobos("check", "--exit-zero", broken).out == phobos("check", broken).out


def test_concise_is_a_line_for_each(phobos: Phobos, broken: Path) -> None:
    [line] = phobos("check", "--format", "concise", broken).out.splitlines()
    assert line.startswith("broken.ph:2:15: error[unknown-name]: ")


def test_json_is_one_object(phobos: Phobos, broken: Path) -> None:
    ran = phobos("check", "--format", "json", broken)
    assert ran.status == 1
    value = json.loads(ran.out)
    assert value["schema"] == "phobos.check/1"
    [found] = value["diagnostics"]
    assert found["file"] == "broken.ph"
    assert found["range"] == {"start": {"line": 1, "character": 14}, "end": {"line": 1, "character": 15}}
    assert (found["severity"], found["code"]) == ("error", "unknown-name")
    assert isinstance(found["related"], list)


def test_html_is_a_format_of_build_alone(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("check", "--format", "html", saxpy)
    assert (ran.status, ran.out) == (2, "")
    assert "invalid choice: 'html'" in ran.err


def test_a_folder_means_every_source_below_it(phobos: Phobos, saxpy: Path, broken: Path, tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    broken.rename(below / "x.ph")
    (tmp_path / "a" / "notes.txt").write_text("not a source")
    ran = phobos("check", "--format", "concise", ".")
    assert ran.status == 1
    assert [line.split(":")[0] for line in ran.out.splitlines()] == [str(Path("a/b/x.ph"))]


def test_a_folder_without_sources_is_0_with_a_warning(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = phobos("check", "empty")
    assert ran.status == 0
    assert ran.err == "warning: no .ph files below empty\n"


def test_an_empty_file_is_0_with_a_warning(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "empty.ph").touch()
    ran = phobos("check", "empty.ph")
    assert ran.status == 0
    assert "warning[no-kernels]" in ran.out
    assert phobos("check", "--deny", "warnings", "empty.ph").status == 1
    assert phobos("check", "--deny", "no-kernels", "empty.ph").status == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"kernel k() {}\n\xff\xfe", "bad.ph is not UTF-8 text: byte 0xff on line 2"),
        (b"\x7fELF\0\0\0", "bad.ph is not text: a zero byte on line 1"),
        (b"// " + b"x" * (5 << 20), "bad.ph is larger than 4 MiB, the most that a source may have"),
    ],
    ids=["not utf-8", "binary", "5 MB"],
)
def test_a_file_that_is_no_source_is_2(phobos: Phobos, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "bad.ph").write_bytes(content)
    ran = phobos("check", "bad.ph")
    assert (ran.status, ran.out, ran.err) == (2, "", f"error: {said}\n")


def test_a_byte_order_mark_is_not_counted(phobos: Phobos, broken: Path) -> None:
    plain = phobos("check", "--format", "json", broken).out
    text = phobos("check", broken).out
    broken.write_bytes(b"\xef\xbb\xbf" + broken.read_bytes())
    assert phobos("check", "--format", "json", broken).out == plain
    assert phobos("check", broken).out == text
    first = json.loads(phobos("check", "--format", "json", mistaken_on_the_first_line(b"\xef\xbb\xbf")).out)
    assert first["diagnostics"][0]["range"]["start"] == {"line": 0, "character": 19}


def mistaken_on_the_first_line(before: bytes) -> Path:
    path = Path("first.ph")
    path.write_bytes(before + b"kernel k(X: tensor<f33>[N]) {}\n")
    return path


def test_a_file_that_is_not_there_is_2(phobos: Phobos) -> None:
    ran = phobos("check", "absent.ph")
    assert (ran.status, ran.err) == (2, "error: cannot read absent.ph: No such file or directory\n")


def test_files_that_cannot_be_read_are_all_named_and_the_others_are_checked(phobos: Phobos, broken: Path) -> None:
    Path("bytes.ph").write_bytes(b"\xff")
    said = "error: bytes.ph is not UTF-8 text: byte 0xff on line 1\n"
    ran = phobos("check", "--format", "concise", ".")
    assert (ran.status, ran.err) == (2, said)
    assert ran.out.startswith("broken.ph:2:15: error[unknown-name]")
    broken.write_text("kernel k() {}\n")
    assert phobos("check", ".").out == "1 file checked, 1 not read\n"
    ran = phobos("check", "absent.ph", "bytes.ph")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: cannot read absent.ph: No such file or directory\n{said}"


def test_an_empty_path_is_no_folder(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("check", "")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "error: an empty PATH names no file; `.` is the working directory\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("name", ["loop.ph", "x" * 300])
def test_a_path_that_the_system_refuses_is_2(phobos: Phobos, tmp_path: Path, name: str) -> None:
    (tmp_path / "loop.ph").symlink_to("loop.ph")
    ran = phobos("check", name)
    assert ran.status == 2
    assert ran.err.startswith(f"error: cannot read {name}: ")


def test_an_unknown_target_is_2_and_lists_the_targets(phobos: Phobos, saxpy: Path) -> None:
    ran = phobos("check", "--target", "sm_81", saxpy)
    assert ran.status == 2
    assert "unknown target `sm_81`; the targets are sm_61, sm_70, sm_75, sm_80," in ran.err


def test_a_finding_of_several_targets_is_given_once(phobos: Phobos, broken: Path) -> None:
    ran = phobos("check", "--target", "sm_80", "--target", "sm_90", "--format", "json", broken)
    assert len(json.loads(ran.out)["diagnostics"]) == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("-D", "N"), "`N` is not NAME=INT"),
        (("-D", "N=x"), "`x` is no value for `N`"),
        (("-D", "N=0"), "`0` is no value for `N`"),
        (("-D", "N=99999999999"), "`99999999999` is no value for `N`"),
        (("-D", "N=1", "-D", "N=2"), "`N` is given two values, 1 and 2"),
        (("-D", "M=4"), "no kernel has a dynamic dimension or @autotune name `M`; there are N, TILE"),
        (("--config", "TILES=128"), "no kernel has an @autotune name `TILES`; there are TILE; did you mean `TILE`?"),
        (("--config", "TILE=96"), "TILE=96 is not a choice of kernel `saxpy`: 128, 256, 512"),
        (("--emit", ","), "nothing to emit; the kinds are ptx, cubin, sass, llvm, ir"),
        (("--target", "sm_80,sm_90"), "`sm_80,sm_90` is no target: give --target once for each"),
        (("--config", "best"), "`best` is no configuration"),
        (("--deny", "spill"), "--deny spill: no diagnostic has this code; did you mean `spills`?"),
        (("--jobs", "many"), "`many` is no number of processes"),
        (("--emit", "exe"), "`exe` cannot be emitted"),
        (("--format", "yaml"), "invalid choice: 'yaml'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_options_are_2(phobos: Phobos, saxpy: Path, option: tuple[str, ...], said: str) -> None:
    ran = phobos("check", *option, saxpy)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def test_a_dimension_and_a_choice_may_be_bound(phobos: Phobos, saxpy: Path) -> None:
    assert phobos("check", "-D", "N=4096", "-D", "TILE=256", saxpy).status == 0
    assert phobos("check", "--config", "TILE=512", saxpy).status == 0


def test_checking_loads_neither_numpy_nor_llvm(saxpy: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PRINTED_MODULES, str(tmp_path / saxpy)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "0"


def test_a_bound_dimension_that_breaks_a_promise_is_shown_with_its_value(phobos: Phobos) -> None:
    Path("k.ph").write_text("@aligned(M = 64)\nkernel k(A: tensor<f32>[M]) {\n  A[0 :+ 64] = A[0 :+ 64] * 2.0\n}\n")
    ran = phobos("check", "-D", "M=100", "--format", "concise", "k.ph")
    assert ran.status == 1
    assert "`@aligned` promises that `M` is a whole number of `64`, and it is 100" in ran.out


@pytest.mark.parametrize(
    ("format", "start"), [("github", "::error file=broken.ph,"), ("sarif", "{"), ("junit", "<?xml version")]
)
def test_formats_that_ci_services_read(phobos: Phobos, broken: Path, format: str, start: str) -> None:
    ran = phobos("check", broken, "--format", format)
    assert ran.status == 1
    assert ran.out.startswith(start)
    assert "unknown-name" in ran.out
