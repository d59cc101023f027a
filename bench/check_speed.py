"""Time and memory of checking a 1,000-line file: with nothing remembered, and as an editor does at a keystroke; and the
time of formatting it.

One file is the example kernels, renamed and repeated, another one per-thread code, where finding what differs between
threads is timed by itself. Run: python -m bench.check_speed
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.measure import EXAMPLES, environment, heading, measure, measure_command, note, row
from phobos_core.analysis import AnalysisCache, CheckedFile, check
from phobos_core.analysis.uniformity import infer
from phobos_core.syntax import Edit, Parser, SourceFile, parse
from phobos_core.syntax.ast import Function, Kernel
from phobos_core.syntax.formatter import format_file

LINES = 1000
ROUNDS = 20
TARGET_MS = 60
UNIFORMITY_MS = 20
FORMAT_MS = 50
PER_THREAD = Path(__file__).with_name("per_thread.ph")
FORBIDDEN = ("numpy", "llvmlite")


def long_file(sources: Sequence[str], lines: int = LINES) -> str:
    """The sources, each copy of a kernel under a name of its own, cut at the first whole source past so many lines;
    each function once."""
    files = [parse(source) for source in sources]
    text, copy, functions = "", 0, set[str]()
    while True:
        for file in files:
            text += "".join(_items(file, copy, functions)) + "\n"
            if text.count("\n") >= lines:
                return text
        copy += 1


def _items(file: SourceFile, copy: int, functions: set[str]) -> Iterator[str]:
    """The text of each item, with what stands above it. `functions` are those that stand already."""
    end = 0
    for placed in file.items:
        start, end = end, placed.offset + placed.item.span.end
        match placed.item:
            case Kernel(name=name):
                place = placed.offset + name.span.end
                yield f"{file.text[start:place].decode()}_{copy}{file.text[place:end].decode()}"
            case Function(name=name) if name.text not in functions:
                functions.add(name.text)
                yield file.text[start:end].decode()


def examples() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.ph"))]


def uniformity(result: CheckedFile) -> Callable[[], object]:
    """What differs between threads, in every kernel of a file, again."""
    text = result.source.text
    items = {
        placed.item.name.text: text[placed.offset : placed.offset + placed.item.span.end]
        for placed in result.source.items
    }
    kernels = [
        (placed.kernel.body, {**items, "": items[placed.kernel.name]}) for placed in result.kernels if placed.kernel
    ]
    return lambda: [infer(body, texts) for body, texts in kernels]


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


def timed(title: str, text: str) -> tuple[bool, CheckedFile]:
    """Whether a file is checked in time and has no errors."""
    source = parse(text)
    result = check(source)
    errors = [d for d in result.diagnostics if d.severity == "error"]
    heading(title)
    note(f"{text.count(chr(10))} lines, {len(result.kernels)} kernels, {len(errors)} errors")
    met = row("parse + check", measure(lambda: check(parse(text)), rounds=ROUNDS), TARGET_MS)
    row("  parse", measure(lambda: parse(text), rounds=ROUNDS))
    row("  check", measure(lambda: check(source), rounds=ROUNDS))
    met &= row("format", measure(lambda: format_file(source), rounds=ROUNDS), FORMAT_MS)
    row("a keystroke in one kernel", measure(Editor(text).keystroke, rounds=ROUNDS))
    note(f"peak memory {peak_kilobytes(lambda: check(parse(text))):.0f} KB of Python objects")
    return met and not errors, result


def main() -> int:
    tiles, _ = timed("check of a long file", long_file(examples()))
    threads, result = timed(
        "check of a long file of per-thread code", long_file([PER_THREAD.read_text(encoding="utf-8")])
    )
    threads &= row("  of which uniformity", measure(uniformity(result), rounds=ROUNDS), UNIFORMITY_MS)
    loaded = loaded_packages()
    heading("the checker")
    row("import, cold", measure_command([sys.executable, "-c", "import phobos_core.analysis"]))
    note(f"loads {', '.join(loaded) or 'neither NumPy nor llvmlite'}")
    return 0 if tiles and threads and not loaded else 1


if __name__ == "__main__":
    raise SystemExit(main())
