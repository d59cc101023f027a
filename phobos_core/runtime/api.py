"""The Python interface: sources to modules of kernels that can be read, reported and launched."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.language.targets import DEFAULT
from phobos_core.report import diagnostics as rendering
from phobos_core.report.source import Finding, Source, in_order
from phobos_core.report.style import PLAIN
from phobos_core.runtime import frontend
from phobos_core.runtime.configurations import check_names, configurations
from phobos_core.runtime.options import Options, UsageError, checked, known_index_bits, known_target

if TYPE_CHECKING:
    from phobos_core.runtime.module import Module


class CompileError(Exception):
    """The source has errors. `diagnostics` are all that were found, warnings too; the text shows them in the source."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = in_order(list(findings))
        super().__init__("\n\n".join(rendering.full(finding, PLAIN) for finding in self.findings))

    def __reduce__(self) -> tuple[type[CompileError], tuple[Sequence[Finding]]]:
        """By its findings and not by its text, so that it comes whole out of another process."""
        return CompileError, (self.findings,)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return [finding.diagnostic for finding in self.findings]


def compile(
    path: str | os.PathLike[str],
    target: str = DEFAULT,
    config: Mapping[str, int] | None = None,
    dims: Mapping[str, int] | None = None,
    *,
    index_bits: Literal[32, 64] = 64,
) -> Module:
    """Compiles every kernel of a file.

    `config` picks choices of `@autotune` names, the others take their first; `dims` binds dynamic dimensions.
    Raises CompileError where the source is wrong, UsageError where an argument is, OSError where there is no file.
    """
    file = Path(path)
    return _compile(Source(str(file), file.read_bytes()), target, config, dims, index_bits)


def compile_text(
    source: str | bytes,
    name: str = "<text>",
    target: str = DEFAULT,
    config: Mapping[str, int] | None = None,
    dims: Mapping[str, int] | None = None,
    *,
    index_bits: Literal[32, 64] = 64,
) -> Module:
    """`compile` of a text; `name` is the file that messages name."""
    return _compile(Source(name, _encoded(source)), target, config, dims, index_bits)


def check_text(source: str | bytes, name: str = "<text>", target: str = DEFAULT) -> list[Diagnostic]:
    """The diagnostics of a text, in its order. Never raises on any text."""
    file = frontend.check(Source(name, _encoded(source)), Options(target=known_target(target)))
    return [finding.diagnostic for finding in in_order(list(file.findings))]


def _encoded(source: str | bytes) -> bytes:
    match source:
        case str():
            return source.encode("utf-8", "surrogatepass")
        case bytes() | bytearray():
            return bytes(source)
    raise TypeError(f"a source is a str or bytes, not {type(source).__name__}")


def _compile(
    source: Source,
    target: str,
    config: Mapping[str, int] | None,
    dims: Mapping[str, int] | None,
    index_bits: Literal[32, 64],
) -> Module:
    # Loaded here, since checking a text needs nothing of the compiler.
    from phobos_core.runtime.compiler import Request, translate
    from phobos_core.runtime.module import Kernel, Module

    try:
        source.text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source.name} is not UTF-8 text: {error}") from error
    index_bits = known_index_bits(index_bits)
    options = Options(known_target(target), checked(dims, "dims"), checked(config, "config") or "first", index_bits)
    file = frontend.check(source, options)
    if file.failed:
        raise CompileError(file.findings)
    check_names(file.names, options)
    requests = [
        Request(source, placed, target, next(configurations(placed.kernel, options)), index_bits)
        for placed in file.kernels
    ]
    translated = [translate(request) for request in requests]
    findings = [*file.findings, *(Finding(source, found) for each in translated for found in each.diagnostics)]
    if any(finding.diagnostic.severity == "error" for finding in findings):
        raise CompileError(findings)
    return Module({each.request.placed.kernel.name: Kernel(each) for each in translated}, findings)
