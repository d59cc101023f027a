"""A source parsed and checked: what both `check` and a compilation begin with. Loads neither NumPy nor LLVM.

In: a source and what the options say of every kernel. Out: its checked kernels, each with its place in the file, and
the diagnostics of syntax and rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phobos_core import analysis, syntax
from phobos_core.analysis.program import CheckedKernel
from phobos_core.report.source import Finding, Source
from phobos_core.runtime.options import Options
from phobos_core.syntax import ast


@dataclass(frozen=True, slots=True)
class Names:
    """What a kernel's text declares that an option can bind: `@autotune` names, and dimensions that are none."""

    search: frozenset[str]
    dims: frozenset[str]


@dataclass(frozen=True, slots=True)
class Placed:
    """A kernel without an error, where it stands in the source, and the dimensions that `-D` binds in it. `functions`
    says where those of the source stand."""

    offset: int
    kernel: CheckedKernel
    bound: Mapping[str, int]
    functions: Mapping[str, int] = field(default_factory=dict)

    def offset_of(self, item: str) -> int:
        """Where the text that spans of the kernel count in starts: a function's, or with no name its own."""
        return self.functions[item] if item else self.offset


@dataclass(frozen=True, slots=True)
class Checked:
    """`names` has an entry for each kernel of the text, also for one with an error."""

    source: Source
    kernels: tuple[Placed, ...]
    names: tuple[Names, ...]
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        return any(finding.diagnostic.severity == "error" for finding in self.findings)


def check(source: Source, options: Options) -> Checked:
    file = analysis.check(
        syntax.parse(source.text), dims=options.bindings, target=options.target, index_bits=options.index_bits
    )
    kernels = []
    for placed in file.kernels:
        if placed.kernel is not None:
            dims = declared(placed.ast).dims
            bound = {name: value for name, value in options.bindings.items() if name in dims}
            kernels.append(Placed(placed.offset, placed.kernel, bound, file.library.offsets))
    return Checked(
        source,
        tuple(kernels),
        tuple(declared(placed.ast) for placed in file.kernels),
        tuple(Finding(source, found) for found in file.diagnostics),
    )


def declared(kernel: ast.Kernel) -> Names:
    search = {
        argument.name.text
        for attribute in kernel.attributes
        if attribute.name.text == "autotune"
        for argument in attribute.args
        if isinstance(argument, ast.SearchArg)
    }
    dims = {
        dim.text
        for param in kernel.params
        if isinstance(param.type, ast.ShapedTypeExpr)
        for dim in param.type.dims
        if isinstance(dim, ast.Name)
    }
    return Names(frozenset(search), frozenset(dims - search))
