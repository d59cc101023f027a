"""What ptxas says of every example, in every configuration that fits and for every target: spills, and shared memory
beside what the general path takes, which keeps every tile there. No GPU, no timing.

Run: python -m bench.resources [sm_NN ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

from bench.measure import EXAMPLES
from phobos_core.language.targets import TARGETS
from phobos_core.passes import GENERAL_PATH
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.compiler import Request, translate
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.options import Options
from phobos_core.toolchain import ptxas


@dataclass(frozen=True, slots=True)
class Found:
    """One example in one configuration for one target. `general` is None where the general path does not fit, `spilled`
    where no ptxas knows the target, `shared` where no path fits."""

    name: str
    target: str
    registers: int | None
    spilled: int | None
    shared: int | None
    general: int | None

    @property
    def more_shared(self) -> bool:
        return self.shared is not None and self.general is not None and self.shared > self.general

    def __str__(self) -> str:
        general = "too much" if self.general is None else f"{self.general:,} B"
        spilled = "not known" if self.spilled is None else f"{self.spilled:,} B"
        return f"{self.name}, {self.target}: {spilled} spilled, {self.shared:,} B shared, general path {general}"


def requests(path: Path, target: str) -> Iterator[Request]:
    """Of every configuration of an example."""
    source, options = Source(path.name, path.read_bytes()), Options(target, config="all")
    for placed in frontend.check(source, options).kernels:
        for config in configurations(placed.kernel, options):
            yield Request(source, placed, target, config, options.index_bits)


def found(request: Request) -> Found:
    """What one configuration takes."""
    choices = ", ".join(f"{name}={value}" for name, value in request.config.items())
    name = f"{request.placed.kernel.name}{f' {choices}' if choices else ''}"
    translated = translate(request)
    general = translate(replace(request, steps=GENERAL_PATH))
    general_bytes = general.kernel.shared_bytes if general.kernel and general.ptx is not None else None
    if translated.kernel is None or translated.ptx is None:
        if [d.code for d in translated.diagnostics] != ["over-shared-limit"]:
            raise SystemExit(f"{name}, {request.target}: {translated.diagnostics[0].message}")
        return Found(name, request.target, None, None, None, general_bytes)
    shared, tool = translated.kernel.shared_bytes, ptxas.for_target(request.target)
    if tool is None:
        return Found(name, request.target, None, None, shared, general_bytes)
    assembly = ptxas.assemble(tool, translated.ptx, request.target)
    if assembly.cubin is None:
        raise SystemExit(f"{name}, {request.target}: {'; '.join(message.text for message in assembly.messages)}")
    used = assembly.entries[request.placed.kernel.name]
    spilled = used.spill_store_bytes + used.spill_load_bytes
    return Found(name, request.target, used.registers, spilled, shared, general_bytes)


def of_example(path: Path, targets: Sequence[str]) -> list[Found]:
    return [found(request) for target in targets for request in requests(path, target)]


def main(targets: Sequence[str]) -> int:
    for target in targets:
        if target not in TARGETS:
            raise SystemExit(f"`{target}` is no target; there are {', '.join(TARGETS)}")
    paths = sorted(EXAMPLES.glob("*.ph"))
    with ProcessPoolExecutor() as workers:
        every = [one for some in workers.map(of_example, paths, repeat(tuple(targets or TARGETS))) for one in some]
    fitting = [one for one in every if one.shared is not None]
    faults = [one for one in fitting if one.spilled or one.more_shared]
    for one in faults:
        print(f"  {one}")
    unknown = sorted({one.target for one in fitting if one.spilled is None})
    compared = sum(one.general is not None for one in fitting)
    print(f"  {len(every)} builds of {len(paths)} examples, {len(fitting)} of them fit")
    print(f"  {sum(bool(one.spilled) for one in fitting)} spill")
    print(f"  {sum(one.more_shared for one in fitting)} of {compared} take more shared memory than the general path")
    for target in unknown:
        print(f"  {ptxas.why_none(target)}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
