"""Time and memory of checking a 1,000-line file: with nothing remembered, and as an editor does at a keystroke.

The file is the example kernels, renamed and repeated. Run: python -m bench.check_speed
"""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

from bench.measure import EXAMPLES, environment, heading, measure, measure_command, note, row
from phobos_core.analysis import AnalysisCache, check
from phobos_core.syntax import Edit, Parser, parse

LINES = 1000
ROUNDS = 20
TARGET_MS = 60
NAME = re.compile(r"^kernel (\w+)", re.MULTILINE)
FORBIDDEN = ("numpy", "llvmlite")


def long_file() -> str:
    """The examples, each copy of a kernel under a name of its own, cut at the first whole kernel past 1,000 lines."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.ph"))]
    text, copy = "", 0
    while True:
        for source in sources:
            text += NAME.sub(rf"kernel \1_{copy}", source) + "\n"
            if text.count("\n") >= LINES:
                return text
        copy += 1


class Editor:
    """A file being typed in: each keystroke puts one more space into a kernel in its middle."""

    def __init__(self, text: str) -> None:
        self._parser, self._cache = Parser(), AnalysisCache()
        self._file = self._parser.parse(text)
        self._place = self._file.text.index(b"{\n", len(self._file.text) // 2) + 1
        check(self._file, cache=self._cache)

    def keystroke(self) -> None:
        self._file = self._parser.edit(self._file, [Edit(self._place, self._place, b" ")])
        check(self._file, cache=self._cache)


def peak_kilobytes(action: Callable[[], object]) -> float:
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024


def loaded_packages() -> list[str]:
    """What a process that imports the checker must not have loaded, and has."""
    program = "import phobos_core.analysis, phobos_core.syntax, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.split() if name in FORBIDDEN]


def main() -> int:
    text = long_file()
    source = parse(text)
    result = check(source)
    errors = [d for d in result.diagnostics if d.severity == "error"]
    loaded = loaded_packages()
    heading("check of a long file")
    note(f"{text.count(chr(10))} lines, {len(result.kernels)} kernels, {len(errors)} errors")
    met = row("parse + check", measure(lambda: check(parse(text)), rounds=ROUNDS), TARGET_MS)
    row("  parse", measure(lambda: parse(text), rounds=ROUNDS))
    row("  check", measure(lambda: check(source), rounds=ROUNDS))
    row("a keystroke in one kernel", measure(Editor(text).keystroke, rounds=ROUNDS))
    row("import of the checker, cold", measure_command([sys.executable, "-c", "import phobos_core.analysis"]))
    note(f"peak memory {peak_kilobytes(lambda: check(parse(text))):.0f} KB of Python objects")
    note(f"loads {', '.join(loaded) or 'neither NumPy nor llvmlite'}")
    return 0 if met and not errors and not loaded else 1


if __name__ == "__main__":
    raise SystemExit(main())
