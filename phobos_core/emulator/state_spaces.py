"""All memory of a launch: the spaces that instructions name, their variables, and the shadows that watch them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.decode import DTYPES
from phobos_core.emulator.layout import Layout
from phobos_core.emulator.machine import Geometry, Recorder
from phobos_core.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    GenericSpace,
    GlobalSpace,
    Space,
    Store,
    WindowSpace,
)
from phobos_core.emulator.provenance import written_parameters
from phobos_core.emulator.ptx import Kernel, Variable
from phobos_core.emulator.shadow import Shadow

ALIGNMENT = 128
SPACES = frozenset({"global", "shared", "local", "const", "param"})
ACCESSES = frozenset({"ld", "ldu", "st", "atom", "red"})


@dataclass(frozen=True, slots=True)
class Memory:
    """Global memory with the arguments and variables in it, shared memory per block, local memory per thread."""

    global_space: GlobalSpace
    shared: WindowSpace
    local: WindowSpace
    symbols: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, geometry: Geometry, recorder: Recorder, shared: Layout, local: Layout) -> Memory:
        return cls(
            GlobalSpace(recorder),
            _window(recorder, "shared", shared.size, geometry.blocks, geometry.block_of),
            _window(recorder, "local", local.size, geometry.lanes, np.arange(geometry.lanes)),
            shared.offsets | local.offsets,
        )

    def add_variables(self, variables: Sequence[Variable]) -> None:
        """Variables of the global and constant spaces, with their initial values."""
        for variable in variables:
            if variable.space in ("global", "const"):
                region = self.global_space.add(variable.name, variable.size or 0, variable.space)
                region.store.data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
                self.symbols[variable.name] = region.base

    def spaces(self) -> dict[str, Space]:
        windows = ((SHARED_WINDOW, self.shared), (LOCAL_WINDOW, self.local))
        return {
            "global": self.global_space,
            "const": self.global_space,
            "shared": self.shared,
            "local": self.local,
            "generic": GenericSpace(self.global_space, windows),
        }

    def stores(self) -> list[Store]:
        return [*(region.store for region in self.global_space.regions), self.shared.store, self.local.store]

    def watch(self, kernel: Kernel) -> None:
        """Shadows as fine as the narrowest access of their space, for tensors that the kernel writes."""
        written = written_parameters(kernel)
        for store in self.stores():
            if store.space == "global" and (written is None or store.name in written):
                store.shadow = Shadow.of(store.data.size, _granule(kernel, "global"), shared_by_blocks=True)
            elif store.space == "shared" and store.data.size:
                store.shadow = Shadow.of(store.data.size, _granule(kernel, "shared"), shared_by_blocks=False)

    def clear(self) -> None:
        """For a new batch: shared memory holds garbage, and nothing is known of earlier accesses."""
        self.shared.store.data[:] = 0xFF
        for store in self.stores():
            if store.shadow:
                store.shadow.clear()


def _window(recorder: Recorder, name: str, size: int, copies: int, owner: npt.NDArray[np.int64]) -> WindowSpace:
    """A space with one part for each of its owners, which `owner` numbers for each lane."""
    stride = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
    return WindowSpace(recorder, name, size, Store.of(name, name, stride * copies if size else 0), owner * stride)


def _granule(kernel: Kernel, space: str) -> int:
    """The exponent of the narrowest access to a space (or to generic addresses), at most 4 bytes."""
    narrowest = 4
    for at in kernel.instructions:
        if at.opcode not in ("ld", "st", "atom", "red", "ldu"):
            continue
        spaces = {word.partition("::")[0] for word in at.modifiers} & SPACES
        if spaces and space not in spaces:
            continue
        dtype = DTYPES.get(at.modifiers[-1])
        if dtype is not None:
            narrowest = min(narrowest, dtype.itemsize)
    return narrowest.bit_length() - 1
