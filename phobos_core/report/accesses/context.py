"""What evaluating a kernel's code starts from: the code, the definitions of its registers, what the launch gives.

In: code and forms by name. Out: a `Context`, which also keeps the atoms that evaluation makes, so that the same thing
is the same atom in every case; a `Case` is what is taken for known of some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.report.accesses.code import Code, Loop
from phobos_core.report.accesses.definitions import Definition, Definitions, Meeting, Written
from phobos_core.report.accesses.forms import Atom, Form


@dataclass(frozen=True, slots=True)
class Taken:
    """What a case takes for known of an atom: its remainder by `modulus`, its value where that is 0."""

    modulus: int
    value: int


Case: TypeAlias = Mapping[Atom, Taken]


class Context:
    """`given` has the forms of parameters, special registers and variables by name, of one atom at most."""

    def __init__(self, code: Code, given: Mapping[str, Form]) -> None:
        self.code = code
        self.definitions = Definitions(code)
        self.given = given
        self.whole: dict[Atom, Atom] = {}
        self._atoms: dict[object, Atom] = {}

    def atom(self, key: object, make: Callable[[], Atom]) -> Atom:
        """The one with this key."""
        if key not in self._atoms:
            self._atoms[key] = make()
        return self._atoms[key]

    def quotient(self, atom: Atom, modulus: int) -> Atom:
        """What is left of an atom when its remainder is known; `whole` leads back."""
        found = self.atom((atom, modulus), lambda: Atom(atom.kind, atom.name, atom.block))
        self.whole[found] = atom
        return found

    def count(self, loop: Loop) -> Atom:
        """The number of an iteration, from 0."""
        name = f"the loop on line {self.line_of(loop)}"
        return self.atom(("iteration", loop.header), lambda: Atom("iteration", name, loop.header))

    def sources(self, register: str, instruction: int) -> frozenset[Atom]:
        """What the launch gives that a register is computed from, but not by way of memory."""
        found: set[Atom] = set()
        seen: set[Definition] = set()
        pending = [(register, instruction)]
        while pending:
            definition = self.definitions.reaching(*pending.pop())
            arriving = [definition]
            while arriving:
                each = arriving.pop()
                if each in seen:
                    continue
                seen.add(each)
                match each:
                    case Meeting():
                        arriving += [brought for _, brought in self.definitions.arriving(each)]
                    case Written(number, _, before):
                        arriving += [before] if before is not None else []
                        at = self.code.instructions[number]
                        if at.name != "ld":
                            pending += [(text, number) for text in at.sources if text.startswith("%")]
                        elif (form := self.given.get(at.sources[0].strip("[] "))) is not None:
                            found |= form.atoms
        return frozenset(found)

    def line_of(self, loop: Loop) -> int | None:
        """That of the comparison by which it is left."""
        for block in sorted(loop.blocks):
            last = self.code.last(block)
            if last.guard and any(s not in loop.blocks for s in self.code.successors[block]):
                definition = self.definitions.reaching(last.guard, self.code.end(block) - 1)
                if isinstance(definition, Written):
                    return self.code.instructions[definition.instruction].line
        return self.code.instructions[self.code.starts[loop.header]].line
