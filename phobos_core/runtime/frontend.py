"""A source parsed and checked: what both `check` and a compilation begin with. Loads neither NumPy nor LLVM.

In: a source and what the options say of every kernel. Out: its checked kernels, each with its place in the file, and
the diagnostics of syntax and rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from phobos_core import analysis, syntax
from phobos_core.analysis.program import CheckedKernel
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Finding, Source
from phobos_core.runtime.options import Options


@dataclass(frozen=True, slots=True)
class Checked:
    """`kernels` are those without an error, each with its offset in the source."""

    source: Source
    kernels: tuple[tuple[int, CheckedKernel], ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def findings(self) -> list[Finding]:
        return [Finding(self.source, found) for found in self.diagnostics]

    @property
    def failed(self) -> bool:
        return any(found.severity == "error" for found in self.diagnostics)


def check(source: Source, options: Options) -> Checked:
    file = syntax.parse(source.text)
    program = analysis.check(file, dims=options.bindings, target=options.target, index_bits=options.index_bits)
    return Checked(
        source,
        tuple((placed.offset, placed.kernel) for placed in program.kernels),
        (*file.diagnostics, *program.diagnostics),
    )
