"""Writes the body of one LLVM function: numbered SSA values, blocks, loops, and the source line of each instruction.

Nothing here knows the tile IR. `value` appends an instruction and names its result; `pure` also remembers it, so that
asking again for the same one gives the same name wherever the first still dominates (address arithmetic repeats a
lot, and text that is not written need not be parsed), and writes it before the loops that do not change its operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

# The metadata node of the function; nodes that this writer makes are numbered from the next.
SUBPROGRAM = 9
# The hint for a loop that LLVM should leave as it is written.
ROLLED = '!"llvm.loop.unroll.disable"'
_NAME = re.compile(r"%[\w.]+")


@dataclass(slots=True)
class Loop:
    """A loop being written: `head` is its block, `slots` the lines where its phis go once their values are known. What
    its body numbers comes after `birth`.

    `before` are instructions that go to line `place`, in front of it, `first` those right after the phis; `further` are
    more phis: name, type, where it starts and what it is next.
    """

    entry: str
    head: str
    exit: str
    slots: list[int]
    names: list[str]
    types: list[str]
    initial: list[str]
    birth: int
    place: int
    before: list[str] = field(default_factory=list)
    hoisted: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    further: list[tuple[str, str, str, str]] = field(default_factory=list)


class Writer:
    """`lines` is the body so far, come to source line `line` and to the block `label`; `declarations` and `nodes`
    (metadata) are what the module must have for it."""

    __slots__ = (
        "_births",
        "_blocks",
        "_known",
        "_locations",
        "_loops",
        "_next",
        "_scopes",
        "_suffix",
        "declarations",
        "label",
        "line",
        "lines",
        "nodes",
    )

    def __init__(self) -> None:
        self.lines: list[str] = ["entry:"]
        self.label = "entry"
        self.declarations: dict[str, str] = {}
        self.nodes: list[str] = []
        self.line = 0
        self._locations: dict[int, int] = {}
        self._next = 0
        self._blocks = 0
        self._loops: list[Loop] = []
        # Of the values that have a name and no number: the number after which they might have stood.
        self._births: dict[str, int] = {}
        self._suffix = ""
        self._known: dict[Hashable, str] = {}
        self._scopes: list[list[Hashable]] = [[]]

    # Instructions

    def at_line(self, line: int) -> None:
        """Instructions from here on serve this source line."""
        if line and line != self.line:
            self.line = line
            node = self._locations.get(line)
            if node is None:
                node = self.metadata(f"!DILocation(line: {line}, scope: !{SUBPROGRAM})")
                self._locations[line] = node
            self._suffix = f", !dbg !{node}"

    def metadata(self, text: str) -> int:
        """The number of a new metadata node."""
        self.nodes.append(text)
        return SUBPROGRAM + len(self.nodes)

    def value(self, text: str) -> str:
        name = f"%{self._next}"
        self._next += 1
        self.lines.append(f"  {name} = {text}{self._suffix}")
        return name

    def effect(self, text: str) -> None:
        self.lines.append(f"  {text}{self._suffix}")

    def pure(self, text: str) -> str:
        """An instruction without effects that gives the same result wherever it stands."""
        name = self._known.get(text)
        if name is None:
            loop = self._outermost_unchanging(text)
            name = self.value(text) if loop is None else self._hoisted(loop, text)
            self.remember(text, name)
        return name

    def _outermost_unchanging(self, text: str) -> Loop | None:
        """The outermost of the loops around, innermost first, in which no operand changes."""
        found = None
        if self._loops:
            last = -1
            for name in _NAME.findall(text):
                last = max(last, int(name[1:]) if name[1].isdigit() else self._births.get(name, -1))
            for loop in reversed(self._loops):
                if last >= loop.birth:
                    break
                found = loop
        return found

    def _hoisted(self, loop: Loop, text: str) -> str:
        name = loop.hoisted.get(text)
        if name is None:
            name = loop.hoisted[text] = self._named("h", loop.birth - 1)
            loop.before.append(f"  {name} = {text}{self._suffix}")
        return name

    def _named(self, letter: str, birth: int) -> str:
        name = f"%{letter}{len(self._births)}"
        self._births[name] = birth
        return name

    def _birth(self, name: str) -> int:
        """Values of no number and no birth are the parameters."""
        return int(name[1:]) if name[1].isdigit() else self._births.get(name, -1)

    def known(self, key: Hashable) -> str | None:
        """What `remember` was told, where that still dominates."""
        return self._known.get(key)

    def remember(self, key: Hashable, name: str) -> None:
        self._known[key] = name
        self._scopes[-1].append(key)

    def call(self, type: str, name: str, *arguments: tuple[str, str]) -> str:
        """A call of a function without effects; each argument is (type, operand)."""
        return self.pure(self.call_text(type, name, *arguments))

    def call_text(self, type: str, name: str, *arguments: tuple[str, str]) -> str:
        """The call as text, its function declared."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {type} @{name}({', '.join(t for t, _ in arguments)})"
        return f"call {type} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"

    # Blocks

    def fresh_label(self, hint: str) -> str:
        self._blocks += 1
        return f"{hint}{self._blocks}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.effect(f"br label %{label}")

    def branch(self, condition: str, then: str, orelse: str) -> None:
        self.effect(f"br i1 {condition}, label %{then}, label %{orelse}")

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What `pure` remembers inside does not dominate what follows."""
        self._scopes.append([])
        try:
            yield
        finally:
            for text in self._scopes.pop():
                del self._known[text]

    @contextmanager
    def guarded(self, condition: str) -> Iterator[None]:
        """Code that runs where the condition holds; "true" writes no branch."""
        if condition == "true":
            yield
            return
        then, end = self.fresh_label("then"), self.fresh_label("end")
        self.branch(condition, then, end)
        self.start(then)
        with self.scope():
            yield
        self.jump(end)
        self.start(end)

    def either(
        self, condition: str, types: Sequence[str], otherwise: Sequence[str], make: Callable[[], Sequence[str]]
    ) -> list[str]:
        """The values that `make` writes the code of, where the condition holds, and elsewhere `otherwise`."""
        if condition == "true":
            return list(make())
        before = self.label
        with self.guarded(condition):
            made, after = make(), self.label
        return [self.phi(t, (m, after), (o, before)) for t, m, o in zip(types, made, otherwise, strict=True)]

    def phi(self, type: str, *incoming: tuple[str, str]) -> str:
        """(value, block) pairs."""
        return self.value(f"phi {type} " + ", ".join(f"[ {v}, %{b} ]" for v, b in incoming))

    def varies(self, name: str, loop: Loop | None = None) -> bool:
        """Whether a value was made inside a loop, the innermost one if none is named."""
        if loop is None and not self._loops:
            return True
        return self._birth(name) >= (loop or self._loops[-1]).birth

    def depth(self, operand: str) -> int:
        """In how many of the loops around an operand changes."""
        birth = self._birth(operand) if operand.startswith("%") else -1
        return sum(birth >= loop.birth for loop in self._loops)

    def moving(self, loop: Loop, type: str, start: str, step: str) -> str:
        """A pointer that is `start` in the first turn of a loop and `step` bytes further in each next; neither changes
        in the loop. It moves at the beginning of a turn, so that no more of it than the present place is kept."""
        before = self.pure(f"getelementptr i8, {type} {start}, i64 {self.pure(f'sub i64 0, {step}')}")
        last, name = self._named("m", loop.birth), self._named("m", loop.birth)
        loop.further.append((last, type, before, name))
        loop.first.append(f"  {name} = getelementptr i8, {type} {last}, i64 {step}{self._suffix}")
        return name

    def counting(self, loop: Loop, type: str, start: str, step: str) -> str:
        """An integer that is `start` and a `step` in the first turn of a loop, and a `step` more in each next."""
        last, name = self._named("m", loop.birth), self._named("m", loop.birth)
        loop.further.append((last, type, start, name))
        loop.first.append(f"  {name} = add {type} {last}, {step}{self._suffix}")
        return name

    def uses(self, loop: Loop, name: str) -> list[int]:
        """The lines of a loop being written that take a value, one as often as it does."""
        taken = re.compile(rf"{name}(?![\w.]| =)")
        lines = ((n, self.lines[n]) for n in range(loop.slots[-1], len(self.lines)))
        return [n for n, line in lines if name in line for _ in taken.findall(line)]

    def rewrite(self, line: int, old: str, new: str) -> None:
        self.lines[line] = self.lines[line].replace(old, new)

    def alternating(self, loop: Loop, start: int, other: int) -> tuple[str, str]:
        """Two i64 that are `start` and `other` in the first turn of a loop, and change places in each next one."""
        now, then = self._named("m", loop.birth), self._named("m", loop.birth)
        loop.further.append((now, "i64", str(start), then))
        loop.first.append(f"  {then} = xor i64 {now}, {start ^ other}{self._suffix}")
        return now, then

    # Loops: open_loop, the body, close_loop; whatever the body remembers is forgotten at the close.

    def open_loop(self, types: list[str], initial: list[str]) -> Loop:
        """Jumps to a new block that starts with one phi per carried value, named in the result."""
        entry, head, exit = self.label, self.fresh_label("loop"), self.fresh_label("exit")
        place = len(self.lines)
        self.lines.append("")
        self.jump(head)
        self.start(head)
        self._scopes.append([])
        birth = self._next
        names, slots = [], []
        for _ in types:
            names.append(f"%{self._next}")
            slots.append(len(self.lines))
            self._next += 1
            self.lines.append("")
        loop = Loop(entry, head, exit, slots, names, types, initial, birth, place)
        self._loops.append(loop)
        return loop

    def close_loop(self, loop: Loop, condition: str, following: list[str], hint: str = "") -> None:
        """Goes round again with `following` while `condition` holds; writes the phis. `hint` is a metadata node."""
        self._finish(loop, following)
        self.effect(f"br i1 {condition}, label %{loop.head}, label %{loop.exit}{self._loop_metadata(hint)}")
        self.start(loop.exit)

    def repeat_loop(self, loop: Loop, following: list[str], hint: str = "") -> None:
        """Goes round again with `following` always; whoever tested before has left for `loop.exit`."""
        self._finish(loop, following)
        self.effect(f"br label %{loop.head}{self._loop_metadata(hint)}")
        self.start(loop.exit)

    def _loop_metadata(self, hint: str) -> str:
        if not hint:
            return ""
        option = self.metadata(f"!{{{hint}}}")
        loop = self.metadata(f"distinct !{{!{option + 1}, !{option}}}")
        return f", !llvm.loop !{loop}"

    def _finish(self, loop: Loop, following: list[str]) -> None:
        self._loops.pop()
        for slot, name, type, first, later in zip(
            loop.slots, loop.names, loop.types, loop.initial, following, strict=True
        ):
            self.lines[slot] = self._carried(loop, name, type, first, later)
        further = [self._carried(loop, *phi) for phi in loop.further]
        if further:
            self.lines[loop.slots[-1]] = "\n".join([self.lines[loop.slots[-1]], *further, *loop.first])
        self.lines[loop.place] = "\n".join(loop.before)
        for text in self._scopes.pop():
            del self._known[text]

    def _carried(self, loop: Loop, name: str, type: str, first: str, later: str) -> str:
        return f"  {name} = phi {type} [ {first}, %{loop.entry} ], [ {later}, %{self.label} ]{self._suffix}"
