"""What `check`, `build` and `run` share: their options read, and their sources checked for each target."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

from phobos_core.cli.files import Found, report
from phobos_core.cli.terminal import Output
from phobos_core.language.targets import DEFAULT
from phobos_core.report.source import Finding, in_order
from phobos_core.runtime import frontend
from phobos_core.runtime.configurations import check_names, configurations
from phobos_core.runtime.frontend import Checked
from phobos_core.runtime.options import Options, bindings_of, known_target, parse_config


@dataclass(frozen=True, slots=True)
class Compilation:
    """One `Options` for each target, in the order given."""

    options: tuple[Options, ...]

    @staticmethod
    def of(arguments: Namespace) -> Compilation:
        bindings = bindings_of(arguments.bindings)
        config = parse_config(arguments.config)
        targets = dict.fromkeys(known_target(name) for name in arguments.target or [DEFAULT])
        return Compilation(tuple(Options(name, bindings, config, arguments.index_bits) for name in targets))


@dataclass(frozen=True, slots=True)
class CheckedSources:
    """`files` pairs each target's options with what checking a source under them gave."""

    files: tuple[tuple[Options, Checked], ...]
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        return any(checked.failed for _, checked in self.files)


def check_sources(sources: Found, asked: Compilation, messages: Output) -> CheckedSources:
    """Every source under every target's options; a finding that several targets share is given once."""
    report(sources, messages)
    files = tuple(
        (options, frontend.check(each.source, options)) for options in asked.options for each in sources.files
    )
    checked = CheckedSources(files, tuple(in_order(list(dict.fromkeys(f for _, c in files for f in c.findings)))))
    # A text that cannot be read may hide the name that is asked for.
    if files and not checked.failed and not sources.unreadable:
        for options in asked.options:
            check_names((names for _, c in files for names in c.names), options)
        for options, file in files:
            for placed in file.kernels:
                # Asked for here, so that a check too says of a named choice that it is none.
                configurations(placed.kernel, options)
    return checked
