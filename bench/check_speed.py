"""Time and memory of checking a 1,000-line file, as an editor does at a keystroke with nothing remembered.

The file is the example kernels, renamed and repeated. Run: python bench/check_speed.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from phobos_core.analysis import AnalysisCache, check
from phobos_core.syntax import Parser, parse

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
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


def milliseconds(action: Callable[[], object]) -> tuple[float, float]:
    """The best and the median of some rounds, after one to warm up, in time of the processor: nothing here waits."""
    action()
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        action()
        times.append((time.process_time() - start) * 1000)
    return min(times), sorted(times)[ROUNDS // 2]


def peak_kilobytes(action: Callable[[], object]) -> float:
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024


def import_milliseconds() -> tuple[float, list[str]]:
    """A fresh process that imports the checker: its time, and what it must not have loaded."""
    program = (
        "import time; start = time.perf_counter(); import phobos_core.analysis, phobos_core.syntax, sys;"
        " print((time.perf_counter() - start) * 1000, *sys.modules)"
    )
    best, loaded = float("inf"), []
    for _ in range(5):
        words = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
        best = min(best, float(words[0]))
        loaded = [name for name in words[1:] if name in FORBIDDEN]
    return best, loaded


def main() -> int:
    text = long_file()
    source = parse(text)
    result = check(source)
    errors = [d for d in result.diagnostics if d.severity == "error"]
    print(f"{text.count(chr(10))} lines, {len(result.kernels)} kernels, {len(errors)} errors")
    whole = milliseconds(lambda: check(parse(text)))
    for name, times in (
        ("parse", milliseconds(lambda: parse(text))),
        ("check", milliseconds(lambda: check(source))),
        ("parse + check", whole),
    ):
        print(f"{name:24} {times[0]:6.1f} ms best, {times[1]:6.1f} ms median")
    parser, cache = Parser(), AnalysisCache()

    def again() -> object:
        return check(parser.parse(text), cache=cache)

    times = milliseconds(again)
    print(f"{'again, nothing changed':24} {times[0]:6.1f} ms best, {times[1]:6.1f} ms median")
    print(f"{'peak memory':24} {peak_kilobytes(lambda: check(parse(text))):6.0f} KB of Python objects")
    imported, loaded = import_milliseconds()
    print(f"{'import':24} {imported:6.1f} ms" + (f", and loads {', '.join(loaded)}" if loaded else ""))
    print(f"target: at most {TARGET_MS} ms for parse + check")
    return 1 if errors or loaded or whole[0] > TARGET_MS else 0


if __name__ == "__main__":
    raise SystemExit(main())
