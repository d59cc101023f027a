"""A launch: arguments into memory, the grid in batches through the engine, arguments back out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, reduce
from zlib import crc32

import numpy as np

from phobos_core.emulator.arguments import bind
from phobos_core.emulator.async_copies import AsyncCopies
from phobos_core.emulator.banks import BankCounter
from phobos_core.emulator.between_blocks import BlockOrder, has_fences
from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.clocks import Clocks
from phobos_core.emulator.decode import Decoder, Registers
from phobos_core.emulator.engine import Engine
from phobos_core.emulator.layout import batch_geometry, block_shape, lay_out
from phobos_core.emulator.machine import Active, HaltError, Recorder
from phobos_core.emulator.numerics.perturb import Perturbation
from phobos_core.emulator.ops.integer import CARRY
from phobos_core.emulator.parser import parse
from phobos_core.emulator.program import build
from phobos_core.emulator.ptx import Kernel, Module
from phobos_core.emulator.result import Coordinates, EmulatorFault, LaunchError, Result, Stats
from phobos_core.emulator.schedule import Schedule
from phobos_core.emulator.special import special_registers
from phobos_core.emulator.state_spaces import Memory

DEFAULT_MAX_STEPS = 5_000_000


@lru_cache(maxsize=64)
def _parsed(text: str) -> Module:
    return parse(text)


@dataclass(frozen=True, slots=True)
class _Launch:
    """One kernel over one grid."""

    module: Module
    kernel: Kernel
    grid: Coordinates
    block: Coordinates
    dynamic_shared: int
    checks: bool
    perturbation: Perturbation
    max_steps: int
    profile: bool
    schedule: int | None

    def run(self, args: Sequence[object], source_name: str | None) -> Result:
        kernel = self.kernel
        variables = (*self.module.variables, *kernel.variables)
        shared, local = lay_out(variables, "shared", self.dynamic_shared), lay_out(variables, "local", 0)
        geometry = batch_geometry(kernel, self.grid, self.block, shared.size, local.size)
        recorder = Recorder(geometry, self.schedule)
        memory = Memory.of(geometry, recorder, shared, local)
        arguments = bind(kernel, args, memory.global_space)
        memory.add_variables(variables)
        banks = BankCounter(geometry) if self.profile else None
        memory.shared.observer = banks.see if banks else None
        races = None
        if self.checks:
            clocks = Clocks(geometry)
            races = RaceChecker(geometry, recorder, clocks, BlockOrder(geometry, clocks, has_fences(kernel)))
        everyone = Active.of(np.ones(geometry.lanes, np.bool_))
        copies = AsyncCopies(geometry.lanes, races)
        specials = special_registers(geometry, shared.size, self.dynamic_shared)
        types = {**kernel.registers, CARRY: "pred", **{name: each.type for name, each in specials.items()}}
        rows = {name: each.row for name, each in specials.items()}
        registers = Registers(types, geometry.lanes, rows)
        decoder = Decoder(
            kernel=kernel,
            geometry=geometry,
            recorder=recorder,
            registers=registers,
            spaces=memory.spaces(),
            symbols=memory.symbols,
            parameters=arguments.parameters,
            races=races,
            copies=copies,
            everyone=everyone,
            perturbation=self.perturbation,
        )
        program = build(decoder)
        if races:
            memory.watch(kernel)

        def fingerprint() -> int:
            arrays = (*registers.rows.values(), *(store.data for store in memory.stores()))
            return reduce(lambda so_far, array: crc32(array.data, so_far), arrays, 0)

        schedule = None if self.schedule is None else Schedule(geometry, self.schedule)
        engine = Engine(program, geometry, recorder, races, everyone, self.max_steps, fingerprint, schedule)
        total = math.prod(self.grid)
        with suppress(HaltError):
            for first in schedule.batches(total) if schedule else range(0, total, geometry.blocks):
                geometry.first_block = first
                for each in specials.values():
                    each.update(geometry)
                memory.clear()
                copies.reset()
                if races:
                    races.clocks.reset()
                    races.between.reset()
                engine.run(geometry.block_of < total - first)
        arguments.copy_out()
        stats = Stats(engine.instructions, engine.lane_instructions)
        return Result(tuple(recorder.findings), stats, source_name, banks.accesses() if banks else ())


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
    profile: bool = False,
    schedule: int | None = None,
) -> Result:
    """Runs one kernel over a grid and gives its findings; array arguments are changed in place.

    `args` are in the order of the parameters: arrays for pointers, numbers for the rest. `perturb` moves the
    results of approximate instructions within their documented error, by random amounts that `seed` fixes.
    `max_steps` bounds the instructions that a batch of blocks may take before a loop counts as endless.
    `profile` counts the accesses to shared memory and their bank conflicts. `schedule` is the seed of an order in which
    warps and blocks run, other than all in step.
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
        profile,
        schedule,
    )
    with np.errstate(all="ignore"):
        return launched.run(args, source_name or next(iter(module.files.values()), None))


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
    schedule: int | None = None,
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
        schedule=schedule,
    )
    if result.findings:
        raise EmulatorFault(result)
    return result
