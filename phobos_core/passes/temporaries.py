"""Shared temporaries: the ops that put a tile into a buffer of its own and read it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Op, Value
from phobos_core.ir.rewrite import with_attrs
from phobos_core.ir.types import TileType


@dataclass(frozen=True, slots=True)
class Temporary:
    """`write` stands where the tile is computed, `read` (which gives `tile`) anywhere after it."""

    write: Sequence[Op]
    read: Sequence[Op]
    tile: Value


def temporary(name: str, tile: Value, line: int) -> Temporary:
    """A buffer called `name` in the report that holds `tile`."""
    assert isinstance(tile.type, TileType)
    write, read = Builder(line), Builder(line)
    mem, token = write.alloc(name, tile.type.element, tile.type.shape)
    write.ops[-1] = with_attrs(write.ops[-1], temporary=True)
    written = write.store(write.whole(mem), tile, token)
    loaded = read.load(read.whole(mem), written)
    return Temporary(write.ops, read.ops, loaded)
