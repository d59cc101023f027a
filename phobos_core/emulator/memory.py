"""State spaces: addresses in, a byte array and indices into it out, or a fault with the lane that caused it.

Global tensors lie far apart, so that an access past the end of one never lands in another. Shared and local
memory repeat one layout per block and per thread. Generic addresses name a window for shared, one for local,
else global.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.machine import Active, Array, HaltError, Index, Recorder
from phobos_core.emulator.ptx import Instruction
from phobos_core.emulator.shadow import Shadow

GUARD = 1 << 32
SHARED_WINDOW = 1 << 56
LOCAL_WINDOW = 1 << 57
WINDOW_SIZE = 1 << 32
PADDING = 16


@dataclass(slots=True)
class Store:
    """Bytes, with typed views of them."""

    name: str
    space: str
    data: npt.NDArray[np.uint8]
    shadow: Shadow | None = None
    _views: dict[np.dtype[Any], Array] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, space: str, size: int) -> Store:
        return cls(name, space, np.zeros(-(-size // PADDING) * PADDING, np.uint8))

    def view(self, dtype: np.dtype[Any]) -> Array:
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.data.view(dtype)
        return found


class Chunk(NamedTuple):
    """A store, byte offsets into it, and which of the active lanes they belong to (None: all of them).

    `low` and `high` bound the bytes touched, within the tensor or within each block's or thread's part.
    """

    store: Store
    offsets: Index
    chosen: Index | None
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Access:
    """Who accesses, how wide, and at a multiple of what (the width unless said otherwise)."""

    site: Instruction
    size: int
    align: int = 0

    @property
    def alignment(self) -> int:
        return self.align or self.size


def _first_misaligned(addresses: Index, size: int) -> int | None:
    if size > 1 and int(np.bitwise_or.reduce(addresses)) & (size - 1):
        return int(np.flatnonzero(addresses & (size - 1))[0])
    return None


def _misaligned(recorder: Recorder, access: Access, active: Active, addresses: Index, at: int) -> HaltError:
    address = int(addresses[at])
    return recorder.halt(
        "misaligned",
        f"`{access.site.name}` needs a multiple of {access.alignment} as its address and got {address:#x}",
        access.site,
        int(active.lanes[at]),
        address,
    )


@dataclass(slots=True)
class Region:
    base: int
    size: int
    store: Store


@dataclass(slots=True)
class GlobalSpace:
    recorder: Recorder
    regions: list[Region] = field(default_factory=list)

    def add(self, name: str, size: int, space: str = "global") -> Region:
        last = self.regions[-1].base + self.regions[-1].size if self.regions else 0
        base = (last + 2 * GUARD - 1) // GUARD * GUARD
        region = Region(base, size, Store.of(name, space, size))
        self.regions.append(region)
        return region

    def resolve(self, access: Access, addresses: Index, active: Active) -> Iterator[Chunk] | tuple[Chunk, ...]:
        low, high = int(addresses.min()), int(addresses.max()) + access.size
        for region in self.regions:
            if region.base <= low and high <= region.base + region.size:
                offsets = addresses - region.base
                at = _first_misaligned(offsets, access.alignment)
                if at is not None:
                    raise _misaligned(self.recorder, access, active, addresses, at)
                return (Chunk(region.store, offsets, None, low - region.base, high - region.base),)
        return self._resolve_apart(access, addresses, active)

    def _resolve_apart(self, access: Access, addresses: Index, active: Active) -> Iterator[Chunk]:
        bases = np.array([region.base for region in self.regions], np.int64)
        owner = np.searchsorted(bases, addresses, side="right") - 1
        ends = np.array([region.base + region.size for region in self.regions] or [0], np.int64)
        outside = (owner < 0) | (addresses + access.size > ends[owner])
        if outside.any():
            raise self._outside(access, addresses, active, int(np.flatnonzero(outside)[0]))
        at = _first_misaligned(addresses, access.alignment)
        if at is not None:
            raise _misaligned(self.recorder, access, active, addresses, at)
        for number in np.unique(owner):
            chosen = np.flatnonzero(owner == number)
            region = self.regions[number]
            yield Chunk(region.store, addresses[chosen] - region.base, chosen, 0, region.size)

    def _outside(self, access: Access, addresses: Index, active: Active, at: int) -> HaltError:
        address = int(addresses[at])
        message = f"`{access.site.name}` of {access.size} bytes at {address:#x}, which is in no argument"
        for region in self.regions:
            if region.base - GUARD < address < region.base + region.size + GUARD // 2:
                offset = address - region.base
                message = (
                    f"`{access.site.name}` of {access.size} bytes at byte {offset} of `{region.store.name}`, "
                    f"which has {region.size} bytes"
                )
                break
        return self.recorder.halt("out-of-bounds", message, access.site, int(active.lanes[at]), address)


@dataclass(slots=True)
class WindowSpace:
    """Shared or local memory: the same addresses from 0 in each block or thread, apart in the store."""

    recorder: Recorder
    name: str
    size: int
    store: Store
    base_of_lane: Index
    # Told of every access that is in bounds: the instruction, its size, the addresses, the lanes.
    observer: Callable[[Instruction, int, Index, Active], None] | None = None

    def resolve(self, access: Access, addresses: Index, active: Active) -> tuple[Chunk, ...]:
        at = _first_misaligned(addresses, access.alignment)
        if at is not None:
            raise _misaligned(self.recorder, access, active, addresses, at)
        low, high = int(addresses.min()), int(addresses.max()) + access.size
        if low < 0 or high > self.size:
            outside = (addresses < 0) | (addresses + access.size > self.size)
            at = int(np.flatnonzero(outside)[0])
            address = int(addresses[at])
            raise self.recorder.halt(
                "out-of-bounds",
                f"`{access.site.name}` of {access.size} bytes at byte {address} of {self.name} memory, "
                f"which has {self.size} bytes",
                access.site,
                int(active.lanes[at]),
                address,
            )
        if self.observer is not None:
            self.observer(access.site, access.size, addresses, active)
        return (Chunk(self.store, addresses + active.select(self.base_of_lane), None, low, high),)


@dataclass(slots=True)
class GenericSpace:
    global_space: GlobalSpace
    windows: tuple[tuple[int, WindowSpace], ...]

    def resolve(self, access: Access, addresses: Index, active: Active) -> Iterator[Chunk] | tuple[Chunk, ...]:
        if int(addresses.max()) < SHARED_WINDOW:
            return self.global_space.resolve(access, addresses, active)
        return self._resolve_apart(access, addresses, active)

    def _resolve_apart(self, access: Access, addresses: Index, active: Active) -> Iterator[Chunk]:
        left = np.ones(addresses.size, np.bool_)
        for base, space in self.windows:
            inside = (addresses >= base) & (addresses < base + WINDOW_SIZE)
            left &= ~inside
            yield from self._part(space, base, inside, access, addresses, active)
        yield from self._part(self.global_space, 0, left, access, addresses, active)

    @staticmethod
    def _part(
        space: WindowSpace | GlobalSpace,
        base: int,
        chosen: npt.NDArray[np.bool_],
        access: Access,
        addresses: Index,
        active: Active,
    ) -> Iterator[Chunk]:
        at = np.flatnonzero(chosen)
        if not at.size:
            return
        mask = np.zeros(active.mask.size, np.bool_)
        mask[active.lanes[at]] = True
        for chunk in space.resolve(access, addresses[at] - base, Active.of(mask)):
            yield chunk._replace(chosen=at if chunk.chosen is None else at[chunk.chosen])


Space = GlobalSpace | WindowSpace | GenericSpace
