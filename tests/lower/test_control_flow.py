"""Generated control flow does what the same program does in Python, on the reference and on the emulator.

A program is drawn as a tree of statements and spelled twice: in Phobos, and in Python where `break`, `continue` and
`return` are Python's own. Each `log` writes a step number and a counter, so that any statement that runs when it should
not, or not when it should, shows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import phobos_core as phobos

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "40"))
SLOTS = 64


@dataclass
class Program:
    """`phobos` and `python` are the lines of the two spellings."""

    draw: st.DrawFn
    phobos: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    names: int = 0

    def emit(self, depth: int, phobos: str, python: str | None = None) -> None:
        self.phobos.append("  " * depth + phobos)
        if python != "":
            self.python.append("  " * depth + (phobos if python is None else python))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def condition(self, scope: list[str]) -> str:
        name = self.draw(st.sampled_from(scope))
        op = self.draw(st.sampled_from(["<", ">", "==", "!="]))
        # Never negative, where the two remainders differ.
        return f"({name} + X[{self.draw(st.integers(0, 7))}] + 8) % 4 {op} {self.draw(st.integers(0, 3))}"

    def block(self, depth: int, scope: list[str], loops: int) -> None:
        for _ in range(self.draw(st.integers(1, 4))):
            self.statement(depth, scope, loops)

    def statement(self, depth: int, scope: list[str], loops: int) -> None:
        kinds = ["log", "log", "add", "if"]
        if depth < 4:
            kinds += ["for", "while"] if loops < 3 else []
            kinds += ["if else"]
        if loops:
            kinds += ["break", "continue"]
        kinds += ["return"]
        match self.draw(st.sampled_from(kinds)):
            case "log":
                self.emit(depth, f"Y[(a * 7 + b) % {SLOTS}] += {self.draw(st.integers(1, 9))}")
            case "add":
                self.emit(depth, f"{self.draw(st.sampled_from(['a', 'b']))} += {self.draw(st.integers(1, 5))}")
            case "if":
                self.branch(depth, scope, loops, has_else=False)
            case "if else":
                self.branch(depth, scope, loops, has_else=True)
            case "for":
                self.counted(depth, scope, loops)
            case "while":
                self.conditional(depth, scope, loops)
            case jump:
                condition = self.condition(scope)
                self.emit(depth, f"if {condition} {{ {jump} }}", f"if {condition}: {jump}")

    def branch(self, depth: int, scope: list[str], loops: int, *, has_else: bool) -> None:
        condition = self.condition(scope)
        self.emit(depth, f"if {condition} {{", f"if {condition}:")
        self.block(depth + 1, scope, loops)
        if has_else:
            self.emit(depth, "} else {", "else:")
            self.block(depth + 1, scope, loops)
        self.emit(depth, "}", "")

    def counted(self, depth: int, scope: list[str], loops: int) -> None:
        name = self.fresh("i")
        lo, step = self.draw(st.integers(-2, 3)), self.draw(st.integers(1, 3))
        hi = self.draw(st.sampled_from(["3", "X[2] + 2", "n", "b % 5"]))
        unroll = self.draw(st.sampled_from(["", "", "<unroll 2>", "<unroll 3>"]))
        self.emit(
            depth, f"for{unroll} {name} in range({lo}, {hi}, {step}) {{", f"for {name} in range({lo}, {hi}, {step}):"
        )
        self.block(depth + 1, [*scope, name], loops + 1)
        self.emit(depth, "}", "")

    def conditional(self, depth: int, scope: list[str], loops: int) -> None:
        name = self.fresh("w")
        self.emit(depth, f"var {name} = 0", f"{name} = 0")
        condition = f"{name} < {self.draw(st.integers(0, 4))}"
        self.emit(depth, f"while {condition} {{", f"while {condition}:")
        self.emit(depth + 1, f"{name} += 1")
        self.block(depth + 1, [*scope, name], loops + 1)
        self.emit(depth, "}", "")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program(draw)
    program.block(1, ["a", "b", "n"], 0)
    program.emit(1, "Y[0] += 1000 + a")
    return program


@pytest.mark.parametrize("target", ["sm_80"])
def test_jumps_skip_what_they_should(target: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="PHOBOS_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), st.lists(st.integers(0, 3), min_size=8, max_size=8), st.integers(0, 5))
    def run(program: Program, values: list[int], n: int) -> None:
        body = "\n".join(["  var a = 0", "  var b = 0", *program.phobos])
        source = f"@launch(32)\nkernel k(X: tensor<i32>[8], Y: tensor<i32>[{SLOTS}], n: i32) {{\n{body}\n}}\n"
        note(source)
        expected = np.zeros(SLOTS, np.int32)
        spelled = "\n".join(["def k(X, Y, n):", "  a = b = 0", *program.python])
        scope: dict[str, object] = {}
        exec(spelled, scope)
        scope["k"](values, expected, n)  # type: ignore[operator]
        kernel = phobos.compile_text(source, name="generated.ph", target=target)["k"]
        for device in ("reference", "emulator"):
            y = np.zeros(SLOTS, np.int32)
            kernel.launch((1,), np.array(values, np.int32), y, n, device=device)
            np.testing.assert_array_equal(y, expected, err_msg=device)

    run()
