"""`phobos build`: every kernel of the sources compiled, its outputs written, its report printed."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phobos_core import __version__
from phobos_core.cli import files
from phobos_core.cli import findings as found
from phobos_core.cli.compilation import CheckedSources, Compilation, check_sources
from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output, Progress
from phobos_core.report import text
from phobos_core.report.as_json import build_json
from phobos_core.report.diagnostics import summary
from phobos_core.report.model import Assembler, KernelReport, Toolchain
from phobos_core.report.source import Finding, in_order
from phobos_core.runtime.build import build
from phobos_core.runtime.compiler import Artifact, Compiled, Request, compile_kernel, llvm_version
from phobos_core.runtime.configurations import configurations
from phobos_core.toolchain import ptxas, sass

# What only an assembler can make, and the diagnostic that only it can give.
ASSEMBLED: frozenset[Artifact] = frozenset({"cubin", "sass"})
LIMITS = frozenset({"spills"})

SUFFIXES: Mapping[Artifact, str] = {"ptx": ".ptx", "cubin": ".cubin", "sass": ".sass", "llvm": ".ll", "ir": ".ir"}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the outputs go: below `folder`, where the stem of their source says. `named` puts the configuration into
    the file names, and without it `bound` does so with the names that `-D` overrides."""

    folder: Path
    stems: Mapping[str, Path]
    named: bool
    bound: frozenset[str]

    def path(self, request: Request, suffix: str) -> Path:
        """`matmul.sm_80` or `matmul.sm_80.TILE_M-64.TILE_N-64`: no character that a shell or make would read."""
        parts = [request.placed.kernel.name, request.target]
        parts += [f"{name}-{value}" for name, value in request.config.items() if self.named or name in self.bound]
        parts += [f"{name}-{value}" for name, value in request.placed.bound.items()]
        return self.folder / self.stems[request.source.name] / f"{'.'.join(parts)}{suffix}"

    def require_own(self, requests: Iterable[Request]) -> None:
        """That no two sources write one file, known before anything is compiled."""
        taken: dict[str, str] = {}
        for request in requests:
            path, name = self.path(request, SUFFIXES["ptx"]), request.source.name
            other = taken.setdefault(os.path.normcase(path), name)
            if other != name:
                raise CommandError(f"{other} and {name} would both be written to {path}; build them with two -o")


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    found.check_denied(arguments.deny)
    asked = Compilation.of(arguments)
    emit: tuple[Artifact, ...] = tuple(dict.fromkeys(arguments.emit or ("ptx",)))
    tools = {options.target: ptxas.for_target(options.target) for options in asked.options}
    _require_tools(emit, arguments.deny, tools)
    sources = files.find_sources(arguments.paths)
    checked = check_sources(sources, asked, messages)
    outputs = Outputs(
        Path(arguments.output),
        {f.source.name: f.stem for f in sources.files},
        named=arguments.config != "first",
        bound=frozenset(asked.options[0].bindings),
    )
    requests = list(_requests(checked, emit, tools))
    outputs.require_own(requests)
    progress = Progress(messages, len(requests))
    built = build(requests, compile_kernel, lambda one, all: _mapped(one, all, arguments.jobs, progress))
    reports = _write(built.results, outputs)
    findings = found.denied(in_order([*checked.findings, *built.findings]), arguments.deny)
    if os.environ.get("PHOBOS_LOG") == "debug":
        _log_decisions(reports, messages)
    if arguments.format == "json":
        found.show_json(build_json(_toolchain(tools), reports, findings), output)
    elif arguments.format == "html":
        from phobos_core.report.html import build_html  # as the formats for machines, loaded where it is asked for

        names = {file.source.name: file.source for file in sources.files}
        output.line(build_html(_toolchain(tools), reports, findings, names))
    elif not found.show_for_machines(
        "build", arguments.format, [f.source.name for f in sources.files], findings, output
    ):
        _show(reports, findings, arguments.format, output)
        for target in (target for target, tool in tools.items() if tool is None and reports):
            messages.line(f"{messages.style('note', 'note')}: {ptxas.why_none(target)}")
    return files.status_with(sources, found.status_of(findings, arguments.exit_zero))


def _require_tools(emit: Sequence[Artifact], deny: Sequence[str], tools: Mapping[str, ptxas.Ptxas | None]) -> None:
    """No ptxas is no error, unless what was asked for cannot be had without one."""
    wanted = [f"--emit {kind}" for kind in emit if kind in ASSEMBLED]
    wanted += [f"--deny {code}" for code in deny if code in LIMITS]
    for target, tool in tools.items():
        if tool is None and wanted:
            raise CommandError(f"{wanted[0]} needs ptxas: {ptxas.why_none(target)}")
    if "sass" in emit and sass.nvdisasm() is None:
        raise CommandError(f"--emit sass needs nvdisasm; `pip install {sass.PACKAGE}` brings it")


def _requests(
    checked: CheckedSources, emit: tuple[Artifact, ...], tools: Mapping[str, ptxas.Ptxas | None]
) -> Iterator[Request]:
    """Every kernel of the files without an error: one file's mistake is no reason to leave out the others."""
    for options, file in checked.files:
        for placed in () if file.failed else file.kernels:
            for config in configurations(placed.kernel, options):
                yield Request(
                    file.source,
                    placed,
                    options.target,
                    config,
                    options.index_bits,
                    emit,
                    tools[options.target],
                )


def _mapped(
    compile_one: Callable[[Request], Compiled], requests: Sequence[Request], jobs: int, progress: Progress
) -> list[Compiled]:
    """In processes where there is more than one job and more than one thing to do."""
    workers = min(jobs or os.cpu_count() or 1, len(requests))
    if workers <= 1:
        return _collected(map(compile_one, requests), progress)
    # Loaded here: the machinery of processes takes longer to load than many a kernel to compile.
    from phobos_core.cli.processes import mapped

    return _collected(mapped(compile_one, requests, workers), progress)


def _collected(results: Iterable[Compiled], progress: Progress) -> list[Compiled]:
    collected = []
    try:
        for result in results:
            collected.append(result)
            progress.step()
    finally:
        progress.clear()
    return collected


def _write(results: Sequence[Compiled], outputs: Outputs) -> list[KernelReport]:
    """Writes every output; the reports, with the paths."""
    reports = []
    for result in results:
        artifacts: dict[str, str] = {}
        for kind, data in result.artifacts.items():
            path = outputs.path(result.request, SUFFIXES[kind])
            files.write(path, data)
            artifacts[kind] = str(path)
        if result.report is not None:
            reports.append(replace(result.report, artifacts=artifacts))
    return reports


def _log_decisions(reports: Sequence[KernelReport], messages: Output) -> None:
    """In every format, for a build whose report nobody sees."""
    for report in reports:
        for decision in sorted(report.decisions, key=lambda d: d.line):
            place = f"{report.file}:{decision.line}: {report.kernel} {report.target}"
            messages.line(f"debug: {place}: {decision.op}: {decision.choice}: {decision.reason}")


def _toolchain(tools: Mapping[str, ptxas.Ptxas | None]) -> Toolchain:
    used = dict.fromkeys(tool for tool in tools.values() if tool is not None)
    return Toolchain(
        __version__, llvm_version(), tuple(Assembler(str(tool.path), tool.version, ptxas.FLAGS) for tool in used)
    )


def _show(reports: Sequence[KernelReport], findings: Sequence[Finding], format: str, output: Output) -> None:
    for report in reports:
        if format == "concise":
            output.line(text.concise(report))
        elif report.status == "ok" or report.artifacts:
            # The finding of a kernel that could not be built says all that there is.
            output.line(text.full(report, output.style))
            output.line()
    found.show(findings, format, output)
    if format == "text" and (counted := summary(findings)):
        output.line(counted)
