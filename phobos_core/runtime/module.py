"""A compiled module and its kernels, as the Python interface hands them out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report import diagnostics as rendering
from phobos_core.report.accesses.collect import memory_accesses
from phobos_core.report.as_json import to_json
from phobos_core.report.profile import Profile
from phobos_core.report.source import Finding
from phobos_core.report.style import PLAIN
from phobos_core.runtime import devices
from phobos_core.runtime.assembly import assemble
from phobos_core.runtime.compiler import Translated, report
from phobos_core.toolchain import ptxas

Device = Literal["reference", "emulator", "cuda"]


class Record(dict[str, Any]):
    """A JSON object whose keys can be read as attributes too: `report.resources.registers`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the report has no {name!r}; it has {', '.join(self)}") from None


class Kernel:
    """One kernel in one configuration for one target."""

    def __init__(self, translated: Translated) -> None:
        assert translated.kernel is not None
        assert translated.ptx is not None
        self._translated = translated
        self._kernel = translated.kernel
        self.ptx: str = translated.ptx

    @property
    def name(self) -> str:
        return self._kernel.name

    @property
    def target(self) -> str:
        return self._kernel.target

    @property
    def config(self) -> Mapping[str, int]:
        """The choice made for each `@autotune` name."""
        return self._kernel.config

    @cached_property
    def report(self) -> Record:
        """What `phobos build --format json` prints for this kernel. The first use runs ptxas."""
        request = self._translated.request
        tool = ptxas.for_target(self.target)
        assembled = assemble(request.source, request.placed, self._kernel, self.ptx, tool, request.time_limit)
        made = report(self._translated, assembled, memory_accesses(self._kernel, self.ptx))
        assert made is not None
        return Record(_record(to_json(made)))

    def launch(
        self,
        grid: Sequence[int] | int,
        *arguments: object,
        device: Device = "emulator",
        max_instructions: int | None = None,
        schedule: int | None = None,
    ) -> None:
        """Runs the kernel on `grid` blocks; `arguments` in the order of its parameters, arrays changed in place.

        `max_instructions` is what the emulator runs of the blocks it has at a time before a loop counts as endless.

        Raises LaunchError where the arguments do not fit, before anything runs, and KernelFault where the device
        finds the kernel doing something wrong. What the spec leaves unspecified is a RuntimeWarning. `schedule` has the
        emulator run warps and blocks in an order that this number picks: what depends on their order then shows.
        """
        for finding in devices.launch(device, self._translated, grid, arguments, max_instructions, schedule):
            warnings.warn(rendering.full(finding, PLAIN), RuntimeWarning, stacklevel=2)

    def profile(self, grid: Sequence[int] | int, *arguments: object) -> Profile:
        """Runs the kernel on the emulator, as `launch` does, and tells every access to shared memory.

        Its passes over the banks are those of the addresses that were met, by the documented bank model.
        """
        return devices.profile(self._translated, grid, arguments)

    def __repr__(self) -> str:
        return f"<phobos kernel {self.name} for {self.target}>"


class Module(Mapping[str, Kernel]):
    """The kernels of a source by name. `diagnostics` are the warnings and notes of its compilation."""

    def __init__(self, kernels: Mapping[str, Kernel], findings: Sequence[Finding]) -> None:
        self._kernels = dict(kernels)
        self.diagnostics: list[Diagnostic] = [finding.diagnostic for finding in findings]

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            raise KeyError(f"no kernel `{name}`; the module has {', '.join(self._kernels) or 'none'}")
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)


def _record(value: Any) -> Any:
    """Every object inside as a `Record`."""
    if isinstance(value, dict):
        return Record((name, _record(item)) for name, item in value.items())
    return [_record(item) for item in value] if isinstance(value, list) else value
