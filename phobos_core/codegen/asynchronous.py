"""`cp.async`: copies from global to shared memory that bypass the registers, in groups that a thread can wait for."""

from __future__ import annotations

from math import prod

from phobos_core.codegen import index, memory
from phobos_core.codegen.address import address
from phobos_core.codegen.context import Context
from phobos_core.codegen.sweep import in_line, run_place
from phobos_core.ir.module import Op


def copy(cg: Context, op: Op) -> None:
    """Each thread copies its runs; the elements outside the source's bounds become 0 without being read."""
    cg.require("cp_async", "cp.async")
    destination, source = (cg.windows[v] for v in op.operands[:2])
    asked = cg.scalars[op.operands[4]] if len(op.operands) > 4 else "true"
    vector, threads = op.attrs["vector"], cg.kernel.threads
    runs = prod(source.shape) // vector
    line = in_line(cg, destination)
    for start in range(0, runs, threads):
        here = "true" if start + threads <= runs else index.less(cg, cg.thread, runs - start)
        with cg.writer.guarded(here):
            place = run_place(cg, source.shape, vector, index.fixed(start // threads))
            if line is None:
                to = address(cg, destination, place)
            else:
                to = address(cg, line, run_place(cg, line.shape, vector, index.fixed(start // threads)))
            at = address(cg, source, place)
            _copy_run(cg, to, at, vector * source.memory.element.bytes, memory.valid(cg, source, place), asked)


def _copy_run(cg: Context, to: str, source: str, size: int, condition: str, asked: str) -> None:
    """Zeros where `condition` does not hold; nothing is done where it is not `asked` for."""
    # Only 16-byte copies may bypass the first-level cache, which nothing would read them from.
    level = "cg" if size == 16 else "ca"
    if asked != "true":
        _predicated_copy(cg, f"cp.async.{level}.shared.global", to, source, size, condition, asked)
        return
    name = f"llvm.nvvm.cp.async.{level}.shared.global.{size}"
    arguments = [("ptr addrspace(3)", to), ("ptr addrspace(1)", source)]
    if condition != "true":
        read = cg.writer.pure(f"select i1 {condition}, i32 {size}, i32 0")
        name, arguments = f"{name}.s", [*arguments, ("i32", read)]
    cg.writer.effect(cg.writer.call_text("void", name, *arguments))


def _predicated_copy(
    cg: Context, instruction: str, to: str, source: str, size: int, condition: str, asked: str
) -> None:
    """A branch around it would cut the loop into blocks, and ask again for what the end of the loop asks for too."""
    text, constraints = f"@$0 {instruction} [$1], [$2], {size}", "b,l,l"
    arguments = f"i1 {asked}, ptr addrspace(3) {to}, ptr addrspace(1) {source}"
    if condition != "true":
        read = cg.writer.pure(f"select i1 {condition}, i32 {size}, i32 0")
        text, constraints, arguments = f"{text}, $3", f"{constraints},r", f"{arguments}, i32 {read}"
    cg.writer.effect(f'call void asm sideeffect "{text};", "{constraints},~{{memory}}"({arguments})')


def commit(cg: Context, op: Op) -> None:
    cg.writer.effect(cg.writer.call_text("void", "llvm.nvvm.cp.async.commit.group"))


def wait(cg: Context, op: Op) -> None:
    cg.writer.effect(cg.writer.call_text("void", "llvm.nvvm.cp.async.wait.group", ("i32", str(op.attrs["pending"]))))
