"""What is shown as Phobos, in files and on pages, is in the style that `phobos fmt` writes.

Tests are not held to it: many are about how a text is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from phobos_core.syntax.formatter import CannotFormat, formatted

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("examples", "docs", "bench", "editors")
BLOCK = re.compile(r"^```phobos\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def below(folder: Path, suffix: str) -> Iterator[Path]:
    """Without what packages bring."""
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules"]
        yield from (Path(path, name) for name in files if name.endswith(suffix))


def everywhere(suffix: str) -> list[Path]:
    return sorted(path for folder in FOLDERS for path in below(ROOT / folder, suffix))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def restyled(text: str) -> str:
    return formatted(text.encode()).decode()


@pytest.mark.parametrize("path", everywhere(".ph"), ids=named)
def test_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert restyled(text) == text


@pytest.mark.parametrize("page", [ROOT / "README.md", *everywhere(".md")], ids=named)
def test_pages(page: Path) -> None:
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        try:
            assert restyled(block) == block
        except CannotFormat:  # it is there to show what a syntax error is
            assert page.name == "diagnostics.md"


def test_the_examples_are_found() -> None:
    assert ROOT / "examples" / "sgemm.ph" in everywhere(".ph")
    assert ROOT / "docs" / "tour.md" in everywhere(".md")
    assert BLOCK.findall((ROOT / "docs" / "tour.md").read_text(encoding="utf-8"))
