"""The value of a register in every thread of a block, as a form.

In: code, and what the launch gives. Out: for a register where an instruction reads it, its form; for a predicate, in
which threads it holds. A register that a loop moves by a fixed step is its first value and so many steps; where ways
meet, the branch that parted them says which thread brings what. Everything is said *in a case*: what is taken for
known of some atoms. What more would have to be known is raised as a `Need`, what no case helps with as `Unfollowed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import gcd
from operator import eq, ge, gt, le, lt, mul, ne

from phobos_core.report.accesses.code import Instruction, Loop
from phobos_core.report.accesses.context import Case, Context
from phobos_core.report.accesses.definitions import Definition, Meeting, Undefined, Written
from phobos_core.report.accesses.forms import (
    Atom,
    Form,
    Vector,
    combined,
    known,
    mapped,
    minus,
    one,
    plus,
    same,
    scaled,
    times,
)
from phobos_core.report.accesses.logic import LOGIC, MAYBE, SHARED, YES, decided, negated
from phobos_core.report.accesses.operations import (
    UNSTEADY,
    Need,
    Opaque,
    Unfollowed,
    apply,
    converted,
    held,
    is_integer,
    read_as,
)

# What all threads see alike, other than memory of their own.
_COMMON = frozenset({"global", "shared", "const"})
# A chain of instructions longer than this is not followed.
_DEEPEST = 150


class Evaluation:
    """In one case. `wider` is the evaluation of the case that has one atom less: what that found holds here too."""

    def __init__(self, context: Context, case: Case, wider: Evaluation | None = None) -> None:
        self._context = context
        self._code = context.code
        self._case = case
        self._wider = wider
        # While a loop's variable is being found, what is found depends on that and is forgotten with it.
        self._forms: list[dict[Definition, Form]] = [{}]
        self._truths: list[dict[Definition, Vector]] = [{}]
        self._depth = 0

    # Values

    def operand(self, text: str, instruction: int, type: str = "b64") -> Form:
        """An operand as an instruction reads it: a register, a number, a name."""
        if text in self._context.given:
            return self._in_case(self._context.given[text])
        if text.startswith("%"):
            definition = self._context.definitions.reaching(text, instruction)
            return self._used(definition, self._code.block_of[instruction])
        try:
            return held(known(int(text, 0)), type if is_integer(type) else "b64")
        except ValueError:
            if text[:2] in ("0f", "0d"):
                return one(self._context.atom(text, lambda: Atom("value", "a constant")))
            raise Unfollowed(f"`{text}` is not known here") from None

    def leaf(self, atom: Atom) -> Form:
        """An atom as far as the case knows it."""
        taken = self._case.get(atom)
        if taken is None:
            return one(atom)
        if taken.modulus == 0:
            return known(taken.value)
        return plus(scaled(self.leaf(self._context.quotient(atom, taken.modulus)), taken.modulus), known(taken.value))

    def found(self, definition: Definition) -> Form | None:
        return self._forms[0].get(definition)

    def _in_case(self, form: Form) -> Form:
        """What the case knows put in."""
        if self._case.keys().isdisjoint(form.atoms):
            return form
        total = known(form.constant)
        for monomial, coefficient in form.terms.items():
            term = known(coefficient)
            for atom in monomial:
                term = times(term, self.leaf(atom))
            total = plus(total, term)
        return total

    def value(self, definition: Definition) -> Form:
        for scope in self._forms:
            if definition in scope:
                return scope[definition]
        if self._wider is not None and (form := self._wider.found(definition)) is not None:
            self._forms[0][definition] = self._in_case(form)
            return self._forms[0][definition]
        if self._depth > _DEEPEST:
            raise Unfollowed("it is the result of a very long computation")
        self._depth += 1
        try:
            found = self._value(definition)
        finally:
            self._depth -= 1
        self._forms[-1][definition] = found
        return found

    def _value(self, definition: Definition) -> Form:
        match definition:
            case Written(number, _, None):
                return self._result(definition, number)
            case Written(number, register, before):
                assert before is not None
                at = self._code.instructions[number]
                assert at.guard is not None
                yes, no = self.value(Written(number, register)), self._used(before, self._code.block_of[number])
                return self._chosen(at.guard, number, *((no, yes) if at.negated else (yes, no)))
            case Meeting(block):
                loop = self._code.loops.get(block)
                return self._carried(definition, loop) if loop else self._meeting(definition)
            case Undefined(register):
                raise Unfollowed(f"`{register}` is never written")

    def _used(self, definition: Definition, block: int) -> Form:
        """A definition read in a block. What a loop leaves may differ between the threads that left it apart."""
        form = self.value(definition)
        match definition:
            case Written(number):
                home = self._code.block_of[number]
            case Meeting(home):
                pass
            case Undefined():
                return form
        if home == block or not (form.terms or self._case):
            return form
        for loop in self._code.loops.values():
            if home in loop.blocks and block not in loop.blocks:
                moved = any(atom.block in loop.blocks for atom in (*form.atoms, *self._case))
                if moved and not all(self.together(b) for b in loop.exits(self._code)):
                    line = self._context.line_of(loop)
                    raise Unfollowed(f"threads leave the loop on line {line} at different times")
        return form

    def _result(self, definition: Definition, number: int) -> Form:
        """What an instruction gives."""
        at = self._code.instructions[number]
        opaque = self._opaque(definition, number)
        type = at.opcode.rpartition(".")[2]
        match at.name:
            case "ld":
                return self._loaded(at, number, opaque)
            case "cvt":
                *_, target, source = at.opcode.split(".")
                if is_integer(source) and is_integer(target):
                    return converted(self.operand(at.sources[0], number, source), source, target, opaque)
            case "selp":
                yes, no, condition = at.sources
                return self._chosen(condition, number, *(self.operand(each, number, type) for each in (yes, no)))
        operands = [self.operand(text, number, type) for text in at.sources]
        found = apply(at.opcode, operands, opaque)
        if found is not None:
            return found
        if all(each.uniform for each in operands):
            return opaque(1)
        raise Unfollowed(f"it is computed by `{at.opcode}`")

    def _opaque(self, key: object, number: int) -> Opaque:
        """What an instruction gives, where all threads have the same."""

        def make(multiple: int, bits: int = 0) -> Form:
            line = self._code.instructions[number].line
            name, block = f"a value of line {line}" if line else "", self._code.block_of[number]
            return scaled(self.leaf(self._context.atom(key, lambda: Atom("value", name, block, bits))), multiple)

        return make

    def _loaded(self, at: Instruction, number: int, opaque: Opaque) -> Form:
        base, plus_sign, _ = at.sources[0].strip("[] ").partition("+")
        words = at.opcode.split(".")
        if "param" in words:
            found = None if plus_sign else self._context.given.get(base)
            return opaque(1) if found is None else self._in_case(found)
        same_for_all = not base.startswith("%") or self.operand(base, number).uniform
        if same_for_all and not _COMMON.isdisjoint(words):
            return opaque(1)
        raise Unfollowed(f"it depends on what line {at.line} loads")

    # Where a condition decides

    def _chosen(self, predicate: str, number: int, yes: Form, no: Form) -> Form:
        """One of two forms, by a predicate that an instruction reads."""
        if same(yes, no):
            return yes
        holds = self.truth(predicate, number)
        if holds == SHARED:
            register = predicate.lstrip("!")
            which = self._context.definitions.reaching(register, number)
            atom = self._context.atom(("choice", which), lambda: Atom("choice", "a condition"))
            if register != predicate:
                yes, no = no, yes
            return plus(no, times(minus(yes, no), self.leaf(atom)))
        if holds == MAYBE or (isinstance(holds, tuple) and max(holds) > YES):
            raise Unfollowed("it depends on a condition that may differ between threads")
        apart = minus(yes, no)
        terms = {m: chosen for m, c in apart.terms.items() if (chosen := combined(mul, c, holds)) != 0}
        return plus(no, Form(combined(mul, apart.constant, holds), terms))

    def _meeting(self, meeting: Meeting) -> Form:
        """Where the ways of a branch come together again."""
        arriving = self._context.definitions.arriving(meeting)
        values = [self._used(definition, block) for block, definition in arriving]
        if all(same(values[0], other) for other in values[1:]):
            return values[0]
        above = self._code.dominator[meeting.block]
        sides: dict[bool, Form] = {}
        for (block, _), value in zip(arriving, values, strict=True):
            side = self._code.side(above, block, meeting.block)
            if side is None or not same(sides.setdefault(side, value), value):
                return self._one_of(meeting, values)
        branch = self._code.last(above)
        assert branch.guard is not None
        yes, no = sides[not branch.negated], sides[branch.negated]
        return self._chosen(branch.guard, self._code.end(above) - 1, yes, no)

    def _one_of(self, meeting: Meeting, values: Sequence[Form]) -> Form:
        """One value of several, that all threads have if nothing parts them on the way."""
        between = self._code.between(self._code.dominator[meeting.block], meeting.block)
        if all(v.uniform for v in values) and all(map(self.together, between)):
            opaque = self._opaque(meeting, self._code.starts[meeting.block])
            return opaque(max(1, gcd(*(v.multiple for v in values))))
        raise Unfollowed("there are several ways to it")

    def together(self, block: int) -> bool:
        """Whether all threads go the same way at the end of a block."""
        last = self._code.last(block)
        if last.guard is None or len(set(self._code.successors[block])) < 2:
            return True
        holds = self.truth(last.guard, self._code.end(block) - 1)
        return isinstance(holds, int) and holds != MAYBE

    # Loops

    def _carried(self, meeting: Meeting, loop: Loop) -> Form:
        """What a loop carries: where its step is fixed, the first value and a step for each iteration."""
        arriving = self._context.definitions.arriving(meeting)
        entering = [self._used(d, b) for b, d in arriving if b not in loop.latches]
        if not entering or any(not same(entering[0], other) for other in entering[1:]):
            raise Unfollowed("a loop starts from one of several values")
        (first,) = entering[:1]
        # If all threads have the same at first, that they go on to follows by induction.
        kind = "assumed" if first.uniform else "unsettled"
        placeholder = self._context.atom((kind, meeting), lambda: Atom("assumed" if first.uniform else "unsettled"))
        with self._scope({meeting: one(placeholder)}):
            following = [self._used(d, b) for b, d in arriving if b in loop.latches]
        steps = [minus(each, one(placeholder)) for each in following]
        if all(placeholder not in step.atoms for step in steps):
            return self._stepped(meeting, loop, first, steps)
        moves = [minus(each, first) for each in following]
        if all(each.uniform for each in moves):
            moved = self._opaque(meeting, self._code.starts[meeting.block])
            known_multiple = placeholder not in {a for each in moves for a in each.atoms}
            return plus(first, moved(max(1, gcd(*(m.multiple for m in moves))) if known_multiple else 1))
        raise Unfollowed(UNSTEADY)

    def _stepped(self, meeting: Meeting, loop: Loop, first: Form, steps: Sequence[Form]) -> Form:
        step = steps[0]
        if all(s.number == 0 for s in steps):
            return first
        fixed = not any(atom.block in loop.blocks for atom in step.atoms)
        if fixed and all(same(step, other) for other in steps[1:]):
            return plus(first, times(step, self.leaf(self._context.count(loop))))
        if all(s.uniform for s in steps):
            moved = self._opaque(meeting, self._code.starts[meeting.block])
            return plus(first, moved(max(1, gcd(*(s.multiple for s in steps)))))
        raise Unfollowed(UNSTEADY)

    @contextmanager
    def _scope(self, forms: dict[Definition, Form]) -> Iterator[None]:
        self._forms.append(forms)
        self._truths.append({})
        try:
            yield
        finally:
            self._forms.pop()
            self._truths.pop()

    # Predicates

    def truth(self, predicate: str, instruction: int) -> Vector:
        """In which threads a predicate holds where an instruction reads it; `!%p1` is one negated."""
        register = predicate.lstrip("!")
        holds = self._truth(self._context.definitions.reaching(register, instruction))
        return mapped(negated, holds) if register != predicate else holds

    def _truth(self, definition: Definition) -> Vector:
        for scope in self._truths:
            if definition in scope:
                return scope[definition]
        if self._wider is not None and (known_before := self._wider.decided(definition)) is not None:
            return known_before
        self._truths[-1][definition] = MAYBE
        try:
            match definition:
                case Written(number, _, None):
                    found = self._compared(number)
                case Meeting():
                    found = self._flag(definition)
                case _:
                    found = MAYBE
        except (Need, Unfollowed):
            found = MAYBE
        self._truths[-1][definition] = found
        return found

    def decided(self, definition: Definition) -> Vector | None:
        """Where something holds, if that is known of each thread."""
        holds = self._truths[0].get(definition)
        return holds if holds is not None and decided(holds) else None

    def _flag(self, meeting: Meeting) -> Vector:
        """A predicate that several ways bring, or a loop carries."""
        arriving = self._context.definitions.arriving(meeting)
        with self._scope({}):
            self._truths[-1][meeting] = SHARED
            brought = {self._truth(definition) for _, definition in arriving} - {SHARED}
        between = self._code.between(self._code.dominator[meeting.block], meeting.block)
        loop = self._code.loops.get(meeting.block)
        apart = not all(map(self.together, loop.blocks if loop else between))
        if any(not isinstance(each, int) or each == MAYBE for each in brought) or apart:
            return MAYBE
        return SHARED

    def _compared(self, number: int) -> Vector:
        at = self._code.instructions[number]
        name, *modifiers = at.opcode.split(".")
        if name in LOGIC and modifiers == ["pred"]:
            return LOGIC[name]([self.truth(each, number) for each in at.sources])
        if name != "setp" or len(modifiers) != 2 or modifiers[0] not in _COMPARISONS:
            return MAYBE
        relation, type = modifiers
        a, b = (self.operand(each, number, type) for each in at.sources)
        if not is_integer(type):
            return SHARED if a.uniform and b.uniform else MAYBE
        a, b = read_as(a, type), read_as(b, type)
        apart = minus(a, b)
        if type[0] == "u" and relation not in ("eq", "ne") and apart.pure and not (a.counts and b.counts):
            # One of them may have wrapped, as `i + 11 < i` does in the first turn of a loop that starts at -11.
            return SHARED if a.uniform and b.uniform else MAYBE
        if apart.pure:
            return combined(_COMPARISONS[relation], apart.constant, 0)
        return SHARED if apart.uniform else MAYBE


# Their results are NO and YES.
_COMPARISONS: Mapping[str, Callable[[int, int], int]] = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
