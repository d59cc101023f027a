"""LLVM IR text to PTX text: LLVM's NVPTX target, reached through llvmlite.

The optimiser runs at O3 without its vectorisers: codegen has chosen the vectors already.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from phobos_core.language.targets import TARGETS

_TRIPLE = "nvptx64-nvidia-cuda"


@cache
def _target() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(_TRIPLE)


@cache
def _machine(target: str) -> Any:
    major, minor = TARGETS[target].ptx
    return _target().create_target_machine(cpu=target, features=f"+ptx{major}{minor}", opt=3)


def to_ptx(text: str, target: str) -> str:
    """The PTX of a module, for a name in `language.targets`."""
    machine = _machine(target)
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    ptx: str = machine.emit_assembly(module)
    return ptx
