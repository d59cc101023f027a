"""An instruction in, a micro-operation out: two functions on rows of register values.

A register is a row with one element per lane, held as unsigned bits; an instruction sees it through a typed
view. A micro-operation runs either on all lanes or under a mask, so that the common case pays for no mask.
Handlers in `ops` build micro-operations with the helpers here; running them is the business of `engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from phobos_core.emulator.async_copies import AsyncCopies
from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.machine import Active, Array, Geometry, Index, Recorder
from phobos_core.emulator.memory import Space
from phobos_core.emulator.numerics.perturb import Perturbation
from phobos_core.emulator.ptx import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    Not,
    Operand,
    PtxError,
    Register,
    Symbol,
)

# A row, or a scalar that stands for a row of equal elements. Its element type is known only once an
# instruction is decoded, which NumPy's type annotations cannot follow.
Value = Any


@dataclass(frozen=True, slots=True)
class MicroOp:
    """`full` runs on every lane; `masked` on the active ones."""

    full: Callable[[], object]
    masked: Callable[[Active], object]


Handler = Callable[["Decoder", Instruction], MicroOp]


@dataclass(frozen=True, slots=True)
class Entry:
    """How an opcode is decoded: its handler, the modifiers beside types that it knows, how many operands it takes."""

    handler: Handler
    modifiers: frozenset[str]
    operands: range

    def understands(self, at: Instruction) -> bool:
        return len(at.operands) in self.operands and all(self._knows(each) for each in at.modifiers)

    def _knows(self, modifier: str) -> bool:
        if modifier in self.modifiers or modifier in DTYPES:
            return True
        family, colons, _ = modifier.partition("::")
        return bool(colons) and f"{family}::*" in self.modifiers


def entry(handler: Handler, modifiers: str = "", *, operands: int | tuple[int, int]) -> Entry:
    least, most = (operands, operands) if isinstance(operands, int) else operands
    return Entry(handler, frozenset(modifiers.split()), range(least, most + 1))


NOTHING = MicroOp(lambda: None, lambda active: None)

DTYPES: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.uint16),
    "f16x2": np.dtype(np.uint32),
    "bf16x2": np.dtype(np.uint32),
    "f32x2": np.dtype(np.uint64),
    "tf32": np.dtype(np.uint32),
    "s16x2": np.dtype(np.uint32),
    "u16x2": np.dtype(np.uint32),
    "e4m3x2": np.dtype(np.uint16),
    "e5m2x2": np.dtype(np.uint16),
} | {
    f"{kind}{bits}": np.dtype(f"{'i' if kind == 's' else 'u'}{bits // 8}")
    for kind in ("b", "u", "s")
    for bits in (8, 16, 32, 64)
}

_ROW_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
}


def literal(immediate: Immediate, dtype: np.dtype[Any]) -> Value:
    """The literal as a value of the type: the bits for a literal of its width, a conversion otherwise."""
    if immediate.kind == "int":
        bits = immediate.value
    elif immediate.kind == "f32":
        if dtype == np.float64:
            return np.float64(np.uint32(immediate.value).view(np.float32))
        bits = immediate.value
    else:
        if dtype in (np.float32, np.float16):
            return dtype.type(np.uint64(immediate.value).view(np.float64))
        bits = immediate.value
    if dtype == np.bool_:
        return np.bool_(bits != 0)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return unsigned.type(bits & ((1 << 8 * dtype.itemsize) - 1)).view(dtype)


@dataclass(slots=True)
class Registers:
    """Rows by register name; one is made when first asked for."""

    types: Mapping[str, str]
    lanes: int
    rows: dict[str, Array] = field(default_factory=dict)
    views: dict[tuple[str, np.dtype[Any]], Array] = field(default_factory=dict)

    def row(self, name: str, at: Instruction) -> Array:
        found = self.rows.get(name)
        if found is None:
            kind = self.types.get(name, "")
            if kind not in DTYPES:
                problem = f"`{name}` is not declared" if not kind else f"registers of type .{kind}"
                raise PtxError(f"{problem} in `{at.name}`", at.ptx_line, at.line)
            dtype = DTYPES[kind]
            row_type: np.dtype[Any] = dtype if dtype == np.bool_ else _ROW_TYPES[dtype.itemsize]
            found = self.rows[name] = np.zeros(self.lanes, row_type)
        return found

    def view(self, name: str, dtype: np.dtype[Any], at: Instruction) -> Array:
        key = (name, dtype)
        found = self.views.get(key)
        if found is None:
            row = self.row(name, at)
            if (row.dtype == np.bool_) != (dtype == np.bool_) or row.itemsize < dtype.itemsize:
                raise PtxError(f"`{name}` is too narrow for `{at.name}`", at.ptx_line, at.line)
            # The low part of a wider register: little-endian bits come first.
            found = self.views[key] = row.view(dtype)[:: row.itemsize // dtype.itemsize]
        return found


@dataclass(slots=True)
class Decoder:
    """What handlers need to know to turn an instruction into a micro-operation."""

    kernel: Kernel
    geometry: Geometry
    recorder: Recorder
    registers: Registers
    spaces: Mapping[str, Space]
    symbols: Mapping[str, int]
    parameters: Mapping[str, bytes]
    races: RaceChecker | None
    copies: AsyncCopies
    everyone: Active
    perturbation: Perturbation

    # Operands

    def dtype(self, kind: str, at: Instruction) -> np.dtype[Any]:
        found = DTYPES.get(kind)
        if found is None:
            raise PtxError(f"type .{kind} of `{at.name}` is not supported", at.ptx_line, at.line)
        return found

    def read(self, operand: Operand, kind: str, at: Instruction) -> Value:
        """The operand as a row, or as a scalar if it is the same in every lane."""
        dtype = self.dtype(kind, at)
        match operand:
            case Register(name):
                return self.registers.view(name, dtype, at)
            case Immediate():
                return literal(operand, dtype)
            case Symbol(name, offset):
                return dtype.type(self.address_of(name, at) + offset)
            case Not(register):
                return self.registers.view(register.name, dtype, at)
        raise PtxError(f"operand of `{at.name}` not understood", at.ptx_line, at.line)

    def write(self, operand: Operand, kind: str, at: Instruction) -> Array:
        """The whole destination register, as the type's kind of number in the register's own width."""
        if not isinstance(operand, Register):
            raise PtxError(f"`{at.name}` needs a register as its destination", at.ptx_line, at.line)
        dtype = self.dtype(kind, at)
        if operand.name == "_":
            return np.zeros(self.geometry.lanes, dtype)
        width = self.registers.row(operand.name, at).itemsize
        if dtype != np.bool_ and width > dtype.itemsize:
            dtype = np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{width}")
        return self.registers.view(operand.name, dtype, at)

    def read_all(self, at: Instruction, kind: str, first: int = 1) -> list[Value]:
        return [self.read(operand, kind, at) for operand in at.operands[first:]]

    def predicate(self, operand: Operand, at: Instruction) -> tuple[Value, bool]:
        """A predicate's row and whether it is negated."""
        return self.read(operand, "pred", at), isinstance(operand, Not)

    def is_predicate(self, operand: Operand) -> bool:
        if isinstance(operand, Not):
            return True
        return isinstance(operand, Register) and self.registers.types.get(operand.name) == "pred"

    def address_of(self, name: str, at: Instruction) -> int:
        found = self.symbols.get(name)
        if found is None:
            raise PtxError(f"`{name}` in `{at.name}` is not defined", at.ptx_line, at.line)
        return found

    def address(self, operand: Operand, at: Instruction) -> Callable[[Active], Index]:
        """A function from active lanes to their addresses, in bytes."""
        if not isinstance(operand, Address):
            raise PtxError(f"`{at.name}` needs an address in brackets", at.ptx_line, at.line)
        offset = operand.offset
        match operand.base:
            case Register(name):
                row = self.registers.row(name, at)
                if row.itemsize == 8:
                    row = row.view(np.int64)
                return partial(_addresses, row, offset)
            case Symbol(name):
                constant = self.address_of(name, at) + offset
            case Immediate(value=value):
                constant = value + offset
        return lambda active: np.full(active.count, constant, np.int64)

    def space(self, at: Instruction) -> Space:
        for modifier in at.modifiers:
            name = modifier.partition("::")[0]
            if name in self.spaces:
                return self.spaces[name]
        return self.spaces["generic"]

    # Micro-operations

    def elementwise(self, function: np.ufunc, destination: Array, *sources: Value) -> MicroOp:
        """A ufunc whose result has the destination's type."""

        if destination.dtype != np.bool_ and any(s.dtype != destination.dtype for s in sources):
            return self.computed(function, destination, *sources)

        def masked(active: Active) -> None:
            np.putmask(destination, active.mask, function(*sources))

        return MicroOp(partial(function, *sources, out=destination), masked)

    def computed(self, function: Callable[..., Value], destination: Array, *sources: Value) -> MicroOp:
        """Any function from rows to a row or scalar; its result is converted to the destination's type."""

        def full() -> None:
            destination[...] = function(*sources)

        def masked(active: Active) -> None:
            value = np.asarray(function(*sources))
            np.putmask(destination, active.mask, value.astype(destination.dtype, copy=False))

        return MicroOp(full, masked)

    def effect(self, function: Callable[[Active], object]) -> MicroOp:
        """Something that needs to know which lanes act."""
        return MicroOp(partial(function, self.everyone), function)

    def guarded(self, operation: MicroOp, at: Instruction) -> MicroOp:
        """The operation under the instruction's guard."""
        guard = at.guard
        if guard is None:
            return operation
        row = self.registers.view(guard.register.name, np.dtype(np.bool_), at)
        total = self.geometry.lanes
        negated = guard.negated

        def masked(active: Active) -> None:
            mask = active.mask & (~row if negated else row)
            count = int(np.count_nonzero(mask))
            if count == total:
                operation.full()
            elif count:
                operation.masked(Active.of(mask, count))

        return MicroOp(partial(masked, self.everyone), masked)


def _addresses(row: Array, offset: int, active: Active) -> Index:
    addresses = row if active.full else row.take(active.lanes)
    if addresses.dtype != np.int64:
        addresses = addresses.astype(np.int64)
    return addresses + offset if offset else addresses


def unsupported(at: Instruction) -> PtxError:
    number = len(at.operands)
    form = f"`{at.name}` with {number} operand{'' if number == 1 else 's'}"
    return PtxError(f"instruction {form} is not supported by the emulator", at.ptx_line, at.line)
