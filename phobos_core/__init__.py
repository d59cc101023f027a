"""Phobos: a language for GPU kernels, its checker and its compiler to PTX.

The names below are loaded when they are first used: checking a source loads neither NumPy nor LLVM.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phobos_core.runtime.api import CompileError, check_text, compile, compile_text
    from phobos_core.runtime.arguments import LaunchError
    from phobos_core.runtime.devices import KernelFault
    from phobos_core.runtime.module import Kernel, Module
    from phobos_core.runtime.options import UsageError

__version__ = "0.1.0"

_HOMES = {
    "CompileError": "phobos_core.runtime.api",
    "Kernel": "phobos_core.runtime.module",
    "KernelFault": "phobos_core.runtime.devices",
    "LaunchError": "phobos_core.runtime.arguments",
    "Module": "phobos_core.runtime.module",
    "UsageError": "phobos_core.runtime.options",
    "check_text": "phobos_core.runtime.api",
    "compile": "phobos_core.runtime.api",
    "compile_text": "phobos_core.runtime.api",
}

__all__ = [
    "CompileError",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "Module",
    "UsageError",
    "__version__",
    "check_text",
    "compile",
    "compile_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
