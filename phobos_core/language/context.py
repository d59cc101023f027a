"""The fields of `ctx`, which place a thread in its CTA and the CTA in its grid, and how far each one differs.

`Variation` is the order that the per-thread rules compute with: a value is as varying as the most varying
thing it is made of, so `max` joins two of them.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from phobos_core.language.types import INDEX, ScalarType


class Variation(IntEnum):
    UNIFORM = 0
    WARP_UNIFORM = 1
    VARYING = 2

    @property
    def text(self) -> str:
        return ("uniform", "warp-uniform", "varying")[self]


class CtxField(NamedTuple):
    """`name` is what follows `ctx.`; `constant` says that a compilation knows the value."""

    name: str
    variation: Variation
    doc: str
    constant: bool = False
    type: ScalarType = INDEX


AXES = ("x", "y", "z")

CTX_FIELDS: Mapping[str, CtxField] = MappingProxyType(
    {
        field.name: field
        for field in (
            *(
                CtxField(f"block.{axis}", Variation.UNIFORM, f"The CTA's place in the grid along {axis}.")
                for axis in AXES
            ),
            *(
                CtxField(f"blocks.{axis}", Variation.UNIFORM, f"The number of CTAs in the grid along {axis}.")
                for axis in AXES
            ),
            CtxField(
                "threads",
                Variation.UNIFORM,
                "The number of threads in the CTA, as `@launch` sets it.",
                constant=True,
            ),
            CtxField(
                "warps",
                Variation.UNIFORM,
                "The number of warps in the CTA, `ctx.threads / ctx.lanes`. The CTA must be a whole number of warps.",
                constant=True,
            ),
            CtxField(
                "lanes",
                Variation.UNIFORM,
                "The number of lanes in a warp of the target: 32 on NVIDIA.",
                constant=True,
            ),
            CtxField("thread", Variation.VARYING, "The thread's place in the CTA."),
            CtxField("warp", Variation.WARP_UNIFORM, "The warp's place in the CTA, `ctx.thread / ctx.lanes`."),
            CtxField("lane", Variation.VARYING, "The thread's place in its warp."),
        )
    }
)
