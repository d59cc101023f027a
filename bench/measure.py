"""Timing shared by the benchmarks: medians of wall and processor time, and rows of ours, target, ratio and peers.

Processor time is what a busy machine does not distort; wall time is what a user waits. A target is compared with the
processor time where one thread does all the work, and with the wall time where several processes share it.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
_NAME_WIDTH = 34


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds."""

    wall: float
    cpu: float


def measure(action: Callable[[], object], *, rounds: int = 9, warm_up: int = 2) -> Times:
    """The medians over some rounds of an action in this process."""
    for _ in range(warm_up):
        action()
    return _medians([_timed(action) for _ in range(rounds)])


def measure_command(
    command: Sequence[str | Path], *, rounds: int = 5, warm_up: int = 1, cwd: Path | None = None
) -> Times:
    """The medians over some cold processes, the time of their own children included. Raises where one fails."""

    def action() -> None:
        done = subprocess.run([*map(str, command)], cwd=cwd, env=environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

    for _ in range(warm_up):
        action()
    return _medians([_timed(action) for _ in range(rounds)])


def environment() -> Mapping[str, str]:
    """Where a command run elsewhere finds this checkout, installed or not.

    Byte code is kept, as an installation does: without it every process compiles the compiler.
    """
    paths = [str(ROOT), str(ROOT / "tree-sitter-phobos" / "bindings" / "python")]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}


def _timed(action: Callable[[], object]) -> Times:
    wall, cpu = time.perf_counter(), _cpu_seconds()
    action()
    return Times((time.perf_counter() - wall) * 1000, (_cpu_seconds() - cpu) * 1000)


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _medians(times: Sequence[Times]) -> Times:
    return Times(median(t.wall for t in times), median(t.cpu for t in times))


def heading(title: str) -> None:
    """With what the figures depend on: a load above the number of cores makes wall times longer than they are."""
    load = os.getloadavg()[0]
    print(f"{title} ({os.cpu_count()} cores, load {load:.1f}, {platform.system()}, Python {platform.python_version()})")


def row(name: str, times: Times, target_ms: float | None = None, *, by: str = "cpu") -> bool:
    """One line; whether the target is met. `by` names the time that is compared with it."""
    line = f"  {name:{_NAME_WIDTH}} {times.cpu:8.1f} ms cpu {times.wall:8.1f} ms wall"
    if target_ms is None:
        print(line)
        return True
    ours = times.cpu if by == "cpu" else times.wall
    met = ours <= target_ms
    print(f"{line}   target {target_ms:.0f} ms ({by}), ratio {ours / target_ms:.2f}{'' if met else ', missed'}")
    return met


def note(text: str) -> None:
    print(f"  {text}")
