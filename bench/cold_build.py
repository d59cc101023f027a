"""`phobos build` of SGEMM as a cold process, ptxas included: what a user waits for, and where the imports take it.

The parts are the bare interpreter, ptxas alone on the same PTX, and the wall time of each group of modules as
`-X importtime` gives it, the least of some runs. The peer is nvcc, from CUDA C++ of the same kernel to a cubin.
Run: python -m bench.cold_build
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.measure import EXAMPLES, environment, heading, measure_command, note, row
from phobos_core.toolchain import find, ptxas

TARGET_MS = 600
SOURCE = EXAMPLES / "sgemm.ph"
PEER = Path(__file__).with_name("sgemm.cu")
PHOBOS = [sys.executable, "-m", "phobos_core"]
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def import_times(command: list[str], runs: int = 5) -> Counter[str]:
    """Milliseconds in the modules of each group: a package of the compiler, another package, or Python's own."""
    best: dict[str, float] = {}
    for _ in range(runs):
        traced = subprocess.run(
            [command[0], "-X", "importtime", *command[1:]], env=environment(), capture_output=True, text=True
        )
        for microseconds, module in IMPORT.findall(traced.stderr):
            best[module] = min(best.get(module, float("inf")), int(microseconds) / 1000)
    groups: Counter[str] = Counter()
    for module, milliseconds in best.items():
        groups[group_of(module)] += milliseconds  # type: ignore[assignment] # a Counter of floats adds as well
    return groups


def group_of(module: str) -> str:
    head, _, rest = module.partition(".")
    if head == "phobos_core":
        return f"phobos_core.{rest.partition('.')[0]}" if rest else head
    return head if head in ("numpy", "llvmlite", "ml_dtypes", "tree_sitter", "tree_sitter_phobos") else "Python's own"


def main() -> int:
    heading("a cold build of SGEMM")
    with tempfile.TemporaryDirectory() as folder:
        build = [*PHOBOS, "build", str(SOURCE), "-o", folder]
        met = row("phobos build", measure_command(build), TARGET_MS, by="wall")
        row("phobos check", measure_command([*PHOBOS, "check", str(SOURCE)]))
        row("the interpreter alone", measure_command([sys.executable, "-c", "pass"]))
        (ptx,) = Path(folder).rglob("*.ptx")
        cubin = f"{folder}/kernel.cubin"
        if (tool := ptxas.for_target("sm_80")) is not None:
            row("ptxas alone", measure_command([tool.path, "-arch=sm_80", *ptxas.FLAGS, ptx, "-o", cubin]))
        else:
            note("no ptxas: the build went no further than the PTX")
        if nvcc := find.candidates("nvcc"):
            row(
                "peer: nvcc of the same in CUDA", measure_command([nvcc[0], "-arch=sm_80", "-cubin", PEER, "-o", cubin])
            )
        for name, milliseconds in import_times(build).most_common():
            note(f"  importing {name:24} {milliseconds:8.1f} ms")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
