"""The pages that codes link to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phobos_core.language.codes import CODES
from phobos_ls.explanations import link, page


@pytest.fixture(autouse=True)
def forget() -> None:
    link.cache_clear()


def folder_is(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """For every system."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(path))


def test_every_code_has_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder_is(monkeypatch, tmp_path)
    for name, code in CODES.items():
        address = link(name)
        assert address is not None
        assert address.startswith((tmp_path / "").as_uri())
        (written,) = tmp_path.rglob(f"{name}.md")
        assert written.as_uri() == address
        assert written.read_text(encoding="utf-8") == page(code)
        assert code.rule in page(code)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".md"}  # nothing half-written is left


def test_an_old_page_is_written_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder_is(monkeypatch, tmp_path)
    link("unknown-name")
    (written,) = tmp_path.rglob("unknown-name.md")
    written.write_bytes(b"\xff")
    link.cache_clear()
    link("unknown-name")
    assert written.read_text(encoding="utf-8") == page(CODES["unknown-name"])


def test_a_code_without_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder_is(monkeypatch, tmp_path)
    assert link("no-such-code") is None


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is a file is another error there")
def test_where_nothing_can_be_written_there_are_no_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    folder_is(monkeypatch, file)
    assert link("unknown-name") is None
