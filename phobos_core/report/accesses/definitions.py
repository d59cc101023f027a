"""Which definitions of a register reach a use: SSA form, found as far as it is asked for (Braun et al., 2013).

LLVM leaves each value in a register of its own, but for those that meet at a block: there every way writes the same
register. In: a `Code`. Out: for a register at a place its `Definition`.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.report.accesses.code import Code


@dataclass(frozen=True, slots=True)
class Written:
    """By an instruction; under its guard, where it has one and `before` is what the register holds otherwise."""

    instruction: int
    register: str
    before: Definition | None = None


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the ways into a block bring: one definition for each of its predecessors."""

    block: int
    register: str


@dataclass(frozen=True, slots=True)
class Undefined:
    register: str


Definition: TypeAlias = Written | Meeting | Undefined


class Definitions:
    def __init__(self, code: Code) -> None:
        self._code = code
        self._writes: dict[str, list[int]] = {}
        self._at_start: dict[tuple[str, int], Definition] = {}
        for number, instruction in enumerate(code.instructions):
            for register in instruction.results:
                self._writes.setdefault(register, []).append(number)

    def reaching(self, register: str, instruction: int) -> Definition:
        """What the register holds when an instruction reads it."""
        writes = self._writes.get(register, [])
        if len(writes) == 1:
            # The only one reaches every use, as in SSA form.
            return self._written(register, writes[0])
        return self._before(register, self._code.block_of[instruction], instruction)

    def arriving(self, meeting: Meeting) -> list[tuple[int, Definition]]:
        """What each predecessor of the block brings."""
        return [(b, self._at_end(meeting.register, b)) for b in self._code.predecessors[meeting.block]]

    def _before(self, register: str, block: int, instruction: int) -> Definition:
        writes = self._writes.get(register, [])
        at = bisect_left(writes, instruction) - 1
        if at >= 0 and writes[at] >= self._code.starts[block]:
            return self._written(register, writes[at])
        return self._start_of(register, block)

    def _written(self, register: str, instruction: int) -> Written:
        if self._code.instructions[instruction].guard is None or len(self._writes[register]) == 1:
            return Written(instruction, register)
        return Written(instruction, register, self._before(register, self._code.block_of[instruction], instruction))

    def _at_end(self, register: str, block: int) -> Definition:
        return self._before(register, block, self._code.end(block))

    def _start_of(self, register: str, block: int) -> Definition:
        """Along single predecessors up to where ways meet."""
        passed = []
        while (register, block) not in self._at_start:
            passed.append(block)
            predecessors = self._code.predecessors[block]
            if len(predecessors) != 1 or self._code.dominator[block] in (block, -1):
                reached = predecessors and self._code.dominator[block] >= 0
                found: Definition = Meeting(block, register) if reached else Undefined(register)
                break
            (block,) = predecessors
            writes = self._writes.get(register, [])
            at = bisect_left(writes, self._code.end(block)) - 1
            if at >= 0 and writes[at] >= self._code.starts[block]:
                found = self._written(register, writes[at])
                break
        else:
            found = self._at_start[register, block]
        for each in passed:
            self._at_start[register, each] = found
        return found
