"""What the threads of a warp do together: shuffles, votes, matches, reductions, warp barriers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import WARP, Active, Array, Geometry, Index, Mask
from phobos_core.emulator.ptx import Immediate, Instruction, Operand, Pair, Register

FULL = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Warps:
    """Lanes laid out as rows of 32, one row per warp; a short last warp leaves its row unfilled."""

    geometry: Geometry

    @property
    def number(self) -> Index:
        return self.geometry.block_of * self.geometry.warps + self.geometry.warp_of

    def rows(self, values: Array, fill: Value) -> Array:
        g = self.geometry
        out = np.full((g.blocks * g.warps, WARP), fill, values.dtype)
        out[self.number, g.lane_of] = values
        return out

    def ballot(self, mask: Mask) -> Array:
        """For each lane, the bits of its warp's lanes that are set."""
        bits = np.packbits(self.rows(mask, np.bool_(False)), axis=1, bitorder="little").view("<u4").reshape(-1)
        return bits[self.number]


@dataclass(frozen=True, slots=True)
class Collective:
    """Checks that all lanes named in a member mask execute the instruction together."""

    decoder: Decoder
    at: Instruction
    members: Value
    warps: Warps
    existing: Array
    always_complete: bool

    @classmethod
    def of(cls, decoder: Decoder, at: Instruction, operand: Operand) -> Collective:
        members = decoder.read(operand, "b32", at)
        warps = Warps(decoder.geometry)
        everyone = np.ones(decoder.geometry.lanes, np.bool_)
        constant = isinstance(operand, Immediate) and int(members) == FULL
        return cls(decoder, at, members, warps, warps.ballot(everyone), constant)

    def check(self, active: Active) -> Array:
        """The member mask of each lane, once it is sure that these lanes are here."""
        members = np.broadcast_to(self.members, self.decoder.geometry.lanes) & self.existing
        if active.full and self.always_complete:
            return members
        here = self.warps.ballot(active.mask)
        lane_bit = np.uint32(1) << self.decoder.geometry.lane_of.astype(np.uint32)
        outside = active.mask & ((members & lane_bit) == 0)
        missing = active.mask & ((members & ~here) != 0)
        if np.count_nonzero(outside):
            lane = int(np.flatnonzero(outside)[0])
            raise self.decoder.recorder.halt(
                "divergent-collective",
                f"`{self.at.name}` is executed by a lane that its member mask leaves out",
                self.at,
                lane,
            )
        if np.count_nonzero(missing):
            lane = int(np.flatnonzero(missing)[0])
            absent = int(members[lane] & ~here[lane])
            first = (absent & -absent).bit_length() - 1
            raise self.decoder.recorder.halt(
                "divergent-collective",
                f"`{self.at.name}` needs all lanes of its member mask {int(members[lane]):#010x}, "
                f"but lane {first} of the warp does not reach it with the others",
                self.at,
                lane,
            )
        return members


# Shuffles


def _source_lane(mode: str, lane: Array, b: Array, c: Array) -> tuple[Array, Mask]:
    """The lane to read from and whether it lies within the piece, as the manual computes them."""
    segments = (c >> 8) & 31
    limit = (lane & segments) | (c & 31 & ~segments)
    amount = b & 31
    match mode:
        case "up":
            source = lane - amount
            return source, source >= limit
        case "down":
            source = lane + amount
        case "bfly":
            source = lane ^ amount
        case _:
            source = (lane & segments) | (amount & ~segments)
    return source, source <= limit


def shfl(decoder: Decoder, at: Instruction) -> MicroOp:
    if at.modifiers[0] != "sync" or at.modifiers[1] not in ("up", "down", "bfly", "idx"):
        raise unsupported(at)
    mode = at.modifiers[1]
    target = at.operands[0]
    predicate = decoder.write(target.second, "pred", at) if isinstance(target, Pair) else None
    destination = decoder.write(target.first if isinstance(target, Pair) else target, "b32", at)
    value = decoder.read(at.operands[1], "b32", at)
    b, c = decoder.read(at.operands[2], "b32", at), decoder.read(at.operands[3], "b32", at)
    collective = Collective.of(decoder, at, at.operands[4])
    geometry = decoder.geometry
    constant = isinstance(at.operands[2], Immediate) and isinstance(at.operands[3], Immediate)

    def sources() -> tuple[Index, Mask]:
        lane = geometry.lane_of
        source, within = _source_lane(mode, lane, np.asarray(b).astype(np.int64), np.asarray(c).astype(np.int64))
        # A lane that a short last warp lacks counts as outside.
        within = within & (source < geometry.warp_size)
        return geometry.warp_start + np.where(within, source, lane), within

    fixed = sources() if constant else None

    def run(active: Active) -> None:
        members = collective.check(active)
        origin, within = fixed or sources()
        if not (active.full and collective.always_complete):
            _check_source(collective, active, members, origin)
        result = np.broadcast_to(value, geometry.lanes).take(origin)
        if active.full:
            destination[...] = result
            if predicate is not None:
                predicate[...] = within
        else:
            np.putmask(destination, active.mask, result)
            if predicate is not None:
                np.putmask(predicate, active.mask, within)

    return decoder.effect(run)


def _check_source(collective: Collective, active: Active, members: Array, origin: Index) -> None:
    lane = (origin - collective.decoder.geometry.warp_start).astype(np.uint32)
    absent = active.mask & ((members >> lane) & np.uint32(1) == 0)
    if np.count_nonzero(absent):
        at = int(np.flatnonzero(absent)[0])
        raise collective.decoder.recorder.halt(
            "divergent-collective",
            f"`{collective.at.name}` reads lane {int(lane[at])}, which its member mask leaves out",
            collective.at,
            at,
        )


# Votes and matches


def vote(decoder: Decoder, at: Instruction) -> MicroOp:
    if at.modifiers[0] != "sync":
        raise unsupported(at)
    mode = at.modifiers[1]
    operand = at.operands[1]
    source, negated = decoder.predicate(operand, at)
    collective = Collective.of(decoder, at, at.operands[2])
    destination = decoder.write(at.operands[0], at.modifiers[-1], at)

    def run(active: Active) -> None:
        members = collective.check(active)
        row = np.broadcast_to(source, active.mask.size)
        votes = collective.warps.ballot((~row if negated else row) & active.mask) & members
        result: Array
        match mode:
            case "ballot":
                result = votes
            case "any":
                result = votes != 0
            case "all":
                result = votes == members
            case "uni":
                result = (votes == members) | (votes == 0)
            case _:
                raise unsupported(at)
        np.putmask(destination, active.mask, result)

    return decoder.effect(run)


def activemask(decoder: Decoder, at: Instruction) -> MicroOp:
    destination = decoder.write(at.operands[0], "b32", at)
    warps = Warps(decoder.geometry)
    return decoder.effect(lambda active: np.putmask(destination, active.mask, warps.ballot(active.mask)))


def match(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    every = at.modifiers[0] == "all"
    target = at.operands[0]
    predicate = decoder.write(target.second, "pred", at) if isinstance(target, Pair) else None
    destination = decoder.write(target.first if isinstance(target, Pair) else target, "b32", at)
    source = decoder.read(at.operands[1], kind, at)
    collective = Collective.of(decoder, at, at.operands[2])

    def run(active: Active) -> None:
        members = collective.check(active)
        warps = collective.warps
        rows = warps.rows(np.ascontiguousarray(np.broadcast_to(source, active.mask.size)), source.dtype.type(0))
        equal = rows[:, :, None] == rows[:, None, :]
        bits = np.packbits(equal, axis=2, bitorder="little").view("<u4")[:, :, 0]
        same = bits[warps.number, decoder.geometry.lane_of] & members
        if every:
            agree = same == members
            np.putmask(destination, active.mask, np.where(agree, members, np.uint32(0)))
            if predicate is not None:
                np.putmask(predicate, active.mask, agree)
        else:
            np.putmask(destination, active.mask, same)

    return decoder.effect(run)


# Reductions

_REDUCTIONS: dict[str, tuple[np.ufunc, Callable[[np.dtype[Any]], int | float]]] = {
    "add": (np.add, lambda kind: 0),
    "and": (np.bitwise_and, lambda kind: -1),
    "or": (np.bitwise_or, lambda kind: 0),
    "xor": (np.bitwise_xor, lambda kind: 0),
    "min": (np.minimum, lambda kind: np.inf if kind.kind == "f" else int(np.iinfo(kind).max)),
    "max": (np.maximum, lambda kind: -np.inf if kind.kind == "f" else int(np.iinfo(kind).min)),
}


def redux(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    operation = at.modifiers[1]
    if at.modifiers[0] != "sync" or operation not in _REDUCTIONS:
        raise unsupported(at)
    function, start = _REDUCTIONS[operation]
    destination = decoder.write(at.operands[0], kind, at)
    source = decoder.read(at.operands[1], kind, at)
    if source.dtype.kind == "f":
        if "NaN" not in at.modifiers:
            function = np.fmin if operation == "min" else np.fmax
        if "abs" in at.modifiers:
            plain = function
            return _reduce(decoder, at, destination, source, lambda a: plain.reduce(np.abs(a), axis=1), start)
    return _reduce(decoder, at, destination, source, lambda a: function.reduce(a, axis=1, dtype=a.dtype), start)


def _reduce(
    decoder: Decoder,
    at: Instruction,
    destination: Array,
    source: Value,
    function: Callable[[Array], Array],
    start: Callable[[np.dtype[Any]], int | float],
) -> MicroOp:
    collective = Collective.of(decoder, at, at.operands[2])
    identity = np.array(start(source.dtype)).astype(source.dtype)[()]

    def run(active: Active) -> None:
        members = collective.check(active)
        warps = collective.warps
        for group in np.unique(members[active.mask]):
            mask = active.mask & (members == group)
            values = np.where(mask, source, identity)
            result = function(warps.rows(values, identity))[warps.number]
            np.putmask(destination, mask, result)

    return decoder.effect(run)


def elect(decoder: Decoder, at: Instruction) -> MicroOp:
    """The lowest member lane leads; its predicate is true."""
    target = at.operands[0]
    if at.modifiers != ("sync",) or not isinstance(target, Pair):
        raise unsupported(at)
    collective = Collective.of(decoder, at, at.operands[1])
    leader_row = decoder.write(target.first, "b32", at) if target.first != Register("_") else None
    predicate = decoder.write(target.second, "pred", at)

    def run(active: Active) -> None:
        members = collective.check(active)
        lowest = members & (~members + np.uint32(1))
        leader = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
        if leader_row is not None:
            np.putmask(leader_row, active.mask, leader)
        np.putmask(predicate, active.mask, leader == decoder.geometry.lane_of)

    return decoder.effect(run)


def warp_barrier(decoder: Decoder, at: Instruction) -> MicroOp:
    """`bar.warp.sync`: the lanes of a warp order their memory accesses."""
    collective = Collective.of(decoder, at, at.operands[0])
    races = decoder.races

    def run(active: Active) -> None:
        collective.check(active)
        if races:
            races.clocks.warp_barrier(active.mask)

    return decoder.effect(run)


TABLE: dict[str, Entry] = {
    "shfl": entry(shfl, "sync up down bfly idx", operands=5),
    "vote": entry(vote, "sync all any uni ballot", operands=3),
    "activemask": entry(activemask, operands=1),
    "match": entry(match, "sync any all", operands=3),
    "redux": entry(redux, "sync add and or xor min max abs NaN", operands=3),
    "elect": entry(elect, "sync", operands=2),
    "bar.warp": entry(warp_barrier, "warp sync", operands=1),
}
