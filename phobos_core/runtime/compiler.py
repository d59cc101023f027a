"""One kernel, one configuration, one target: checked program in, PTX and report out.

The unit of work that `--jobs` hands to processes: a `Request` and a `Compiled` can be pickled. What goes wrong with
the kernel is a diagnostic in the result, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from phobos_core import codegen, lower, passes
from phobos_core.analysis.program import CheckedKernel
from phobos_core.ir import module as ir
from phobos_core.ir.printer import print_kernel
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.collect import collect
from phobos_core.report.grid import suggested_grid
from phobos_core.report.model import KernelReport
from phobos_core.report.source import Source
from phobos_core.runtime.assembly import Assembled, assemble, disassemble
from phobos_core.runtime.places import at_line
from phobos_core.toolchain import ptxas

Artifact = Literal["ptx", "cubin", "sass", "llvm", "ir"]


@dataclass(frozen=True, slots=True)
class Request:
    """`offset` is where the kernel stands in the source. `assembler` None leaves the resources unknown."""

    source: Source
    kernel: CheckedKernel
    offset: int
    target: str
    config: Mapping[str, int]
    dims: Mapping[str, int]
    index_bits: int
    emit: tuple[Artifact, ...] = ("ptx",)
    assembler: ptxas.Ptxas | None = None
    time_limit: float = ptxas.TIME_LIMIT


@dataclass(frozen=True, slots=True)
class Compiled:
    """`artifacts` has what was asked for and could be made; `kernel` and `report` are None where nothing could."""

    request: Request
    kernel: ir.Kernel | None
    artifacts: Mapping[Artifact, bytes]
    report: KernelReport | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        return any(found.severity == "error" for found in self.diagnostics)


def compile_kernel(request: Request) -> Compiled:
    lines = lower.LineTable(request.source.text, request.offset)
    kernel: ir.Kernel | None = None
    try:
        kernel = lower.lower(
            request.kernel,
            lines,
            target=request.target,
            config=request.config,
            dims=request.dims,
            index_bits=request.index_bits,
        )
        kernel = passes.run(kernel)
        ptx = codegen.emit(kernel)
    except (lower.LowerError, passes.PassError, codegen.CodegenError) as error:
        found = at_line(request.source, error.line, error.code, error.message)
        report = None if kernel is None else _report(request, kernel, Assembled(notes=(error.message,)), failed=True)
        return Compiled(request, kernel, {}, report, (found,))
    assembled = assemble(request.source, kernel, ptx, request.assembler, request.time_limit)
    result = Compiled(request, kernel, _artifacts(request, kernel, ptx, assembled), None, assembled.diagnostics)
    return replace(result, report=_report(request, kernel, assembled, failed=result.failed))


def _report(request: Request, kernel: ir.Kernel, assembled: Assembled, *, failed: bool) -> KernelReport:
    return collect(
        kernel,
        request.source.name,
        assembled.resources,
        suggested_grid=suggested_grid(request.kernel, {**request.config, **request.dims}),
        status="error" if failed else "ok",
        notes=assembled.notes,
    )


def _artifacts(request: Request, kernel: ir.Kernel, ptx: str, assembled: Assembled) -> dict[Artifact, bytes]:
    """The PTX is kept also where ptxas refuses it: it is what one has to look at then."""
    made: dict[Artifact, bytes] = {}
    for kind in request.emit:
        match kind:
            case "ptx":
                made[kind] = ptx.encode()
            case "llvm":
                made[kind] = codegen.emit_llvm(kernel).encode()
            case "ir":
                made[kind] = print_kernel(kernel).encode()
            case "cubin" if assembled.cubin is not None:
                made[kind] = assembled.cubin
            case "sass" if assembled.cubin is not None:
                made[kind] = disassemble(assembled.cubin).encode()
    return made
