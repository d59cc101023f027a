"""Data goes one way through the packages: each may import only those listed for it (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "phobos_core"

ORDER = [
    "language",
    "syntax",
    "analysis",
    "layouts",
    "ir",
    "lower",
    "passes",
    "codegen",
    "toolchain",
    "report",
    "reference",
    "emulator",
    "runtime",
    "cli",
]

# Independence that the order alone does not give: the executions must not share code with the compiler.
FORBIDDEN = {
    "layouts": {"language", "syntax", "analysis"},
    "reference": {"ir", "lower", "passes", "codegen", "toolchain", "report"},
    "emulator": {
        "syntax",
        "analysis",
        "ir",
        "lower",
        "passes",
        "codegen",
        "toolchain",
        "report",
        "reference",
    },
    "codegen": {"syntax", "analysis", "lower"},
    "passes": {"syntax", "analysis", "lower"},
    "toolchain": {"syntax", "analysis", "ir", "lower", "passes", "codegen"},
}


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "phobos_core" and len(parts) > 1 and (ROOT / parts[1]).is_dir():
                found.add(parts[1])
    return found


@pytest.mark.parametrize("package", ORDER)
def test_imports_go_one_way(package: str) -> None:
    allowed = set(ORDER[: ORDER.index(package) + 1]) - FORBIDDEN.get(package, set())
    for path in sorted((ROOT / package).rglob("*.py")):
        assert imported_packages(path) <= allowed, path.relative_to(ROOT)


def test_every_package_is_ordered() -> None:
    assert {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"} == set(ORDER)
