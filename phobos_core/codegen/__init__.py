"""Tile IR in normal form to LLVM IR, and through LLVM to PTX.

`emit_llvm` gives the LLVM IR that this package writes, `emit` the PTX. A kernel that asks for what its target lacks
raises `CodegenError`; any other failure is a fault of the compiler.
"""

from phobos_core.codegen import llvm
from phobos_core.codegen.entry import module_text
from phobos_core.codegen.errors import CodegenError
from phobos_core.ir.module import Kernel

__all__ = ["CodegenError", "emit", "emit_llvm"]


def emit_llvm(kernel: Kernel) -> str:
    return module_text(kernel)


def emit(kernel: Kernel) -> str:
    return llvm.to_ptx(module_text(kernel), kernel.target)
