"""A launch: arguments into memory, the grid in batches through the engine, arguments back out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from zlib import crc32

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.async_copies import AsyncCopies
from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.clocks import MAX_BLOCKS, Clocks
from phobos_core.emulator.decode import DTYPES, Decoder, Registers
from phobos_core.emulator.engine import Engine
from phobos_core.emulator.machine import Active, Geometry, HaltError, Recorder
from phobos_core.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    GenericSpace,
    GlobalSpace,
    Region,
    Space,
    Store,
    WindowSpace,
)
from phobos_core.emulator.numerics.perturb import Perturbation
from phobos_core.emulator.ops.integer import CARRY
from phobos_core.emulator.parser import parse
from phobos_core.emulator.program import build, polls
from phobos_core.emulator.provenance import written_parameters
from phobos_core.emulator.ptx import Kernel, Module, Parameter, Variable
from phobos_core.emulator.result import Coordinates, EmulatorFault, LaunchError, Result, Stats
from phobos_core.emulator.shadow import Shadow
from phobos_core.emulator.special import special_registers

DEFAULT_MAX_STEPS = 5_000_000
LANES_PER_BATCH = 8192
POLLING_LANES_PER_BATCH = 1 << 16
BYTES_PER_BATCH = 64 << 20
REGISTER_BYTES_PER_BATCH = 32 << 20
MAX_THREADS = 1024
ALIGNMENT = 128


@lru_cache(maxsize=64)
def _parsed(text: str) -> Module:
    return parse(text)


@dataclass(slots=True)
class Layout:
    """Where the variables of a window lie."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def place(self, variable: Variable, size: int) -> None:
        align = max(1, variable.align)
        start = -(-self.size // align) * align
        self.offsets[variable.name] = start
        self.size = start + size


def _layout(variables: Sequence[Variable], space: str, dynamic: int) -> Layout:
    layout = Layout()
    for variable in variables:
        if variable.space == space and variable.size:
            layout.place(variable, variable.size)
    unsized = [variable for variable in variables if variable.space == space and not variable.size]
    if unsized:
        # All unsized arrays share the dynamic part.
        start = max(layout.size, 0)
        align = max([16, *(variable.align for variable in unsized)])
        start = -(-start // align) * align
        layout.offsets |= {variable.name: start for variable in unsized}
        layout.size = start + dynamic
    return layout


def _scalar_bytes(parameter: Parameter, value: object) -> bytes:
    """A scalar argument in its parameter's type; `.b32` and `.b64` take a float as its bits."""
    dtype = DTYPES.get(parameter.type)
    if dtype is None:
        raise LaunchError(f"parameter `{parameter.name}` has type .{parameter.type}, which no argument can have")
    if isinstance(value, np.generic) and value.dtype.itemsize == dtype.itemsize and dtype.kind != "f":
        return value.tobytes()
    if isinstance(value, (float, np.floating)) and dtype.kind != "f":
        if parameter.type[0] != "b" or dtype.itemsize not in (2, 4, 8):
            raise LaunchError(f"parameter `{parameter.name}` is an integer (.{parameter.type}) and got {value!r}")
        return np.array(value, f"f{dtype.itemsize}").tobytes()
    if isinstance(value, (bool, int, float, np.generic)):
        if dtype.kind == "f":
            return np.array(value, dtype).tobytes()
        return (int(value) & ((1 << 8 * dtype.itemsize) - 1)).to_bytes(dtype.itemsize, "little")
    raise LaunchError(f"parameter `{parameter.name}` needs a number or an array and got {type(value).__name__}")


@dataclass(slots=True)
class _Argument:
    array: npt.NDArray[np.generic]
    region: Region

    def copy_in(self) -> None:
        raw = np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)
        self.region.store.data[: raw.size] = raw

    def copy_out(self) -> None:
        """Back into the caller's array, which may be a strided view; one that did not change is left alone."""
        raw = self.region.store.data[: self.region.size]
        if np.array_equal(raw, np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)):
            return
        if not self.array.flags.writeable:
            raise LaunchError(f"the kernel writes to `{self.region.store.name}`, which is a read-only array")
        self.array[...] = raw.copy().view(self.array.dtype).reshape(self.array.shape)


def _block_shape(kernel: Kernel, block: Coordinates | int | None) -> Coordinates:
    given = kernel.directives.get("reqntid") or kernel.directives.get("maxntid")
    if block is not None:
        given = (block,) if isinstance(block, int) else block
    if not given:
        raise LaunchError(f"`{kernel.name}` has no .maxntid, so the launch must say the block's shape")
    x, y, z = (*given, 1, 1)[:3]
    threads = x * y * z
    limit = math.prod(kernel.directives.get("maxntid", (MAX_THREADS,)))
    if not 0 < threads <= min(limit, MAX_THREADS):
        raise LaunchError(f"a block of {threads} threads, where `{kernel.name}` allows 1 to {min(limit, MAX_THREADS)}")
    return x, y, z


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
    arguments: list[_Argument] = field(default_factory=list)
    parameters: dict[str, bytes] = field(default_factory=dict)
    symbols: dict[str, tuple[str, int]] = field(default_factory=dict)

    def run(self, args: Sequence[object]) -> tuple[Recorder, Stats]:
        kernel = self.kernel
        variables = (*self.module.variables, *kernel.variables)
        shared, local = _layout(variables, "shared", self.dynamic_shared), _layout(variables, "local", 0)
        geometry = self._geometry(shared.size, local.size)
        recorder = Recorder(geometry)
        global_space = GlobalSpace(recorder)
        self._bind(args, global_space)
        for variable in variables:
            if variable.space in ("global", "const"):
                region = global_space.add(variable.name, variable.size or 0, variable.space)
                region.store.data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
                self.symbols[variable.name] = (variable.space, region.base)
        self.symbols |= {name: ("shared", at) for name, at in shared.offsets.items()}
        self.symbols |= {name: ("local", at) for name, at in local.offsets.items()}
        races = RaceChecker(geometry, recorder, Clocks(geometry)) if self.checks else None
        windows = {
            "shared": _window(recorder, "shared", shared.size, geometry.blocks, geometry.block_of),
            "local": _window(recorder, "local", local.size, geometry.lanes, np.arange(geometry.lanes)),
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
            self.parameters,
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
        for argument in self.arguments:
            argument.copy_out()
        return recorder, Stats(engine.instructions, engine.lane_instructions)

    def _geometry(self, shared: int, local: int) -> Geometry:
        """As many blocks at once as keep arrays near the cache and memory bounded, in equal batches."""
        threads, total = math.prod(self.block), math.prod(self.grid)
        if any(polls(at) for at in self.kernel.instructions):
            # Blocks may wait for each other, so as many as can should be there together.
            lanes = POLLING_LANES_PER_BATCH
        else:
            registers = sum(DTYPES[kind].itemsize for kind in self.kernel.registers.values() if kind in DTYPES)
            lanes = min(LANES_PER_BATCH, REGISTER_BYTES_PER_BATCH // max(1, registers))
        per_block = max(1, shared + local * threads)
        most = max(1, min(lanes // threads, BYTES_PER_BATCH // per_block, MAX_BLOCKS, total))
        batches = max(1, -(-total // most))
        return Geometry(self.grid, self.block, max(1, -(-total // batches)))

    def _bind(self, args: Sequence[object], space: GlobalSpace) -> None:
        wanted = self.kernel.parameters
        if len(args) != len(wanted):
            raise LaunchError(f"`{self.kernel.name}` has {len(wanted)} parameters and got {len(args)} arguments")
        for parameter, value in zip(wanted, args, strict=True):
            if isinstance(value, np.ndarray):
                if parameter.size != 8 or parameter.type not in ("u64", "b64", "s64"):
                    raise LaunchError(f"parameter `{parameter.name}` is .{parameter.type} and got an array")
                argument = _Argument(value, space.add(parameter.name, value.nbytes))
                argument.copy_in()
                self.arguments.append(argument)
                self.parameters[parameter.name] = argument.region.base.to_bytes(8, "little")
            else:
                self.parameters[parameter.name] = _scalar_bytes(parameter, value)

    def _add_shadows(self, global_space: GlobalSpace, shared: WindowSpace) -> None:
        """Shadows as fine as the narrowest access of their space, for tensors that the kernel writes."""
        written = written_parameters(self.kernel)
        for region in global_space.regions:
            if region.store.space == "global" and (written is None or region.store.name in written):
                region.store.shadow = Shadow.of(
                    region.store.data.size, _granule(self.kernel, "global"), shared_by_blocks=True
                )
        if shared.size:
            shared.store.shadow = Shadow.of(
                shared.store.data.size, _granule(self.kernel, "shared"), shared_by_blocks=False
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


def _window(recorder: Recorder, name: str, size: int, copies: int, owner: npt.NDArray[np.int64]) -> WindowSpace:
    stride = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
    return WindowSpace(recorder, name, size, Store.of(name, name, stride * copies if size else 0), owner * stride)


def _granule(kernel: Kernel, space: str) -> int:
    """The exponent of the narrowest access to a space (or to generic addresses), at most 4 bytes."""
    narrowest = 4
    for at in kernel.instructions:
        if at.opcode not in ("ld", "st", "atom", "red", "ldu"):
            continue
        spaces = {word.partition("::")[0] for word in at.modifiers} & {
            "global",
            "shared",
            "local",
            "const",
            "param",
        }
        if spaces and space not in spaces:
            continue
        dtype = DTYPES.get(at.modifiers[-1])
        if dtype is not None:
            narrowest = min(narrowest, dtype.itemsize)
    return narrowest.bit_length() - 1


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
        _block_shape(kernel, block),
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
