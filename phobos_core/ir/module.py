"""The tile IR's data: values, ops, blocks, and a kernel with all that codegen and the report need.

SSA with structured control flow. Everything is immutable and compared by identity; a pass builds a new kernel
(`rewrite.py`). What each op means is in `ops.py`.

Memory is ordered by tokens. Each buffer (tensor parameter or allocation) has one chain: a store takes the buffer's
current token and gives the next; a load takes the token of the state it reads. Loops and branches carry the tokens of
the buffers written inside, as they carry scalars. Ops stay in program order, so a load stands before the store that
supersedes the token it reads; a pass that moves a load down keeps that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from phobos_core.analysis.program import Requirement as Requirement
from phobos_core.ir.types import MemType, Type
from phobos_core.language.types import ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """`hint` is the source name, for printing and diagnostics only."""

    type: Type
    hint: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """`line` is the 1-based source line that the op serves, 0 if none."""

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attrs: Mapping[str, Any]
    regions: tuple[Block, ...]
    line: int

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A region of one block; its last op is a `yield` (the kernel's own block ends without one)."""

    args: tuple[Value, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice that costs or saves the user something: `line` 1-based, `op` as the source names it."""

    line: int
    op: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of the PTX entry, in order: tensors and scalars as declared, then one "dim" (index width) per
    dynamic dimension. `value` is the kernel block argument; a tensor has its first token in `token`."""

    name: str
    kind: Literal["tensor", "scalar", "dim"]
    dtype: ScalarType
    dims: tuple[str | int, ...]
    value: Value
    token: Value | None = None

    @property
    def mem(self) -> MemType:
        assert isinstance(self.value.type, MemType)
        return self.value.type


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an allocation lies, filled by the pass that places shared memory. `live` is source lines, inclusive.

    `offset` is None for a view or a tile in registers."""

    name: str
    line: int
    shape: tuple[int, ...]
    dtype: ScalarType
    storage: Literal["registers", "shared", "view"]
    bytes: int
    offset: int | None
    live: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel in one configuration for one target.

    `config` binds the `@autotune` names, `dims` the dimensions bound at compile time. `divisors` gives, for a dynamic
    dimension, a number it is known (by `@aligned`) or assumed (4) to be a multiple of; `assumed` names those whose
    divisor is only an assumption: a pass that relies on it adds a "multiple of" Requirement.
    `file` is the source's name in line tables. `in_registers`: tiles may live there from one statement to another.
    """

    name: str
    params: tuple[Param, ...]
    body: Block
    target: str
    threads: int
    min_blocks: int | None
    max_registers: int | None
    index_bits: int
    config: Mapping[str, int]
    dims: Mapping[str, int]
    divisors: Mapping[str, int]
    assumed: frozenset[str]
    pipeline: bool = False
    padstage: bool = False
    dynamic_shared: bool = False
    persistent: bool = False
    in_registers: bool = True
    line: int = 0
    file: str = "kernel.ph"
    resident_blocks: int | None = None
    shared_bytes: int = 0
    shared_bytes_without_reuse: int = 0
    tiles: tuple[Placement, ...] = ()
    decisions: tuple[Decision, ...] = ()
    requires: tuple[Requirement, ...] = ()
    notes: tuple[str, ...] = field(default=())
