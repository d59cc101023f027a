"""What every part of codegen knows about the kernel it is writing: the writer, the target, and the values so far."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from phobos_core.codegen import types
from phobos_core.codegen.errors import CodegenError
from phobos_core.codegen.writer import Loop, Writer
from phobos_core.ir.divisors import Vectors
from phobos_core.ir.integers import Integers
from phobos_core.ir.intervals import Intervals
from phobos_core.ir.module import Kernel, Value
from phobos_core.ir.rewrite import Index
from phobos_core.language.targets import TARGETS, Feature, least_target
from phobos_core.language.types import F32, ScalarType

# From this target on LLVM has pairs of f32 in 64-bit registers.
_PAIRS = 100


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer. `base` points at its first element; strides count elements, an operand of index type where dynamic."""

    element: ScalarType
    space: int
    base: str
    strides: tuple[int | str, ...]
    stage_bytes: int
    read_only: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A view: element 0 is at the `offsets`, in copy `stage` of the buffer, and per axis `bounds` has the first and
    last + 1 valid index as i32 operands, or None where every index is valid."""

    memory: Memory
    offsets: tuple[Value, ...]
    stage: Value | None
    shape: tuple[int, ...]
    bounds: tuple[tuple[str, str] | None, ...]


class Run(NamedTuple):
    """A thread's run: the operands of its accesses, of `vector` elements each; with `packed`, of a quarter as many
    words of four bytes."""

    accesses: list[str]
    vector: int
    packed: bool


@dataclass(frozen=True, slots=True)
class Turning:
    """A `for` being written: its variable, the operands of where that begins and by how much it moves, and the loop.
    `alternating` are the indices that it carries and that are 1 less themselves in the next turn, and what they begin
    with. `made` has what moves with the loop, by what it is for."""

    variable: Value
    lo: str
    step: str
    loop: Loop
    alternating: Mapping[Value, int]
    made: dict[Hashable, str] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """`scalars` and `registers` hold the operands of scalars and of tiles with a layout, one per run of the thread.
    `ir` knows the ops of virtual tile values, which are evaluated where they are consumed. `gatherings` has what each
    gathered vector was made of, `quotients` of which coordinate and by what a coordinate is one. `loops` are those
    around, the innermost last. `runs_once`: inside the remainder of a split loop."""

    kernel: Kernel
    writer: Writer
    facts: Integers
    exact: Intervals
    ir: Index
    vectors: Vectors
    scalars: dict[Value, str] = field(default_factory=dict)
    registers: dict[Value, list[str]] = field(default_factory=dict)
    memories: dict[Value, Memory] = field(default_factory=dict)
    windows: dict[Value, Window] = field(default_factory=dict)
    runs: dict[Value, Run] = field(default_factory=dict)
    loops: list[Turning] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    gatherings: dict[str, list[str]] = field(default_factory=dict)
    quotients: dict[str, tuple[str, int]] = field(default_factory=dict)
    thread: str = "0"
    shared: str = ""
    runs_once: bool = False
    line: int = 0

    def unrolled(self, budget: int) -> int:
        """How much code a loop may become here: little where it runs once, since it then costs more to compile."""
        return budget // 8 if self.runs_once else budget

    def takes_apart(self, element: ScalarType) -> bool:
        """Whether LLVM makes pairs of such elements that ptxas only has to take apart again."""
        target = TARGETS[self.kernel.target]
        return element == F32 and target.sm >= _PAIRS and not target.f32_pairs

    @property
    def index(self) -> str:
        """The LLVM type of index values."""
        return f"i{self.kernel.index_bits}"

    def type(self, element: ScalarType, width: int = 1) -> str:
        return types.vector_type(types.scalar_type(element, self.kernel.index_bits), width)

    def suffix(self, element: ScalarType, width: int = 1) -> str:
        return types.suffix(element, self.kernel.index_bits, width)

    def bits(self, element: ScalarType) -> int:
        return types.bits_of(element, self.kernel.index_bits)

    def constant(self, value: int | float | bool, element: ScalarType, width: int = 1) -> str:
        text = types.constant(value, element, self.kernel.index_bits)
        return text if width == 1 else f"splat ({self.type(element)} {text})"

    def splat(self, operand: str, element: ScalarType, width: int) -> str:
        """The vector of `width` copies of a scalar."""
        return self.splat_typed(operand, self.type(element), width)

    def splat_typed(self, operand: str, type: str, width: int) -> str:
        constant = types.splat(operand, type, width)
        if constant is not None:
            return constant
        vector = f"<{width} x {type}>"
        first = self.writer.pure(f"insertelement {vector} poison, {type} {operand}, i32 0")
        return self.writer.pure(f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer")

    def lanes(self, vector: str, type: str, width: int) -> list[str]:
        """The elements of a vector."""
        if width == 1:
            return [vector]
        if (constant := types.lane(vector)) is not None:
            return [constant] * width
        if (known := self.gatherings.get(vector)) is not None:
            return list(known)
        return [self.writer.pure(f"extractelement <{width} x {type}> {vector}, i32 {i}") for i in range(width)]

    def part(self, vector: str, type: str, width: int, first: int, count: int) -> str:
        """`count` neighbouring lanes of a vector, `first` the first."""
        if count == width:
            return vector
        if (known := self.gatherings.get(vector)) is not None:
            return self.gathered(known[first : first + count], type)
        if count == 1:
            return self.writer.pure(f"extractelement <{width} x {type}> {vector}, i32 {first}")
        lanes = ", ".join(f"i32 {first + i}" for i in range(count))
        whole = f"<{width} x {type}>"
        return self.writer.pure(f"shufflevector {whole} {vector}, {whole} poison, <{count} x i32> <{lanes}>")

    def gathered(self, elements: Sequence[str], type: str) -> str:
        """The vector of these elements."""
        if len(elements) == 1:
            return elements[0]
        if all(e == elements[0] for e in elements):
            return self.splat_typed(elements[0], type, len(elements))
        vector, built = f"<{len(elements)} x {type}>", "poison"
        for i, element in enumerate(elements):
            built = self.writer.pure(f"insertelement {vector} {built}, {type} {element}, i32 {i}")
        self.gatherings[built] = list(elements)
        return built

    def concatenated(self, low: str, high: str, type: str, width: int) -> str:
        """The vector of twice the width; each half has `width` elements."""
        if width == 1:
            return self.gathered([low, high], type)
        lanes = ", ".join(f"i32 {i}" for i in range(2 * width))
        half = f"<{width} x {type}>"
        return self.writer.pure(f"shufflevector {half} {low}, {half} {high}, <{2 * width} x i32> <{lanes}>")

    def picked(self, vectors: list[str], type: str, width: int, lane: int) -> str:
        """The vector of one lane of each; their number is a power of two."""
        if width == 1:
            return self.gathered(vectors, type)
        whole = f"<{width} x {type}>"
        if len(vectors) == 1:
            return self.writer.pure(f"extractelement {whole} {vectors[0]}, i32 {lane}")
        if len(vectors) == 2:
            lanes = f"i32 {lane}, i32 {width + lane}"
            return self.writer.pure(f"shufflevector {whole} {vectors[0]}, {whole} {vectors[1]}, <2 x i32> <{lanes}>")
        half = len(vectors) // 2
        low, high = (self.picked(part, type, width, lane) for part in (vectors[:half], vectors[half:]))
        return self.concatenated(low, high, type, half)

    def require(self, feature: Feature, operation: str) -> None:
        """An error at the current line if the target lacks what the operation needs."""
        target = TARGETS[self.kernel.target]
        if not target.has(feature):
            least = least_target(feature).name
            message = f"`{operation}` needs {least} or later, and the target is {target.name}"
            raise CodegenError("needs-target", self.line, message, f"build with `--target {least}` or a later one")
