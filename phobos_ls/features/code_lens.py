"""Feature: what can be done with a kernel, in a line above it.

Build, run on the emulator, the configuration that hints are about, the PTX and the machine code. Each is a command that
any client can execute; one with a view of its own for listings executes its own command of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedKernel
from phobos_core.language.attributes import autotune_choices
from phobos_core.syntax import ast
from phobos_ls.configurations import shown_configuration
from phobos_ls.snapshot import Snapshot

BUILD, RUN, SELECT = "phobos.build", "phobos.run", "phobos.selectConfiguration"
PTX, SASS = "phobos.showPtx", "phobos.showSass"


def code_lenses(snapshot: Snapshot) -> list[lsp.CodeLens]:
    return [lens for kernel in snapshot.kernels() for lens in _of_kernel(snapshot, kernel)]


def _of_kernel(snapshot: Snapshot, kernel: PlacedKernel) -> Iterator[lsp.CodeLens]:
    span = kernel.ast.name.span
    place = snapshot.range(kernel.offset + span.start, kernel.offset + span.end)
    shown = configuration_text(_shown(snapshot, kernel))
    titles = (("Build", BUILD), ("Run on the emulator", RUN), (shown, SELECT), ("PTX", PTX), ("SASS", SASS))
    for title, command in titles:
        if title and kernel.ast.name.text:
            arguments = [snapshot.uri, kernel.ast.name.text]
            yield lsp.CodeLens(place, lsp.Command(title, command, arguments=arguments))


def configuration_text(config: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in config.items())


def _shown(snapshot: Snapshot, kernel: PlacedKernel) -> Mapping[str, int]:
    """While the kernel has a mistake, the first choices that its text names: the line above it stays as it is."""
    if kernel.kernel is not None:
        return shown_configuration(snapshot, kernel)
    wanted = snapshot.settings.picked.get(kernel.ast.name.text, {})
    found = {}
    for attribute in kernel.ast.attributes:
        for argument in attribute.args if attribute.name.text == "autotune" else ():
            if isinstance(argument, ast.SearchArg) and (choices := _choices(argument)):
                name = argument.name.text
                found[name] = wanted[name] if wanted.get(name) in choices else choices[0]
    return found


def _choices(argument: ast.SearchArg) -> tuple[int, ...]:
    choices = autotune_choices([choice.value for choice in argument.choices])
    return () if isinstance(choices, str) else choices
