"""What the README and the tour tell a reader to do is done here, in the order of the page, in an empty folder.

A `console` block has commands after `$ ` and below each what it prints; a line `...` stands for any lines, `...` at the
end of a line for any rest of it. A number stands for any number: those of the report belong to one version of the
compiler and of ptxas. A `python` block is run; all of a page share their names. A `phobos` block is saved as the file
that the prose before it names, or checked where it names none.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import phobos_core as phobos
from phobos_core.toolchain import ptxas

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"as\s+`([\w.-]+\.ph)`")
NUMBER = re.compile(r"\d[\d,.]*(?<=\d)")


@dataclass(frozen=True)
class Step:
    kind: str
    text: str
    file: str | None = None  # where a source is to be saved


def steps(page: Path) -> list[Step]:
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in BLOCK.finditer(text):
        names = FILE.findall(text[end : match.start()])
        found.append(Step(match[1], match[2], names[-1] if names else None))
        end = match.end()
    return found


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with what it is said to print."""
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", block, flags=re.M)[1:]]


def pattern(expected: str) -> str:
    """A regular expression for an output as a page shows it, with numbers left open."""
    lines = []
    for line in expected.splitlines():
        if line == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            rest = line.endswith("...")
            shown = re.escape(NUMBER.sub("#", line.removesuffix("...")).rstrip())
            lines.append(re.sub(r"(?:\\ )+", r" +", shown) + (".*" if rest else "") + r"\n")
    return "".join(lines)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`phobos` means this checkout, whatever is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "phobos"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m phobos_core "$@"\n')
    command.chmod(0o755)
    paths = [str(ROOT), str(ROOT / "tree-sitter-phobos" / "bindings" / "python")]
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(paths),
        "NO_COLOR": "1",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="the pages' commands are of a Unix shell")
def test_the_tour(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ptxas.for_target("sm_80") is None:
        pytest.skip("needs ptxas")
    folder = tmp_path / "tour"
    folder.mkdir()
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    kinds = set()
    for step in steps(ROOT / "docs" / "tour.md"):
        kinds.add(step.kind)
        match step:
            case Step("phobos", text, str(file)):
                Path(file).write_text(text, encoding="utf-8")
            case Step("python", text):
                exec(compile(text, "tour.md", "exec"), names)
            case Step("console", text):
                for command, expected in commands(text):
                    ran = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
                    assert ran.stderr == "", command
                    printed = NUMBER.sub("#", "\n".join(map(str.rstrip, ran.stdout.rstrip("\n").split("\n")))) + "\n"
                    assert re.fullmatch(pattern(expected), printed if ran.stdout else ""), (
                        f"{command} prints\n{ran.stdout}"
                    )
            case _:
                pytest.fail(f"a block of the tour that this test does not run: {step}")
    assert kinds == {"phobos", "python", "console"}


def test_an_output_that_differs_is_seen() -> None:
    assert re.fullmatch(pattern("a  12 b\n...\nend ...\n"), "a # b\nx\ny\nend of it\n")
    assert not re.fullmatch(pattern("a  12 b\n"), "a # c\n")
    assert not re.fullmatch(pattern("a\n"), "a\nb\n")


def test_the_sources_of_the_readme() -> None:
    sources = [step.text for step in steps(ROOT / "README.md") if step.kind == "phobos"]
    assert sources
    for source in sources:
        assert phobos.check_text(source) == []


def test_the_commands_of_the_readme(environment: dict[str, str], tmp_path: Path) -> None:
    """Set-up and tests are CI's work; the build is run here."""
    (install, _), (test, _) = [
        c for step in steps(ROOT / "README.md") if step.kind == "console" for c in commands(step.text)
    ]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    parts = test.split(" && ")
    assert parts[:2] == install.split(" && ")[:2]
    for part in (*parts[1:2], parts[2].removeprefix("python -m pip install "), parts[3]):
        assert part in ci
    build = install.split(" && ")[-1]
    assert build.startswith("phobos build ")
    subprocess.run(f"{build} -o {tmp_path}", shell=True, env=environment, cwd=ROOT, check=True, capture_output=True)
    assert list(tmp_path.rglob("*.ptx"))


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target
