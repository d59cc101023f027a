"""The buffer rule against every path: generated control flow of per-thread stores, reads of the CTA and barriers.

The expectation knows no joins: it runs a program on all choices of its conditions, with sets of the states that are
reached, and collects the reads that come, on some path, after a store with no barrier between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from phobos_core.analysis import check
from phobos_core.syntax import parse

BUFFERS = ("A", "B")


@dataclass(frozen=True)
class Leaf:
    kind: Literal["store", "read", "barrier", "break", "continue", "return"]
    buffer: str = ""


@dataclass(frozen=True)
class Choice:
    then: Body
    orelse: Body


@dataclass(frozen=True)
class Repeat:
    """`sure` runs at least once, `endless` ends by a jump only, `tested` has a barrier in its test."""

    kind: Literal["for", "sure", "while", "endless", "tested"]
    body: Body


Node: TypeAlias = Leaf | Choice | Repeat
Body: TypeAlias = tuple[Node, ...]
# Buffers with stores that have not landed, one set for each path.
States: TypeAlias = frozenset[frozenset[str]]
NONE: States = frozenset()
BREAK = Leaf("break")


def bodies(in_loop: bool, depth: int) -> st.SearchStrategy[Body]:
    """A jump is the last of its block, which a condition decides on."""
    jumps = ["return"] + (["break", "continue"] if in_loop else [])
    access = st.builds(Leaf, st.sampled_from(["store", "read"]), st.sampled_from(BUFFERS))
    nodes: list[st.SearchStrategy[Node]] = [access, access, st.just(Leaf("barrier"))]
    if depth:
        inner = bodies(in_loop, depth - 1)
        nodes.append(st.builds(Choice, inner, st.one_of(st.just(()), inner)))
        left = st.builds(lambda body, kind: (*body, Leaf(kind)), bodies(in_loop, 0), st.sampled_from(jumps))
        nodes.append(st.builds(Choice, left, st.just(())))
        kinds = st.sampled_from(["for", "for", "sure", "while", "endless", "tested"])
        nodes.append(st.builds(Repeat, kinds, bodies(True, depth - 1)))
    return st.lists(st.one_of(nodes), min_size=1, max_size=4).map(tuple)


# As source text.


@dataclass
class Text:
    lines: list[str] = field(default_factory=list)
    reads: dict[int, Leaf] = field(default_factory=dict)  # by line, with the identity of the node
    names: int = 0

    def write(self, body: Body) -> None:
        for node in body:
            match node:
                case Leaf("store", buffer):
                    self.lines.append(f"{buffer}[ctx.thread, 0] = 1.0")
                case Leaf("read", buffer):
                    self.reads[len(self.lines)] = node
                    self.lines.append(f"C[:, :] = {buffer}[:, :]")
                case Leaf("barrier"):
                    self.lines.append("barrier()")
                case Leaf(kind):
                    self.lines.append(kind)
                case Choice(then, orelse):
                    self.block(f"if {self.condition()} {{", then)
                    if orelse:
                        self.lines[-1] = "} else {"
                        self.write(orelse)
                        self.lines.append("}")
                case Repeat("for", inner):
                    self.block(f"for {self.name()} in range(0, n) {{", inner)
                case Repeat("sure", inner):
                    self.block(f"for {self.name()} in range(0, 2) {{", inner)
                case Repeat("while", inner):
                    self.block(f"while {self.condition()} {{", inner)
                case Repeat("tested", inner):
                    self.block("while barrier() < n {", inner)
                case Repeat("endless", inner):
                    self.block("while true {", inner)

    def block(self, head: str, body: Body) -> None:
        self.lines.append(head)
        self.write(body)
        self.lines.append("}")

    def name(self) -> str:
        self.names += 1
        return f"i{self.names}"

    def condition(self) -> str:
        self.names += 1
        return f"n > {self.names}"


# Every path.


@dataclass
class Paths:
    """`early` has the reads, by identity of their place in the text, that some path reaches too early."""

    early: set[int] = field(default_factory=set)
    line: int = 0

    def run(self, body: Body, start: int, states: States) -> dict[str, States]:
        """The states in which a body ends, by how it ends; its first line is `start`."""
        ends: dict[str, States] = {}
        at = start
        for node in body:
            match node:
                case Leaf("store", buffer):
                    states = frozenset(state | {buffer} for state in states)
                case Leaf("read", buffer):
                    if any(buffer in state for state in states):
                        self.early.add(at)
                case Leaf("barrier"):
                    states = self._clear(states)
                case Leaf(kind):
                    ends[kind] = ends.get(kind, NONE) | states
                    states = NONE
                case Choice(then, orelse):
                    first = self.run(then, at + 1, states)
                    second = self.run(orelse, at + 1 + size(then) + 1, states)
                    states = first.pop("end") | second.pop("end")
                    for found in (first, second):
                        merge(ends, found)
                case Repeat():
                    states = self.repeat(node, at + 1, states, ends)
            at += size((node,))
        return {**ends, "end": states}

    def repeat(self, loop: Repeat, start: int, states: States, ends: dict[str, States]) -> States:
        begun = states
        while True:
            tested = self._clear(begun) if loop.kind == "tested" else begun
            found = self.run(loop.body, start, tested)
            again = found.pop("end") | found.pop("continue", NONE)
            broken = found.pop("break", NONE)
            merge(ends, found)
            if again <= begun:
                break
            begun |= again
        if loop.kind == "endless":
            return broken
        return (again if loop.kind == "sure" else tested) | broken

    @staticmethod
    def _clear(states: States) -> States:
        return frozenset(frozenset[str]() for _ in states)


def merge(ends: dict[str, States], found: dict[str, States]) -> None:
    for kind, states in found.items():
        ends[kind] = ends.get(kind, NONE) | states


def size(body: Body) -> int:
    """The lines of a body."""
    return sum(map(_lines, body))


def _lines(node: Node) -> int:
    match node:
        case Leaf():
            return 1
        case Choice(then, orelse):
            return 2 + size(then) + (1 + size(orelse) if orelse else 0)
        case Repeat(_, body):
            return 2 + size(body)


def reported(source: str) -> Iterator[int]:
    file = check(parse(source))
    for found in file.diagnostics:
        assert found.code == "missing-barrier"
        yield file.source.text[: found.start].count(b"\n") - 1


@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@example((Leaf("store", "A"), Repeat("for", (Leaf("barrier"), Leaf("store", "B"))), Leaf("read", "A")))
@example((Repeat("endless", (Choice((Leaf("store", "A"), BREAK), ()), Choice((BREAK,), ()))), Leaf("read", "A")))
@given(bodies(False, 3))
def test_a_read_is_an_error_where_some_path_has_a_store_without_a_barrier_before_it(body: Body) -> None:
    text = Text()
    text.write(body)
    params = "A: tensor<f32>[256, 64], B: tensor<f32>[256, 64], C: tensor<f32>[256, 64], n: i32"
    source = "\n".join([f"kernel k({params}) {{", *text.lines, "}", ""])
    note(source)
    paths = Paths()
    paths.run(body, 0, frozenset({frozenset[str]()}))
    assert sorted(reported(source)) == sorted(paths.early)
