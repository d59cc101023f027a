"""`cp.async`: copies from global to shared memory that bypass the registers, in groups that a thread can wait for."""

from __future__ import annotations

from math import prod

from phobos_core.codegen import index, memory
from phobos_core.codegen.context import Context
from phobos_core.codegen.sweep import run_place
from phobos_core.ir.module import Op


def copy(cg: Context, op: Op) -> None:
    """Each thread copies its runs; the elements outside the source's bounds become 0 without being read."""
    cg.require("cp_async", "cp.async")
    destination, source = (cg.windows[v] for v in op.operands[:2])
    vector, threads = op.attrs["vector"], cg.kernel.threads
    runs = prod(source.shape) // vector
    for start in range(0, runs, threads):
        here = "true" if start + threads <= runs else index.less(cg, cg.thread, runs - start)
        with cg.writer.guarded(here):
            place = run_place(cg, source.shape, vector, index.fixed(start // threads))
            to = memory.address(cg, destination, place)
            at = memory.address(cg, source, place)
            _copy_run(cg, to, at, vector * source.memory.element.bytes, memory.valid(cg, source, place))


def _copy_run(cg: Context, to: str, source: str, size: int, condition: str) -> None:
    # Only 16-byte copies may bypass the first-level cache, which nothing would read them from.
    level = "cg" if size == 16 else "ca"
    name = f"llvm.nvvm.cp.async.{level}.shared.global.{size}"
    arguments = [("ptr addrspace(3)", to), ("ptr addrspace(1)", source)]
    if condition != "true":
        read = cg.writer.pure(f"select i1 {condition}, i32 {size}, i32 0")
        name, arguments = f"{name}.s", [*arguments, ("i32", read)]
    cg.writer.effect(cg.writer.call_text("void", name, *arguments))


def commit(cg: Context, op: Op) -> None:
    cg.writer.effect(cg.writer.call_text("void", "llvm.nvvm.cp.async.commit.group"))


def wait(cg: Context, op: Op) -> None:
    cg.writer.effect(cg.writer.call_text("void", "llvm.nvvm.cp.async.wait.group", ("i32", str(op.attrs["pending"]))))
