"""What the machine code of comparable kernels is made of, ours beside that of other compilers: no GPU, no timing.

The PTX of each goes through the same ptxas (cuTile has an assembler of its own), and the cubin through the same reading
of the machine code. What is told is of the largest loop: instructions, the share of multiply-adds and of all math among
them, what else there is for 512 multiply-adds, its shared loads; and of the kernel: the widths of shared loads,
registers, spilled bytes and local accesses. Triton and cuTile are asked where `PHOBOS_PEERS_PYTHON` names the Python of
an environment with them.
Run: python -m bench.quality [sm_NN ...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import EXAMPLES
from phobos_core.language.targets import TARGETS
from phobos_core.report.sass.analyze import analyze
from phobos_core.report.sass.listing import parse
from phobos_core.report.sass.model import Code, LoopCode
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.compiler import Request, translate
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.options import Options
from phobos_core.toolchain import find, ptxas, sass

PEERS = Path(__file__).with_name("peers")
PEERS_PYTHON = "PHOBOS_PEERS_PYTHON"
DEFAULT_TARGETS = ("sm_80", "sm_120")
_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d+)")
# What every kernel here computes by.
PRODUCT = "FFMA"


@dataclass(frozen=True, slots=True)
class Case:
    """`ours` are the configurations to try, the first that fits the target is told; `peer` names the others' kernel.

    `shape` is what the peers compute in one block, where there is a peer; where there is a limit, `least_share` is the
    part of multiply-adds that the largest loop of ours is to have, and `most_registers` what it may take, in that
    shape.
    """

    name: str
    source: Path
    ours: tuple[Mapping[str, int], ...]
    peer: str | None
    shape: str
    least_share: float | None = None
    most_registers: int | None = None


SGEMM, WHOLE = EXAMPLES / "sgemm.ph", EXAMPLES / "sgemm_aligned.ph"
CASES = (
    Case(
        "SGEMM, whole tiles",
        WHOLE,
        tuple({"TILE_M": m, "TILE_N": n, "TILE_K": 8} for m, n in ((128, 128), (128, 64), (64, 64), (32, 32))),
        "sgemm",
        "128 x 128 x 8",
        least_share=0.90,
        most_registers=128,
    ),
    Case(
        "flash attention f32",
        EXAMPLES / "flash_attention.ph",
        ({"BR": 64, "BC": 32, "D": 64}, {"BR": 32, "BC": 32, "D": 64}),
        "flash_attention",
        "64 x 32 x 64",
    ),
    # What may be a tenth worse than whole tiles: any extents, and small tiles.
    Case("SGEMM, any extents", SGEMM, ({"TILE_M": 128, "TILE_N": 128, "TILE_K": 8},), None, "128 x 128 x 8", 0.81, 128),
    Case("SGEMM, whole tiles", WHOLE, ({"TILE_M": 64, "TILE_N": 64, "TILE_K": 16},), None, "64 x 64 x 16", 0.81, 128),
    Case("SGEMM, any extents", SGEMM, ({"TILE_M": 64, "TILE_N": 64, "TILE_K": 16},), None, "64 x 64 x 16", 0.81, 128),
    Case("SGEMM, whole tiles", WHOLE, ({"TILE_M": 64, "TILE_N": 64, "TILE_K": 8},), None, "64 x 64 x 8", 0.81, 128),
    Case("SGEMM, any extents", SGEMM, ({"TILE_M": 64, "TILE_N": 64, "TILE_K": 8},), None, "64 x 64 x 8", 0.81, 128),
)


class Missing(Exception):
    """A compiler that is not there, or that cannot make this kernel; the text says what would change that."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel as PTX, or as a cubin where its compiler gives no PTX; its shape, and the name of its entry."""

    shape: str
    code: str | bytes
    entry: str


def phobos(case: Case, target: str) -> Emitted:
    source = Source(case.source.name, case.source.read_bytes())
    refused = ""
    for config in case.ours:
        # As `-D` gives them: a comparison may want a shape that is not among the choices.
        options = Options(target, dict(config))
        (placed,) = frontend.check(source, options).kernels
        made = translate(Request(source, placed, target, next(configurations(placed.kernel, options)), 64))
        if made.ptx is not None:
            shape = " x ".join(str(value) for value in config.values())
            return Emitted(shape, made.ptx, placed.kernel.name)
        refused = made.diagnostics[0].message.partition(";")[0]
    raise Missing(f"no configuration fits: {refused}")


def nvcc(case: Case, target: str) -> Emitted:
    tools = find.candidates("nvcc")
    if not tools:
        raise Missing("no nvcc found; `pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-runtime` brings one")
    with tempfile.TemporaryDirectory(prefix="phobos-") as folder:
        output = Path(folder, "kernel.ptx")
        assert case.peer is not None
        _run([tools[0], f"-arch={target}", "-ptx", PEERS / f"{case.peer}.cu", "-o", output])
        return Emitted(case.shape, output.read_text(), case.peer)


def triton(case: Case, target: str) -> Emitted:
    return _elsewhere("triton_kernels.py", "triton", case, target)


def cutile(case: Case, target: str) -> Emitted:
    return _elsewhere("cutile_kernels.py", "'cuda-tile[tileiras]'", case, target)


def _elsewhere(script: str, package: str, case: Case, target: str) -> Emitted:
    """By a script that the Python of the peers' environment runs: it leaves one file, and says the entry."""
    python = os.environ.get(PEERS_PYTHON)
    if python is None:
        raise Missing(
            f"not asked: `python -m venv peers`, `peers/bin/pip install {package}`, "
            f"and run again with {PEERS_PYTHON}=peers/bin/python"
        )
    assert case.peer is not None
    with tempfile.TemporaryDirectory(prefix="phobos-") as folder:
        entry = _run([python, PEERS / script, case.peer, target, folder]).split()[-1]
        (made,) = Path(folder).iterdir()
        return Emitted(case.shape, made.read_text() if made.suffix == ".ptx" else made.read_bytes(), entry)


COMPILERS: Mapping[str, Callable[[Case, str], Emitted]] = {
    "phobos": phobos,
    "nvcc": nvcc,
    "Triton": triton,
    "cuTile": cutile,
}


def _run(command: Sequence[str | Path]) -> str:
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise Missing((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])
    return done.stdout


@dataclass(frozen=True, slots=True)
class Quality:
    """One row of the table. Of code that another assembler made, the registers may be unknown, spilled bytes are."""

    registers: int | None
    spilled: int | None
    code: Code

    @property
    def loop(self) -> LoopCode | None:
        return self.code.largest_loop

    @property
    def share(self) -> float:
        return _share(self.loop) if self.loop else 0.0

    @property
    def inner(self) -> list[float]:
        """The shares of the loops inside the largest, which run more often than their size says."""
        name = f"{self.loop.name}." if self.loop else ""
        return [_share(loop) for loop in self.code.loops if name and loop.name.startswith(name) and _share(loop)]

    def cells(self) -> Iterator[str]:
        yield str(self.loop.instructions) if self.loop else "-"
        yield f"{self.share:.1%}"
        yield ", ".join(f"{share:.1%}" for share in self.inner) or "-"
        yield f"{self.loop.math_share:.1%}" if self.loop else "-"
        yield str(round(512 * (1 / self.share - 1))) if self.share else "-"
        yield str(self.loop.mix.get("LDS", 0)) if self.loop else "-"
        yield ", ".join(f"{count} x {bits}" for bits, count in _widths(self.code).items()) or "-"
        yield "-" if self.registers is None else str(self.registers)
        yield "-" if self.spilled is None else str(self.spilled)
        yield str(sum(access.count for access in self.code.local_accesses))


HEAD = (
    *("", "block", "loop", PRODUCT, "in inner loops", "math", "others / 512", "LDS in loop", "shared loads (bits)"),
    *("registers", "spilled B", "local"),
)


def _share(loop: LoopCode) -> float:
    return loop.mix.get(PRODUCT, 0) / loop.instructions


def _widths(code: Code) -> dict[int, int]:
    """Shared loads of the whole kernel by their width, the widest first."""
    found: dict[int, int] = {}
    for access in code.accesses:
        if access.operation == "LDS":
            found[access.bits] = found.get(access.bits, 0) + access.count
    return dict(sorted(found.items(), reverse=True))


def judge(emitted: Emitted, target: str, assembler: ptxas.Ptxas, disassembler: Path) -> Quality:
    if isinstance(emitted.code, bytes):
        text = sass.disassemble(disassembler, emitted.code)
        registers = _REGISTERS.search(text)
        return Quality(int(registers[1]) if registers else None, None, analyze(parse(emitted.entry, text)))
    # A compiler may ask for a target's own features, as `sm_120a`.
    named = _TARGET.search(emitted.code)
    assembly = ptxas.assemble(assembler, emitted.code, named[1] if named else target)
    if assembly.cubin is None or emitted.entry not in assembly.entries:
        said = "; ".join(message.text for message in assembly.messages) or "no such entry"
        raise Missing(f"ptxas {assembler.version}: {said}")
    used = assembly.entries[emitted.entry]
    code = analyze(parse(emitted.entry, sass.disassemble(disassembler, assembly.cubin)))
    spilled = used.spill_store_bytes + used.spill_load_bytes
    return Quality(used.registers, spilled, code)


def compare(case: Case, target: str, disassembler: Path) -> bool:
    """Prints the rows of one kernel; whether ours keeps its limits."""
    assembler = ptxas.for_target(target)
    if assembler is None:
        raise SystemExit(ptxas.why_none(target))
    rows: list[tuple[str, ...]] = [HEAD]
    notes: list[str] = []
    met = True
    for name, compile_with in COMPILERS.items():
        if case.peer is None and name != "phobos":
            continue
        try:
            emitted = compile_with(case, target)
            found = judge(emitted, target, assembler, disassembler)
        except (Missing, sass.DisassemblyError) as missing:
            notes.append(f"{name}: {missing}")
            met = met and name != "phobos"
            continue
        rows.append((name, emitted.shape, *found.cells()))
        if name == "phobos" and (missed := list(_missed(case, emitted, found))):
            met = False
            notes.append(f"phobos: missed: {', '.join(missed)}")
    print(f"{case.name}, {target}, ptxas {assembler.version}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        print(f"  {'  '.join(cells)}".rstrip())
    for note in notes:
        print(f"  {note}")
    print()
    return met


def _missed(case: Case, emitted: Emitted, found: Quality) -> Iterator[str]:
    """What ours does not keep."""
    if found.spilled or found.code.local_accesses:
        yield "no spills"
    limited = case.least_share is not None or case.most_registers is not None
    if limited and emitted.shape != case.shape:
        yield f"a block of {case.shape}"
    if case.least_share is not None and found.share < case.least_share:
        yield f"at least {case.least_share:.0%} {PRODUCT} in the loop"
    if case.most_registers is not None and (found.registers or 0) > case.most_registers:
        yield f"at most {case.most_registers} registers"


def main(targets: Sequence[str]) -> int:
    for target in targets:
        if target not in TARGETS:
            raise SystemExit(f"`{target}` is no target; there are {', '.join(TARGETS)}")
    disassembler = sass.nvdisasm()
    if disassembler is None:
        raise SystemExit(f"no nvdisasm found; `pip install {sass.PACKAGE}` brings it")
    results = [compare(case, target, disassembler) for case in CASES for target in targets or DEFAULT_TARGETS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
