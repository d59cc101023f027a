"""Source to PTX in process, nothing remembered, once warm: every example's first configuration, split by stage.

The peer is ptxas on the same PTX, a process that every build with resources waits for.
Run: python -m bench.compile_time [FILE.ph ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import EXAMPLES, heading, measure, row
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


def main() -> int:
    heading("source to PTX")
    paths = [Path(name) for name in sys.argv[1:]] or sorted(EXAMPLES.glob("*.ph"))
    met = [bench(path) for path in paths]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
