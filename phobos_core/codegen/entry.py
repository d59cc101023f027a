"""A kernel as one LLVM module: parameters, attributes, the shared buffer, line tables, and the body.

In: a kernel in normal form. Out: LLVM IR text. The entry's parameters are the contract with whoever launches: a
tensor is a 64-bit pointer, aligned to 16 bytes; a scalar has its own type, a bool is a byte; then one integer of
index width per dynamic dimension.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.codegen import memory
from phobos_core.codegen.context import Context
from phobos_core.codegen.statements import block
from phobos_core.codegen.writer import SUBPROGRAM, Writer
from phobos_core.ir import integers, intervals
from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Kernel, Param
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import indexed
from phobos_core.ir.tree import buffer_of
from phobos_core.language.types import BOOL, ScalarType

TRIPLE = "nvptx64-nvidia-cuda"
_TID = "llvm.nvvm.read.ptx.sreg.tid.x"


def module_text(kernel: Kernel) -> str:
    writer = Writer()
    index = indexed(kernel.body)
    # Codegen can ask nothing of the launch, so it leans on no assumed divisor.
    vectors = Vectors(replace(kernel, assumed=frozenset()), index)
    exact = intervals.of_kernel(kernel)
    cg = Context(kernel, writer, integers.of_kernel(kernel), exact, index, vectors, shared=f"@{shared_name(kernel)}")
    # A host that raises a flag may have written to any tensor, and threads that meet at a barrier to one another's.
    acquires = any(op.name == "load_acquire" for op in index.ops)
    shares = acquires or any(op.name in ("sync", "store_run") or "each" in op.attrs for op in index.ops)
    written = {buffer_of(index, op.operands[0]) for op in index.ops if OPS[op.name].effect == "write"}
    writer.at_line(kernel.line)
    if kernel.threads > 1:
        writer.declarations[_TID] = f"declare i32 @{_TID}()"
        cg.thread = writer.pure(f"call range(i32 0, {kernel.threads}) i32 @{_TID}()")
    for number, param in enumerate(kernel.params):
        _bind(cg, param, f"%p{number}")
    for number, param in enumerate(kernel.params):
        if param.kind == "tensor":
            read_only = param.value not in written and not acquires
            cg.memories[param.value] = memory.tensor(cg, param, f"%p{number}", read_only=read_only)
    block(cg, kernel.body)
    writer.effect("ret void")
    params = ", ".join(_parameter(cg, p, n, shares=shares) for n, p in enumerate(kernel.params))
    parts = [
        f'source_filename = "{_escaped(kernel.file)}"',
        f'target triple = "{TRIPLE}"',
        *_shared(kernel),
        *sorted(writer.declarations.values()),
        *sorted(cg.helpers),
        f"define ptx_kernel void @{kernel.name}({params}) #0 !dbg !{SUBPROGRAM} {{",
        *writer.lines,
        "}",
        f"attributes #0 = {{ nounwind {_attributes(kernel)} }}",
        *_metadata(kernel, writer),
    ]
    return "\n".join(parts) + "\n"


def _bind(cg: Context, param: Param, name: str) -> None:
    if param.kind == "tensor":
        return
    if param.dtype == BOOL:
        cg.scalars[param.value] = cg.writer.pure(f"icmp ne i8 {name}, 0")
    elif param.dtype.is_float and param.dtype.bits == 16:
        cg.scalars[param.value] = cg.writer.pure(f"bitcast i16 {name} to {cg.type(param.dtype)}")
    else:
        cg.scalars[param.value] = name


def _parameter(cg: Context, param: Param, number: int, *, shares: bool) -> str:
    if param.kind == "tensor":
        # A tensor that is stored to overlaps no other argument, and one that is not stored to does not change. To LLVM,
        # "noalias" also says that no call changes it, a barrier included: not where a barrier shows others' stores.
        access = "noalias readonly " if cg.memories[param.value].read_only else "" if shares else "noalias "
        return f"ptr addrspace(1) {access}align 16 %p{number}"
    return f"{_passed(cg, param.dtype)} %p{number}"


def _passed(cg: Context, element: ScalarType) -> str:
    """The integer or float type whose PTX spelling is the scalar's own; halves travel as their bits."""
    if element == BOOL:
        return "i8"
    return "i16" if element.is_float and element.bits == 16 else cg.type(element)


def shared_name(kernel: Kernel) -> str:
    return f"{kernel.name}_shared"


def _shared(kernel: Kernel) -> list[str]:
    """The one buffer that all tiles are windows of. Not `internal`: LLVM would think that no other thread writes."""
    name = shared_name(kernel)
    if kernel.dynamic_shared:
        return [f"@{name} = external addrspace(3) global [0 x i8], align 16"]
    if kernel.shared_bytes == 0:
        return []
    return [f"@{name} = addrspace(3) global [{kernel.shared_bytes} x i8] undef, align 16"]


def _attributes(kernel: Kernel) -> str:
    values = {
        "nvvm.maxntid": kernel.threads,
        "nvvm.minctasm": kernel.min_blocks or kernel.resident_blocks,
        "nvvm.maxnreg": kernel.max_registers,
    }
    return " ".join(f'"{name}"="{value}"' for name, value in values.items() if value is not None)


def _metadata(kernel: Kernel, writer: Writer) -> list[str]:
    """Line tables without the rest of the debug information: every instruction knows its source line."""
    fixed = {
        0: '!{i32 2, !"Debug Info Version", i32 3}',
        # LLVM escapes a quotation mark in the PTX as assemblers do; ptxas ends the name there.
        1: f'!DIFile(filename: "{_escaped(kernel.file.replace(chr(34), chr(39)))}", directory: "")',
        2: "distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)",
        3: "!DISubroutineType(types: !4)",
        4: "!{}",
        SUBPROGRAM: f'distinct !DISubprogram(name: "{kernel.name}", scope: !1, file: !1, line: {kernel.line}, '
        "type: !3, spFlags: DISPFlagDefinition, unit: !2)",
    }
    nodes = {**fixed, **{SUBPROGRAM + 1 + i: text for i, text in enumerate(writer.nodes)}}
    return [
        "!llvm.module.flags = !{!0}",
        "!llvm.dbg.cu = !{!2}",
        *(f"!{number} = {text}" for number, text in nodes.items()),
    ]


def _escaped(text: str) -> str:
    """For an LLVM string: anything but plain ASCII as hex."""
    return "".join(
        chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in text.encode("utf-8", "surrogateescape")
    )
