"""A launch: arguments into memory, the grid in batches through the engine, arguments back out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from zlib import crc32

import numpy as np

from phobos_core.emulator.arguments import bind
from phobos_core.emulator.async_copies import AsyncCopies
from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.clocks import Clocks
from phobos_core.emulator.decode import Decoder, Registers
from phobos_core.emulator.engine import Engine
from phobos_core.emulator.layout import batch_geometry, block_shape, granule, lay_out, window
from phobos_core.emulator.machine import Active, HaltError, Recorder
from phobos_core.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    GenericSpace,
    GlobalSpace,
    Space,
    Store,
    WindowSpace,
)
from phobos_core.emulator.numerics.perturb import Perturbation
from phobos_core.emulator.ops.integer import CARRY
from phobos_core.emulator.parser import parse
from phobos_core.emulator.program import build
from phobos_core.emulator.provenance import written_parameters
from phobos_core.emulator.ptx import Kernel, Module
from phobos_core.emulator.result import Coordinates, EmulatorFault, LaunchError, Result, Stats
from phobos_core.emulator.shadow import Shadow
from phobos_core.emulator.special import special_registers

DEFAULT_MAX_STEPS = 5_000_000


@lru_cache(maxsize=64)
def _parsed(text: str) -> Module:
    return parse(text)


@dataclass(slots=True)
class _Launch:
    """Everything that one launch sets up."""

    module: Module
    kernel: Kernel
    grid: Coordinates
    block: Coordinates
    dynamic_shared: int
    checks: bool
    perturbation: Perturbation
    max_steps: int
    symbols: dict[str, int] = field(default_factory=dict)

    def run(self, args: Sequence[object]) -> tuple[Recorder, Stats]:
        kernel = self.kernel
        variables = (*self.module.variables, *kernel.variables)
        shared, local = lay_out(variables, "shared", self.dynamic_shared), lay_out(variables, "local", 0)
        geometry = batch_geometry(kernel, self.grid, self.block, shared.size, local.size)
        recorder = Recorder(geometry)
        global_space = GlobalSpace(recorder)
        arguments = bind(kernel, args, global_space)
        for variable in variables:
            if variable.space in ("global", "const"):
                region = global_space.add(variable.name, variable.size or 0, variable.space)
                region.store.data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
                self.symbols[variable.name] = region.base
        self.symbols |= shared.offsets | local.offsets
        races = RaceChecker(geometry, recorder, Clocks(geometry)) if self.checks else None
        windows = {
            "shared": window(recorder, "shared", shared.size, geometry.blocks, geometry.block_of),
            "local": window(recorder, "local", local.size, geometry.lanes, np.arange(geometry.lanes)),
        }
        spaces: dict[str, Space] = {
            "global": global_space,
            "const": global_space,
            "generic": GenericSpace(
                global_space, ((SHARED_WINDOW, windows["shared"]), (LOCAL_WINDOW, windows["local"]))
            ),
            **windows,
        }
        everyone = Active.of(np.ones(geometry.lanes, np.bool_))
        copies = AsyncCopies(geometry.lanes, races)
        specials = special_registers(geometry, shared.size, self.dynamic_shared)
        types = {**kernel.registers, CARRY: "pred", **{name: row.type for name, row in specials.items()}}
        registers = Registers(types, geometry.lanes)
        registers.rows |= {name: each.row for name, each in specials.items()}
        decoder = Decoder(
            kernel,
            geometry,
            recorder,
            registers,
            spaces,
            self.symbols,
            arguments.parameters,
            races,
            copies,
            everyone,
            self.perturbation,
        )
        program = build(decoder)
        if races:
            self._add_shadows(global_space, windows["shared"])
        stores = [each.store for each in global_space.regions] + [each.store for each in windows.values()]

        def fingerprint() -> int:
            rows = (*registers.rows.values(), *(store.data for store in stores))
            return reduce(lambda so_far, row: crc32(row.data, so_far), rows, 0)

        engine = Engine(program, geometry, recorder, races, everyone, self.max_steps, fingerprint)
        total = math.prod(self.grid)
        try:
            for first in range(0, total, geometry.blocks):
                geometry.first_block = first
                for each in specials.values():
                    each.update(geometry)
                self._clear(windows, global_space, races, copies)
                engine.run(geometry.block_of < total - first)
        except HaltError:
            pass
        arguments.copy_out()
        return recorder, Stats(engine.instructions, engine.lane_instructions)

    def _add_shadows(self, global_space: GlobalSpace, shared: WindowSpace) -> None:
        """Shadows as fine as the narrowest access of their space, for tensors that the kernel writes."""
        written = written_parameters(self.kernel)
        for region in global_space.regions:
            if region.store.space == "global" and (written is None or region.store.name in written):
                region.store.shadow = Shadow.of(
                    region.store.data.size, granule(self.kernel, "global"), shared_by_blocks=True
                )
        if shared.size:
            shared.store.shadow = Shadow.of(
                shared.store.data.size, granule(self.kernel, "shared"), shared_by_blocks=False
            )

    def _clear(
        self,
        windows: dict[str, WindowSpace],
        global_space: GlobalSpace,
        races: RaceChecker | None,
        copies: AsyncCopies,
    ) -> None:
        """A new batch: shared memory holds garbage, and nothing is known of earlier accesses."""
        windows["shared"].store.data[:] = 0xFF
        copies.reset()
        if races:
            races.clocks.reset()
        stores: list[Store] = [windows["shared"].store, *(region.store for region in global_space.regions)]
        for store in stores:
            if store.shadow:
                store.shadow.clear()


def run(
    ptx: str,
    entry: str,
    grid: Coordinates,
    args: Sequence[object],
    *,
    block: Coordinates | int | None = None,
    dynamic_shared: int = 0,
    checks: bool = True,
    seed: int = 0,
    perturb: bool = False,
    max_steps: int | None = None,
    source_name: str | None = None,
) -> Result:
    """Runs one kernel over a grid and gives its findings; array arguments are changed in place.

    `args` are in the order of the parameters: arrays for pointers, numbers for the rest. `perturb` moves the
    results of approximate instructions within their documented error, by random amounts that `seed` fixes.
    `max_steps` bounds the instructions that a batch of blocks may take before a loop counts as endless.
    """
    module = _parsed(ptx)
    kernel = module.kernels.get(entry)
    if kernel is None:
        known = ", ".join(f"`{name}`" for name in module.kernels) or "none"
        raise LaunchError(f"the PTX has no entry `{entry}`; it has {known}")
    if len(grid) != 3 or min(grid) < 1:
        raise LaunchError(f"a grid is three positive numbers, not {grid}")
    launched = _Launch(
        module,
        kernel,
        grid,
        block_shape(kernel, block),
        dynamic_shared,
        checks,
        Perturbation(perturb, seed),
        max_steps or DEFAULT_MAX_STEPS,
    )
    with np.errstate(all="ignore"):
        recorder, stats = launched.run(args)
    name = source_name or next(iter(module.files.values()), None)
    return Result(tuple(recorder.findings), stats, name)


def launch(
    ptx: str,
    entry: str,
    grid: Coordinates,
    args: Sequence[object],
    *,
    block: Coordinates | int | None = None,
    dynamic_shared: int = 0,
    checks: bool = True,
    seed: int = 0,
    perturb: bool = False,
    max_steps: int | None = None,
    source_name: str | None = None,
) -> Result:
    """As `run`, but raises an EmulatorFault with the findings if there are any."""
    result = run(
        ptx,
        entry,
        grid,
        args,
        block=block,
        dynamic_shared=dynamic_shared,
        checks=checks,
        seed=seed,
        perturb=perturb,
        max_steps=max_steps,
        source_name=source_name,
    )
    if result.findings:
        raise EmulatorFault(result)
    return result
