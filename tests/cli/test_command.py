"""The command as a whole: wrong usage, bugs, interruption, closed pipes, full disks, colours, explain, doctor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phobos_core import __version__
from phobos_core.cli import check
from phobos_core.cli.status import Status
from phobos_core.language.codes import CODES
from tests.cli.conftest import Phobos

COMMAND = [sys.executable, "-m", "phobos_core"]


def test_the_version(phobos: Phobos) -> None:
    ran = phobos("--version")
    assert (ran.status, ran.out) == (0, f"phobos {__version__}\n")


@pytest.mark.parametrize("arguments", [(), ("frobnicate",), ("check",), ("check", "--frobnicate", "x.ph"), ("run",)])
def test_wrong_usage_is_2_with_the_usage(phobos: Phobos, arguments: tuple[str, ...]) -> None:
    ran = phobos(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert "usage: phobos" in ran.err


@pytest.mark.parametrize("command", ["tune"])
def test_commands_to_come_say_so(phobos: Phobos, command: str) -> None:
    ran = phobos(command, "x.ph", "--check")
    assert (ran.status, ran.out, ran.err) == (2, "", f"error: `phobos {command}` is not supported yet\n")


def test_a_bug_is_101_with_a_short_report(phobos: Phobos, saxpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Status:
        raise KeyError("missing")

    monkeypatch.setattr(check, "run", fail)
    ran = phobos("check", saxpy)
    assert ran.status == 101
    assert ran.err.startswith(f"bug in phobos {__version__}: KeyError: 'missing'\n")
    assert "test_command.py" in ran.err
    assert "in fail" in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) <= 5


def test_an_interruption_is_130(phobos: Phobos, saxpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> Status:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupt)
    ran = phobos("check", saxpy)
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted\n")


# Interrupts the process, as Ctrl-C does, when the module is asked for.
INTERRUPTED_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, {handler})
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["phobos", "--version"]
from phobos_core.__main__ import entry
entry()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("module", ["phobos_core.cli.main", "argparse"])
def test_an_interruption_while_the_command_loads_is_130(module: str, tmp_path: Path) -> None:
    program = INTERRUPTED_AT.format(handler="signal.default_int_handler", module=module)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "interrupted\n")
    program = INTERRUPTED_AT.format(handler="signal.SIG_IGN", module=module)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close in another way")
def test_a_reader_that_goes_away_is_no_error(broken: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([*COMMAND, "check", tmp_path / broken], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_to_a_full_disk_is_2(broken: Path, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*COMMAND, "check", tmp_path / broken], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr) == (2, "error: cannot write: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_messages_to_a_full_disk_change_no_status() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*COMMAND, "check", "absent.ph"], stdout=subprocess.PIPE, stderr=full)
    assert (ran.returncode, ran.stdout) == (2, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="streams close in another way")
@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_closed_streams_are_written_to_nowhere(broken: Path, tmp_path: Path, closed: tuple[int, ...]) -> None:
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed)
    command = [*COMMAND, "check", str(tmp_path / broken)]
    ran = subprocess.run(["sh", "-c", f'"$@" {redirections}', "sh", *command], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ("unknown-name" in ran.stdout) is (1 not in closed)


def test_output_in_another_encoding_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "k.ph").write_text("kernel k() {\n  let a = 変\n}\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "check", tmp_path / "k.ph"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "\\u5909" in ran.stdout


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("", True), ("1", False)])
def test_colours_only_on_a_terminal_and_without_no_color(
    phobos: Phobos, broken: Path, monkeypatch: pytest.MonkeyPatch, no_color: str | None, coloured: bool
) -> None:
    assert "\x1b" not in phobos("check", broken).out
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    phobos("check", broken)
    assert ("\x1b[" in terminal.text) is coloured


def test_explain_gives_rule_and_both_examples(phobos: Phobos) -> None:
    code = CODES["shape-mismatch"]
    ran = phobos("explain", "shape-mismatch")
    assert ran.status == 0
    assert f"error[shape-mismatch]: {code.title}" in ran.out
    assert code.rule in ran.out
    for example in (code.wrong, code.right):
        assert all(f"    {line}".rstrip() in ran.out.splitlines() for line in example.rstrip("\n").split("\n"))
    assert phobos("explain", "error[shape-mismatch]:").out == ran.out
    assert phobos("explain", "Shape-Mismatch").out == ran.out


def test_explain_of_an_unknown_code_is_2(phobos: Phobos) -> None:
    ran = phobos("explain", "shape-mismatc")
    assert ran.status == 2
    assert ran.err == "error: no diagnostic has the code `shape-mismatc`; did you mean `shape-mismatch`?\n"


def test_explain_alone_lists_every_code(phobos: Phobos) -> None:
    words = {line.split()[0] for line in phobos("explain").out.splitlines() if line.startswith("  ")}
    assert words == set(CODES)


def test_doctor_names_each_part(phobos: Phobos) -> None:
    ran = phobos("doctor")
    assert ran.status == 0
    for part in ("Phobos", "Python", "LLVM", "numpy", "tree-sitter", "ptxas", "nvdisasm", "NVIDIA driver"):
        assert any(line.startswith(part) for line in ran.out.splitlines()), part


def test_doctor_says_what_to_install(phobos: Phobos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOBOS_PTXAS", "/absent/ptxas")
    ran = phobos("doctor")
    assert ran.status == 0
    assert "PHOBOS_PTXAS=/absent/ptxas is no ptxas" in ran.out
    assert "pip install nvidia-cuda-nvcc" in ran.out
