"""PTX through ptxas, and what it said turned into diagnostics in the source.

In: a request, its kernel and the PTX. Out: an `Assembled`: the resources, the machine code, and diagnostics for
refused or slow code and for spills.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from phobos_core.ir import module as ir
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.accesses.model import MemoryAccess
from phobos_core.report.sass.analyze import analyze
from phobos_core.report.sass.beside import beside
from phobos_core.report.sass.listing import parse
from phobos_core.report.sass.model import Code
from phobos_core.report.source import Source
from phobos_core.runtime.frontend import Placed
from phobos_core.runtime.places import at_line
from phobos_core.toolchain import ptxas, sass
from phobos_core.toolchain.messages import Resources

# Past this many instructions ptxas takes seconds; the code is nearly always unrolled too far.
MANY_INSTRUCTIONS = 20_000


@dataclass(frozen=True, slots=True)
class Assembled:
    resources: Resources | None = None
    cubin: bytes | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


def assemble(
    source: Source, placed: Placed, kernel: ir.Kernel, ptx: str, tool: ptxas.Ptxas | None, time_limit: float
) -> Assembled:
    """Without an assembler the resources stay unknown, and the reason is a note."""
    if tool is None:
        return Assembled(notes=(ptxas.why_none(kernel.target),))
    found = list(_large(source, placed, kernel, ptx))
    result = ptxas.assemble(tool, ptx, kernel.target, time_limit)
    if result.timed_out:
        found.append(_timeout(source, placed, kernel, ptx, time_limit))
    for message in result.messages:
        if message.severity == "error":
            text = f"ptxas {tool.version} refused the code of `{kernel.name}` for {kernel.target}: {message.text}"
            found.append(at_line(source, placed, message.source_line, "assembler-failed", text))
    resources = result.entries.get(kernel.name)
    if resources is not None:
        found += _spills(source, placed, kernel, resources)
    notes = tuple(f"ptxas: {message.text}" for message in result.messages if message.severity == "warning")
    return Assembled(resources, result.cubin, tuple(found), notes)


@dataclass(frozen=True, slots=True)
class Disassembled:
    """The machine code beside the source, and what it is made of."""

    text: str
    code: Code


def disassemble(source: Source, kernel: ir.Kernel, cubin: bytes, accesses: Sequence[MemoryAccess] = ()) -> Disassembled:
    """With what each line's `accesses` cost. Raises `sass.DisassemblyError`."""
    tool = sass.nvdisasm()
    if tool is None:
        raise sass.DisassemblyError(f"no nvdisasm found; `pip install {sass.PACKAGE}` brings it")
    listing = parse(kernel.name, sass.disassemble(tool, cubin), sass.live_registers(tool, cubin))
    code = analyze(listing)
    lines = source.text.decode("utf-8", "replace").splitlines()
    config = _bindings(kernel.config)
    title = f"{kernel.name}  {source.name}:{kernel.line}  {kernel.target}{f'  {config}' if config else ''}"
    return Disassembled(beside(listing, code, lines, title, accesses), code)


def _large(source: Source, placed: Placed, kernel: ir.Kernel, ptx: str) -> Iterator[Diagnostic]:
    count = instructions(ptx)
    if count > MANY_INSTRUCTIONS:
        message = f"`{kernel.name}` has {count:,} PTX instructions{_unrolled(kernel)}, which takes ptxas long"
        yield at_line(source, placed, None, "large-code", message, help="unroll less, or use smaller tiles")


def instructions(ptx: str) -> int:
    """Statements that are no directives: `ld.global.f32 %f1, [%rd1];`, also with a guard."""
    return sum(line.rstrip().endswith(";") and not line.lstrip().startswith(".") for line in ptx.splitlines())


def _timeout(source: Source, placed: Placed, kernel: ir.Kernel, ptx: str, seconds: float) -> Diagnostic:
    config = _bindings(kernel.config)
    message = (
        f"ptxas did not finish `{kernel.name}`{f' with {config}' if config else ''} in {seconds:g} s: "
        f"{instructions(ptx):,} PTX instructions{_unrolled(kernel)}"
    )
    return at_line(source, placed, None, "assembler-timeout", message, help="unroll less, or use smaller tiles")


def _spills(source: Source, placed: Placed, kernel: ir.Kernel, used: Resources) -> Iterator[Diagnostic]:
    if not (used.spill_store_bytes or used.spill_load_bytes):
        return
    cap = kernel.max_registers
    cause = f"the {cap} that @launch allows" if cap is not None else f"the {used.registers} it can have"
    message = (
        f"`{kernel.name}` needs more registers than {cause}: {used.spill_store_bytes} bytes are spilled to local "
        f"memory, {used.spill_load_bytes} loaded back"
    )
    help = "raise max_regs of @launch, or make the tiles smaller" if cap is not None else "make the tiles smaller"
    yield at_line(source, placed, None, "spills", message, help=help)


def _unrolled(kernel: ir.Kernel) -> str:
    """` (unrolled 64 times)` for the loop that is unrolled most."""
    factor = max(_unroll_factors(kernel.body), default=1)
    return f" (a loop is unrolled {factor} times)" if factor > 1 else ""


def _unroll_factors(block: ir.Block) -> Iterator[int]:
    for op in block.ops:
        if isinstance(factor := op.attrs.get("unrolled"), int):
            yield factor
        for region in op.regions:
            yield from _unroll_factors(region)


def _bindings(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
