"""The architecture page lists the packages and the passes that there are, in their order."""

import re
from pathlib import Path

from phobos_core.passes import PASSES
from tests.project.test_layers import ORDER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def first_column(heading: str) -> list[str]:
    """The code words in the first column of the first table after a heading."""
    after = PAGE.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert table
    return re.findall(r"^\| `([\w/-]+)` \|", table[0], re.MULTILINE)


def test_packages() -> None:
    listed = first_column("# Architecture")
    assert [name.removeprefix("phobos_core/") for name in listed if name.startswith("phobos_core/")] == ORDER


def test_passes() -> None:
    assert first_column("### Passes, in order") == [step.__name__ for step in PASSES]


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
