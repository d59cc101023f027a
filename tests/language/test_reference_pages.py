"""The reference pages say what the tables say."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "generate_reference.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "run: python docs/generate_reference.py"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in (DOCS / "reference").iterdir()} == set(PAGES)
