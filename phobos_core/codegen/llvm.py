"""LLVM IR text to PTX text: LLVM's NVPTX target, reached through llvmlite.

Three passes run before the target's own, not the O3 pipeline: it took twice as long, gave the same inner loops and
more registers (docs/decisions/llvm-passes.md).
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
    return _target().create_target_machine(cpu=target, features=f"+ptx{major}{minor}", opt=2)


def to_ptx(text: str, target: str) -> str:
    """The PTX of a module, for a name in `language.targets`."""
    machine = _machine(target)
    # Parsing verifies what has line numbers.
    module = llvm.parse_assembly(text)
    _optimise(module, machine)
    ptx: str = machine.emit_assembly(module)
    # What surrounds a predicated access says nothing to whoever reads the PTX.
    return ptx.replace("\t// begin inline asm\n", "").replace("\t// end inline asm\n", "")


def _optimise(module: Any, machine: Any) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2)))
