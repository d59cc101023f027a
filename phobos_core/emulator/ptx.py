"""PTX text in, a module of frozen data out.

The parser knows the grammar of PTX, not its instructions: an instruction is an opcode, its dotted modifiers,
an optional guard and its operands. What an opcode means is decided in `decode`. Statements are cut by one
regular expression and operand texts are cached, because a kernel repeats the same few hundred operand texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class PtxError(Exception):
    """The text is not PTX, or uses a part of PTX that the emulator does not know."""

    def __init__(self, message: str, ptx_line: int, line: int | None = None) -> None:
        self.ptx_line = ptx_line
        self.line = line
        source = f", source line {line}" if line else ""
        super().__init__(f"{message} (PTX line {ptx_line}{source})")


@dataclass(frozen=True, slots=True)
class Register:
    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: an integer, or the bits of a float with the width that its prefix gives."""

    value: int
    kind: str  # "int", "f32", "f64"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, label or function, with a constant byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations written `a|b`."""

    first: Register
    second: Register


@dataclass(frozen=True, slots=True)
class Not:
    register: Register


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Not


@dataclass(frozen=True, slots=True)
class Guard:
    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    ptx_line: int
    line: int | None

    @property
    def name(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    size: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space; `size` is None for an array whose extent the launch gives."""

    name: str
    space: str
    align: int
    size: int | None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    parameters: tuple[Parameter, ...]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    branch_tables: Mapping[str, tuple[str, ...]]
    registers: Mapping[str, str]
    variables: tuple[Variable, ...]
    directives: Mapping[str, tuple[int, ...]]
    ptx_line: int


@dataclass(frozen=True, slots=True)
class Module:
    version: str
    target: str
    kernels: Mapping[str, Kernel]
    variables: tuple[Variable, ...]
    files: Mapping[int, str]
