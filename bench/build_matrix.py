"""`phobos build` of four kernels for seven targets as one cold process, ptxas included, with one worker a core.

Run: python -m bench.build_matrix [FILE.ph ...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.measure import EXAMPLES, heading, measure_command, note, row
from phobos_core.toolchain import ptxas

TARGET_MS = 5000
KERNELS = ("sgemm", "flash_attention", "kda", "int8_gemm")
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def main() -> int:
    paths = [Path(name) for name in sys.argv[1:]] or [EXAMPLES / f"{name}.ph" for name in KERNELS]
    heading(f"{len(TARGETS)} targets x {len(paths)} kernels, first configuration")
    if any(ptxas.for_target(target) is None for target in TARGETS):
        note("no ptxas for some target: its builds go no further than the PTX")
    targets = [word for target in TARGETS for word in ("--target", target)]
    with tempfile.TemporaryDirectory() as folder:
        build: list[str | Path] = [sys.executable, "-m", "phobos_core", "build", *paths, *targets, "-o", folder]
        met = row("one worker a core", measure_command([*build, "--jobs", "0"], rounds=3), TARGET_MS, by="wall")
        row("one worker", measure_command([*build, "--jobs", "1"], rounds=3))
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
