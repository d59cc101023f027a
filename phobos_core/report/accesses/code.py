"""PTX as the compiler writes it, read as far as addresses need: statements, their source lines, basic blocks, loops.

In: the text of one kernel. Out: a `Code`. Operands stay text: of a kernel's instructions only those that make
addresses are ever looked at closely. This is no reader of PTX in general; the emulator has one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_REGISTER = re.compile(r"%[a-z]+\d+")
_INSTRUCTION = re.compile(r"[\s{]*(?:@(!?)(%\w+)\s+)?(([a-z]\w*)[\w.:]*)\s*([^;]*)")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^\s,][^,]*")
_JUMPS = frozenset({"bra", "brx"})
_ENDS = _JUMPS | {"ret", "exit", "trap"}
_MEMORY = frozenset({"st", "red", "cp", "stmatrix", "prefetch", "discard", "applypriority"})
_ORDER = frozenset({"bar", "barrier", "membar", "fence", "griddepcontrol"})
_NO_RESULT = _ENDS | _MEMORY | _ORDER


@dataclass(frozen=True, slots=True)
class Instruction:
    """`name` is the opcode without its modifiers. `guard` is the predicate register it runs under, `negated` or not.
    `line` is the source line it serves."""

    name: str
    opcode: str
    operands: str
    guard: str | None
    negated: bool
    line: int | None
    ptx_line: int

    @property
    def results(self) -> list[str]:
        """The registers it writes."""
        if self.name in _NO_RESULT:
            return []
        first = self.operands.partition("}" if self.operands.startswith("{") else ",")[0]
        return _REGISTER.findall(first)

    @property
    def sources(self) -> list[str]:
        """The operands after the result, as text."""
        parts = split(self.operands)
        return parts if self.name in _NO_RESULT else parts[1:]


def split(operands: str) -> list[str]:
    """At the commas outside brackets."""
    return [part.rstrip() for part in _OPERAND.findall(operands)]


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header, the blocks that go back to it, and all its blocks."""

    header: int
    latches: frozenset[int]
    blocks: frozenset[int]

    def exits(self, code: Code) -> list[int]:
        """The blocks that it may be left from."""
        return [b for b in sorted(self.blocks) if any(s not in self.blocks for s in code.successors[b])]


@dataclass(frozen=True)
class Code:
    """Block b is the instructions `starts[b]` up to `starts[b + 1]`; `successors` has the target of a branch first."""

    instructions: tuple[Instruction, ...]
    starts: tuple[int, ...]
    successors: tuple[tuple[int, ...], ...]

    @cached_property
    def block_of(self) -> tuple[int, ...]:
        """The block of each instruction."""
        ends = (*self.starts[1:], len(self.instructions))
        return tuple(b for b, (start, end) in enumerate(zip(self.starts, ends, strict=True)) for _ in range(start, end))

    def end(self, block: int) -> int:
        """One past the last instruction of a block."""
        return self.starts[block + 1] if block + 1 < len(self.starts) else len(self.instructions)

    def last(self, block: int) -> Instruction:
        return self.instructions[self.end(block) - 1]

    def side(self, above: int, block: int, target: int) -> bool | None:
        """Whether the branch that ends `above` is taken on the way by the edge from `block` to `target`."""
        ways = self.successors[above]
        if len(ways) != 2 or ways[0] == ways[1]:
            return None
        for taken, way in ((True, ways[0]), (False, ways[1])):
            straight = block == above and way == target
            if straight or (way != target and self.predecessors[way] == (above,) and self.dominates(way, block)):
                return taken
        return None

    def between(self, above: int, below: int) -> set[int]:
        """The blocks on the ways from one to another that it dominates, without the latter."""
        seen: set[int] = set()
        pending = [above]
        while pending:
            block = pending.pop()
            if block not in seen and (block != below or block == above):
                seen.add(block)
                pending += self.successors[block]
        return seen

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.starts]
        for block, targets in enumerate(self.successors):
            for target in dict.fromkeys(targets):
                found[target].append(block)
        return tuple(map(tuple, found))

    @cached_property
    def dominator(self) -> tuple[int, ...]:
        """The immediate dominator of each block; of the entry itself; -1 where no path leads (Cooper et al., 2001)."""
        order = _postorder(self.successors)
        rank = {block: at for at, block in enumerate(order)}
        parent = [-1] * len(self.starts)
        parent[0] = 0

        def common(a: int, b: int) -> int:
            while a != b:
                if rank[a] < rank[b]:
                    a = parent[a]
                else:
                    b = parent[b]
            return a

        changed = True
        while changed:
            changed = False
            for block in reversed(order[:-1]):
                new = -1
                for other in self.predecessors[block]:
                    if parent[other] >= 0:
                        new = other if new < 0 else common(new, other)
                if parent[block] != new:
                    parent[block] = new
                    changed = True
        return tuple(parent)

    def dominates(self, above: int, block: int) -> bool:
        while block != above:
            following = self.dominator[block]
            if following in (block, -1):
                return False
            block = following
        return True

    @cached_property
    def loops(self) -> dict[int, Loop]:
        """By header. A jump back to a block that does not dominate it makes no loop."""
        latches: dict[int, set[int]] = {}
        for block, targets in enumerate(self.successors):
            for target in targets:
                if self.dominator[block] >= 0 and self.dominates(target, block):
                    latches.setdefault(target, set()).add(block)
        return {header: Loop(header, frozenset(backs), self._body(header, backs)) for header, backs in latches.items()}

    def _body(self, header: int, latches: set[int]) -> frozenset[int]:
        body, pending = {header}, list(latches)
        while pending:
            block = pending.pop()
            if block not in body:
                body.add(block)
                pending += self.predecessors[block]
        return frozenset(body)

    def conditions(self, block: int) -> list[tuple[int, bool]]:
        """The branches that must have been decided for a block to be reached: the block that branches, and whether
        its guard let it jump."""
        found = []
        while (above := self.dominator[block]) not in (block, -1):
            branch, ways = self.last(above), self.successors[above]
            if branch.guard is not None and self.predecessors[block] == (above,):
                if branch.name not in _JUMPS:
                    found.append((above, False))
                elif len(set(ways)) == 2:
                    found.append((above, block == ways[0]))
            block = above
        return found

    def forks(self, block: int) -> list[int]:
        """The blocks before it that may go elsewhere for good, other than by what `conditions` has."""
        found = []
        while (above := self.dominator[block]) not in (block, -1):
            if self.predecessors[block] != (above,):
                before = self._ways(above, block)
                found += [b for b in sorted(before) if any(s not in before and s != block for s in self.successors[b])]
            block = above
        return found

    def _ways(self, above: int, block: int) -> set[int]:
        """The blocks on the ways from one to another that it dominates."""
        seen, pending = {above}, list(self.predecessors[block])
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending += self.predecessors[each]
        return seen


def read(ptx: str) -> Code:
    """The text holds one kernel."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    cuts = {0}
    line: int | None = None
    for number, text in enumerate(ptx.splitlines(), 1):
        if text.startswith("\t.loc"):
            line = int(text.split()[2]) or None
        elif text.startswith("$") and text.rstrip().endswith(":"):
            labels[text.rstrip()[:-1]] = len(instructions)
            cuts.add(len(instructions))
        elif ";" in text:
            for statement in text.partition("//")[0].split(";")[:-1]:
                found = _statement(statement, line, number)
                if found is not None:
                    instructions.append(found)
                    if found.name in _ENDS:
                        cuts.add(len(instructions))
    starts = tuple(sorted(at for at in cuts if at < len(instructions)))
    block_at = {at: block for block, at in enumerate(starts)}
    return Code(tuple(instructions), starts, _successors(instructions, starts, block_at, labels))


def _statement(text: str, line: int | None, number: int) -> Instruction | None:
    found = _INSTRUCTION.match(text)
    if found is None:
        return None
    negated, guard, opcode, name, operands = found.groups()
    return Instruction(name, opcode, operands, guard, negated == "!", line, number)


def _successors(
    instructions: Sequence[Instruction], starts: Sequence[int], block_at: dict[int, int], labels: dict[str, int]
) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    ends = (*starts[1:], len(instructions))
    for block, end in enumerate(ends):
        last = instructions[end - 1]
        following = (block + 1,) if block + 1 < len(starts) else ()
        match last.name:
            case "bra":
                target = block_at.get(labels.get(last.operands, -1))
                jump = () if target is None else (target,)
                found.append((*jump, *following) if last.guard else jump)
            case "brx":
                # Which of its targets is not read: any block may follow.
                found.append(tuple(range(len(starts))))
            case "ret" | "exit" | "trap":
                found.append(following if last.guard else ())
            case _:
                found.append(following)
    return tuple(found)


def _postorder(successors: Sequence[Sequence[int]]) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        block, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            order.append(block)
            stack.pop()
    return order
