"""Source to PTX in process, nothing remembered, once warm: every example's first configuration, split by stage; and
source to cubin beside Triton.

The peer of the first is ptxas on the same PTX, a process that every build with resources waits for. The second are the
kernels of `bench.quality` in the shapes that it compares, each with the ptxas that its compiler comes with, where
`PHOBOS_PEERS_PYTHON` names the Python of an environment with Triton. Ours is measured before and after Triton, so that
a machine that becomes busy between them does not pass for a difference.
Run: python -m bench.compile_time [FILE.ph ... | --cubin]
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import EXAMPLES, Times, environment, heading, measure, note, row
from bench.quality import CASES, PEERS, PEERS_PYTHON, Case
from phobos_core import codegen, lower, passes
from phobos_core.codegen import banks, llvm
from phobos_core.ir.module import Kernel
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.frontend import Placed
from phobos_core.runtime.options import Options
from phobos_core.toolchain import ptxas

TARGET_MS = 80
# Of Triton's time from source to cubin.
TARGET_RATIO = 0.5
CUBIN = "--cubin"


@dataclass(frozen=True, slots=True)
class Work:
    """One kernel of a file, compiled as `phobos build` does, a stage at a time."""

    source: Source
    options: Options

    def check(self) -> Placed:
        (placed,) = frontend.check(self.source, self.options).kernels
        return placed

    def lower(self, placed: Placed) -> Kernel:
        return lower.lower(
            placed.kernel,
            lower.LineTable(self.source.text, placed.offset, placed.functions),
            target=self.options.target,
            config=next(configurations(placed.kernel, self.options)),
            dims=placed.bound,
            index_bits=self.options.index_bits,
        )

    def llvm_text(self, kernel: Kernel) -> str:
        banks.best_shift.cache_clear()
        return codegen.emit_llvm(kernel)

    def ptx(self, text: str) -> str:
        return llvm.to_ptx(text, self.options.target)

    def whole(self) -> str:
        return self.ptx(self.llvm_text(passes.run(self.lower(self.check()))))


def bench(path: Path) -> bool:
    work = Work(Source(path.name, path.read_bytes()), Options())
    placed = work.check()
    lowered = work.lower(placed)
    kernel = passes.run(lowered)
    text = work.llvm_text(kernel)
    ptx = work.ptx(text)
    met = row(path.stem, measure(work.whole), TARGET_MS)
    stages: dict[str, Callable[[], object]] = {
        "check": work.check,
        "lower": lambda: work.lower(placed),
        "passes": lambda: passes.run(lowered),
        "LLVM text": lambda: work.llvm_text(kernel),
        "LLVM": lambda: work.ptx(text),
    }
    for name, stage in stages.items():
        row(f"  {name}", measure(stage, rounds=5, warm_up=1))
    target = work.options.target
    if (tool := ptxas.for_target(target)) is not None:
        row("  peer: ptxas of this PTX", measure(lambda: ptxas.assemble(tool, ptx, target), rounds=3, warm_up=1))
    return met


def triton(case: Case, target: str) -> Times | None:
    """None, with a note, where there is no Triton."""
    python = os.environ.get(PEERS_PYTHON)
    if python is None:
        note(f"Triton not asked: {PEERS_PYTHON} names no Python that has it")
        return None
    assert case.peer is not None
    command = [python, str(PEERS / "triton_kernels.py"), case.peer, target, "--time"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        note(f"Triton: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
        return None
    cpu, wall = map(float, done.stdout.split()[-2:])
    return Times(wall, cpu)


def beside_triton(case: Case) -> bool:
    """Ours in the peers' shape; whether it takes no more than its part of their time."""
    config = case.ours[0]
    options = Options(bindings=dict(config))
    work = Work(Source(case.source.name, case.source.read_bytes()), options)
    tool = ptxas.for_target(options.target)
    if tool is None:
        raise SystemExit(ptxas.why_none(options.target))

    def build() -> None:
        assembled = ptxas.assemble(tool, work.whole(), options.target)
        if assembled.cubin is None:
            raise SystemExit("; ".join(message.text for message in assembled.messages))

    shape = " x ".join(map(str, config.values()))
    first = measure(build, rounds=5)
    peer = triton(case, options.target)
    if peer is None:
        return row(f"{case.name}, {shape}", first)
    second = measure(build, rounds=5)
    ours = Times((first.wall + second.wall) / 2, (first.cpu + second.cpu) / 2)
    row(f"{case.name}, {shape}", ours)
    row("  the same in Triton", peer)
    ratio = ours.cpu / peer.cpu
    met = ratio <= TARGET_RATIO
    note(f"  ratio {ratio:.2f} ({ours.wall / peer.wall:.2f} wall), target {TARGET_RATIO}{'' if met else ', missed'}")
    return met


def main() -> int:
    names = sys.argv[1:]
    met = []
    if names != [CUBIN]:
        heading("source to PTX")
        met += [bench(path) for path in [Path(name) for name in names] or sorted(EXAMPLES.glob("*.ph"))]
    if names in ([], [CUBIN]):
        heading("source to cubin, sm_80")
        met += [beside_triton(case) for case in CASES if case.peer is not None]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
