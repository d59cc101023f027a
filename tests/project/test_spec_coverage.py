"""`docs/spec-coverage.md` names every page of `tests/spec`, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "spec-coverage.md"
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
# The headings of the language's specification.
SECTIONS = """
Grammar
Lexical
Types
Statements
Statements, Functions
Subscripts
Operators and conversions
Bounds and masking
Tiles and shared memory
Per-thread values
Collectives and shuffles
Built-ins, Indexing and synchronization
Built-ins, Elementwise
Built-ins, Reductions and shape
Built-ins, Dense contraction
Built-ins, Attention
Quantized built-ins
Attributes
Examples
""".strip().splitlines()


def rows() -> dict[str, list[Path]]:
    """The paths that each row links to, by its section without what follows a colon."""
    found: dict[str, list[Path]] = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| Section"):
            section, pages = (cell.strip() for cell in line.strip("|").split("|"))
            links = [(PAGE.parent / target).resolve() for _, target in LINK.findall(pages)]
            found.setdefault(section.split(":")[0], []).extend(links)
    return found


def test_every_page_is_named_and_exists() -> None:
    linked = {path for paths in rows().values() for path in paths}
    assert [path for path in linked if not path.exists()] == []
    pages = {path for path in (ROOT / "tests" / "spec").glob("*.md") if path.name != "README.md"}
    assert pages <= linked


def test_every_section_has_a_page() -> None:
    assert list(rows()) == SECTIONS
    assert all(rows().values())


def test_a_link_says_the_name_of_its_page() -> None:
    for name, target in LINK.findall(PAGE.read_text()):
        assert Path(target).stem == name or (name, target) == ("tests", "../tests/examples")
