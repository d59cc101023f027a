"""A launch's arguments: arrays into global memory and back, numbers into the bytes of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.decode import DTYPES
from phobos_core.emulator.memory import GlobalSpace, Region
from phobos_core.emulator.ptx import Kernel, Parameter
from phobos_core.emulator.result import LaunchError


@dataclass(slots=True)
class ArrayArgument:
    """The caller's array and the region of global memory that stands for it."""

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


@dataclass(frozen=True, slots=True)
class Arguments:
    """The bytes of every parameter, and the arrays behind those that are pointers."""

    parameters: dict[str, bytes] = field(default_factory=dict)
    arrays: list[ArrayArgument] = field(default_factory=list)

    def copy_out(self) -> None:
        for each in self.arrays:
            each.copy_out()


def bind(kernel: Kernel, args: Sequence[object], space: GlobalSpace) -> Arguments:
    """Gives each array a region of its own and each number its parameter's type."""
    wanted = kernel.parameters
    if len(args) != len(wanted):
        raise LaunchError(f"`{kernel.name}` has {len(wanted)} parameters and got {len(args)} arguments")
    bound = Arguments()
    for parameter, value in zip(wanted, args, strict=True):
        if isinstance(value, np.ndarray):
            if parameter.type not in ("u64", "b64", "s64"):
                raise LaunchError(f"parameter `{parameter.name}` is .{parameter.type} and got an array")
            argument = ArrayArgument(value, space.add(parameter.name, value.nbytes))
            argument.copy_in()
            bound.arrays.append(argument)
            bound.parameters[parameter.name] = argument.region.base.to_bytes(8, "little")
        else:
            bound.parameters[parameter.name] = _scalar_bytes(parameter, value)
    return bound


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
