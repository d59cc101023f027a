"""Random per-thread kernels: scalars, loads, control and jumps that differ between threads, and what all threads do
together wherever it may stand.

In: Hypothesis's draws. Out: the lines of a body over `PARAMS`. An operation that threads do together is a line of its
own, so that one which the checker refuses can be left out and the rest is still a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

THREADS = 64
SIZE = 64  # of X and Y, a power of two
PARAMS = (
    f"X: tensor<i32>[{SIZE}], Y: tensor<i64>[{SIZE}], COUNT: tensor<i32>[4], A: tensor<i32>[32, 8],"
    " B: tensor<i32>[32, 8], n: i32"
)
OWN = ("ctx.thread", "ctx.lane", "ctx.warp")

# What threads do together, over a value and one that places it.
TOGETHER = (
    "i64(sum<over ctx.lane>({v}))",
    "i64(max<over ctx.lane>({v}))",
    "i64(min<over ctx.lane, width 8>({v}))",
    "i64(argmax<over ctx.lane>({v}))",
    "i64(sum<over ctx.thread>({v}))",
    "where(any<over ctx.lane>(({v}) > 2), 1, 0)",
    "i64(shfl<xor 1>({v}))",
    "i64(shfl<up 1, width 16>({v}))",
    "i64(shfl<from 5>({v}))",
    "i64(shfl<from {w}>({v}))",
    "i64(shfl<from {w} * 9>({v}))",
    "i64(shfl<from ({w}) & 31>({v}))",
    "i64(shfl<from ({w}) % 32>({v}))",
    "i64(atomic_add(COUNT, ({w}) & 3, 1))",
    "barrier()",
)


@dataclass
class Body:
    """`plain` scalars are made of uniform values only: they differ where control does, or not at all."""

    draw: Any
    lines: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=lambda: ["n", "ctx.block.x"])
    scalars: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    together: set[int] = field(default_factory=set)
    names: int = 0
    loops: int = 0

    def pick(self, choices: Sequence[T]) -> T:
        return self.draw(st.sampled_from(choices))  # type: ignore[no-any-return]

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def fresh(self) -> str:
        self.names += 1
        return f"x{self.names}"

    @contextmanager
    def block(self, head: str, tail: str | None = "}") -> Iterator[None]:
        self.lines.append(head)
        names = list(self.plain), list(self.scalars), list(self.variables)
        yield
        self.plain, self.scalars, self.variables = names
        if tail:
            self.lines.append(tail)

    # Values.

    def value(self, depth: int = 2, own: bool | None = None) -> str:
        """One that threads may have of their own, or one of plain scalars."""
        if own is None:
            own = self.integer(0, 2) == 0
        form = self.integer(0, 8) if depth else self.integer(0, 3)
        if form <= 1:
            return self.pick([*self.scalars, *OWN] if own else self.plain)
        if form == 2:
            return str(self.integer(0, 9))
        if form == 3:
            return self.pick(self.plain)
        inner, other = self.value(depth - 1, own), self.value(depth - 1, own)
        if form == 4:
            return f"X[({inner}) & {SIZE - 1}]"
        if form == 5:
            return f"where({self.condition(depth - 1, own)}, {inner}, {other})"
        operator = self.pick(["+", "-", "*", "&", "|", "^", "min", "max", "%"])
        if operator in ("min", "max"):
            return f"{operator}({inner}, {other})"
        return f"(({inner}) % {self.integer(1, 9)})" if operator == "%" else f"({inner} {operator} {other})"

    def condition(self, depth: int = 1, own: bool | None = None) -> str:
        left, right = self.value(depth, own), self.value(0, own)
        simple = f"{left} {self.pick(['<', '==', '!=', '>='])} {right}"
        return simple if self.integer(0, 3) else f"{simple} {self.pick(['&&', '||'])} {self.value(0, own)} > 2"

    # Statements.

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            self.pick(STATEMENTS if depth else SIMPLE)(self, depth)

    def bind(self, depth: int) -> None:
        own = self.integer(0, 2) == 0
        name, value = self.fresh(), self.value(2, own)
        if self.integer(0, 2):
            self.lines.append(f"var {name} = i64({value})")
            self.variables.append(name)
        else:
            self.lines.append(f"let {name} = {value}")
        (self.scalars if own else self.plain).append(name)

    def assign(self, depth: int) -> None:
        variables = [name for name in self.variables if name in self.plain]
        own = not variables or self.integer(0, 4) == 0
        variables = self.variables if own else variables
        if not variables:
            return self.bind(depth)
        self.lines.append(f"{self.pick(variables)} {self.pick(['=', '=', '+='])} i64({self.value(1, own)})")
        return None

    def store(self, depth: int) -> None:
        self.lines.append(f"Y[({self.value(1)}) & {SIZE - 1}] = i64({self.value(1)})")

    def branch(self, depth: int) -> None:
        with self.block(f"if {self.condition()} {{", None):
            self.statements(self.integer(1, 3), depth - 1)
        if self.integer(0, 1):
            with self.block("} else {", None):
                self.statements(self.integer(1, 2), depth - 1)
        self.lines.append("}")

    def loop(self, depth: int) -> None:
        name = self.fresh()
        own = self.integer(0, 2) == 0
        counted = bool(self.integer(0, 2))
        if counted:
            step = self.pick(["", ", 2", f", 1 + (({self.value(1, own)}) & 1)"])
            head = f"for {name} in range(({self.value(1, own)}) & 1, ({self.value(1, own)}) & 3{step}) {{"
        else:
            self.lines.append(f"var {name} = i64(0)")
            head = f"while ({self.condition(1, own)}) && {name} < 3 {{"
        self.loops += 1
        with self.block(head):
            (self.scalars if own else self.plain).append(name)
            if not counted:
                self.lines.append(f"{name} += 1")
            self.statements(self.integer(1, 4), depth - 1)
        self.loops -= 1

    def jump(self, depth: int) -> None:
        jumps = ["break", "continue", "continue", "break", "return"] if self.loops else ["return"]
        self.lines.append(f"if {self.condition()} {{ {self.pick(jumps)} }}")

    def collective(self, depth: int) -> None:
        """A fold, a shuffle, an atomic or a barrier, or a tile operation."""
        if not self.variables:
            return self.bind(depth)
        target, at = self.pick(self.variables), self.value(1, False)
        if self.integer(0, 7):
            line = f"{target} = {self.pick(TOGETHER).format(v=self.value(1, True), w=at)}"
        else:
            line = f"B[({at}) & 15 :+ 4, :] = A[({at}) & 15 :+ 4, :] + i32({self.value(0)})"
        self.together.add(len(self.lines))
        self.lines.append(line)
        return None


SIMPLE = [Body.bind, Body.assign, Body.assign, Body.assign, Body.store, Body.jump, Body.collective, Body.collective]
STATEMENTS = [*SIMPLE, Body.branch, Body.branch, Body.loop, Body.loop]


@st.composite
def bodies(draw: Any) -> Body:
    body = Body(draw)
    body.bind(2)
    body.statements(body.integer(5, 10), 3)
    return body
