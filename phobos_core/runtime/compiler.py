"""One kernel, one configuration, one target: checked program in, PTX and report out.

The unit of work that `--jobs` hands to processes: a `Request` and a `Compiled` can be pickled. What goes wrong with
the kernel is a diagnostic in the result, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from phobos_core import codegen, lower, passes
from phobos_core.analysis import walk as analysis_walk
from phobos_core.analysis.program import Atomic
from phobos_core.ir import module as ir
from phobos_core.ir.printer import print_kernel
from phobos_core.ir.rewrite import walk
from phobos_core.language.builtins import BUILTINS
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.accesses.collect import memory_accesses
from phobos_core.report.accesses.model import MemoryAccess
from phobos_core.report.collect import collect
from phobos_core.report.grid import suggested_grid
from phobos_core.report.model import KernelReport
from phobos_core.report.source import Source
from phobos_core.runtime.assembly import Assembled, Disassembled, assemble, disassemble
from phobos_core.runtime.frontend import Placed, check
from phobos_core.runtime.options import Options
from phobos_core.runtime.places import at_line
from phobos_core.toolchain import ptxas, sass

Artifact = Literal["ptx", "cubin", "sass", "llvm", "ir"]


@dataclass(frozen=True, slots=True)
class Request:
    """`assembler` None leaves the resources unknown. `steps` are the passes of the middle."""

    source: Source
    placed: Placed
    target: str
    config: Mapping[str, int]
    index_bits: int
    emit: tuple[Artifact, ...] = ("ptx",)
    assembler: ptxas.Ptxas | None = None
    time_limit: float = ptxas.TIME_LIMIT
    steps: tuple[passes.Pass, ...] = passes.PASSES


@dataclass(frozen=True, slots=True)
class Translated:
    """A kernel as far as the compiler itself takes it: `ptx` is None where `diagnostics` has an error.

    `kernel` is then the tile IR as far as it came, None where there is none.
    """

    request: Request
    kernel: ir.Kernel | None
    ptx: str | None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """`artifacts` has what was asked for and could be made; `report` is None where there was no kernel to report."""

    request: Request
    report: KernelReport | None
    diagnostics: tuple[Diagnostic, ...]
    artifacts: Mapping[Artifact, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(found.severity == "error" for found in self.diagnostics)


def translate(request: Request) -> Translated:
    """To PTX, which needs no NVIDIA software. A kernel that needs 64-bit indices keeps them, with a note."""
    again = _at_64_bits(request) if request.index_bits == 32 else None
    if again is not None:
        wide = _translate(again)
        reason = _kept_wide(wide)
        if reason is not None:
            message = f"`{request.placed.kernel.name}` {reason}, and so keeps 64-bit indices"
            note = at_line(request.source, request.placed, None, "index-width-kept", message)
            return replace(wide, diagnostics=(*wide.diagnostics, note))
    return _translate(request)


def _kept_wide(wide: Translated) -> str | None:
    """What a kernel does that is only done with 64-bit indices."""
    for node in analysis_walk.walk(wide.request.placed.kernel.body):
        if isinstance(node, Atomic) and BUILTINS[node.op].min_index_bits == 64:
            return f"calls `{node.op}`"
    if wide.kernel is not None and any(op.name == "async_copy" for op in walk(wide.kernel.body)):
        return "stages by `cp.async`"
    return None


def _at_64_bits(request: Request) -> Request | None:
    """The same kernel, checked again: what folds to a constant depends on the width of an index."""
    options = Options(request.target, {**request.config, **request.placed.bound})
    for placed in check(request.source, options).kernels:
        if placed.offset == request.placed.offset:
            return replace(request, placed=replace(placed, bound=request.placed.bound), index_bits=64)
    return None


def _translate(request: Request) -> Translated:
    kernel: ir.Kernel | None = None
    try:
        kernel = lower.lower(
            request.placed.kernel,
            lower.LineTable(request.source.text, request.placed.offset, request.placed.functions),
            target=request.target,
            config=request.config,
            dims=request.placed.bound,
            index_bits=request.index_bits,
        )
        kernel = replace(passes.run(kernel, request.steps), file=request.source.name)
        return Translated(request, kernel, codegen.emit(kernel))
    except (lower.LowerError, passes.PassError, codegen.CodegenError) as error:
        help = getattr(error, "help", None)
        found = at_line(request.source, request.placed, error.line, error.code, error.message, help=help)
        return Translated(request, kernel, None, (found,))


def compile_kernel(request: Request) -> Compiled:
    """To PTX and through the assembler, with everything that was asked for and the report."""
    translated = translate(request)
    kernel, ptx = translated.kernel, translated.ptx
    if kernel is None or ptx is None:
        return Compiled(request, report(translated, Assembled()), translated.diagnostics)
    assembled = assemble(request.source, request.placed, kernel, ptx, request.assembler, request.time_limit)
    accesses = memory_accesses(kernel, ptx)
    listed: Disassembled | None = None
    if "sass" in request.emit and assembled.cubin is not None:
        try:
            listed = disassemble(request.source, kernel, assembled.cubin, accesses)
        except sass.DisassemblyError as error:
            text = f"nvdisasm could not read the code of `{kernel.name}` for {kernel.target}: {error}"
            refused = at_line(request.source, request.placed, None, "disassembly-failed", text)
            assembled = replace(assembled, diagnostics=(*assembled.diagnostics, refused))
    made = report(translated, assembled, accesses)
    return Compiled(
        request,
        replace(made, code=listed.code) if made is not None and listed is not None else made,
        (*translated.diagnostics, *assembled.diagnostics),
        _artifacts(request, kernel, ptx, assembled.cubin, listed),
    )


def report(translated: Translated, assembled: Assembled, accesses: Sequence[MemoryAccess] = ()) -> KernelReport | None:
    kernel, request = translated.kernel, translated.request
    if kernel is None:
        return None
    errors = [d.message for d in (*translated.diagnostics, *assembled.diagnostics) if d.severity == "error"]
    return collect(
        kernel,
        request.source.name,
        assembled.resources,
        dims=request.placed.bound,
        suggested_grid=suggested_grid(request.placed.kernel, {**request.config, **request.placed.bound}),
        cluster=request.placed.kernel.cluster,
        status="error" if errors else "ok",
        notes=(*assembled.notes, *errors),
        accesses=accesses,
    )


def _artifacts(
    request: Request, kernel: ir.Kernel, ptx: str, cubin: bytes | None, listed: Disassembled | None
) -> dict[Artifact, bytes]:
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
            case "cubin" if cubin is not None:
                made[kind] = cubin
            case "sass" if listed is not None:
                made[kind] = listed.text.encode()
    return made


def llvm_version() -> str:
    from llvmlite import binding

    return ".".join(map(str, binding.llvm_version_info))
