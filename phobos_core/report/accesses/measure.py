"""What the warps of a block touch by each access of the code.

In: code with what the launch gives, and a site. Out: a `Measured`. Where that depends on more than the thread, it is
found in every case that matters, and said from least to most. Lanes that only the launch can leave out, by a bound
that it gives, are taken to make the access.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.layouts.memory import WORD
from phobos_core.report.accesses.code import Code, Loop
from phobos_core.report.accesses.context import Case, Context, Taken
from phobos_core.report.accesses.evaluate import Evaluation
from phobos_core.report.accesses.forms import Atom, Form, Vector, known, plus, simplest
from phobos_core.report.accesses.lanes import (
    BANK_ROW,
    SECTOR,
    Addresses,
    bank_phases,
    bytes_touched,
    distances,
    moved,
    sectors,
    shifts,
    warps,
)
from phobos_core.report.accesses.logic import MAYBE, NO, YES, both
from phobos_core.report.accesses.operations import Need, Unfollowed
from phobos_core.report.accesses.sites import Site

# Cases of one access, values of an atom, places in a sector and iterations of a loop beyond which some stand for all.
_MOST_CASES = 128
_MOST_VALUES = {"shared": 64, "global": 4}
# Where none of those makes the access.
_MOST_SEARCHED = 64
_MOST_SHIFTS = 4
_MOST_BITS = 6
_MOST_VISITS = 1024
_SAMPLES = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)

# The least and the most.
Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Banks:
    """Of one access by each warp of a block: the `phases` that its width asks for, the `passes` over the banks that
    they take, and the `degree`, the passes of the slowest phase."""

    phases: int
    passes: Span
    degree: Span


@dataclass(frozen=True, slots=True)
class Sectors:
    """Of one access by the warp that touches most: its bytes, and the 32-byte sectors that they lie in."""

    bytes: int
    touched: Span


@dataclass(frozen=True, slots=True)
class Measured:
    """`lanes` are the most of a warp that make the access, `masked` if the launch's extents may leave out some, `apart`
    if a stride that only the launch knows sets them apart: it was taken to be large, and for banks to be 0 as well.

    `reach` is from the lowest address of a thread to the highest, where all that is not known of it is 0; `atoms` are
    what is not known. `depends_on` names what the ranges go over; where `sampled`, not all of it was tried. `unknown`
    says why there are no numbers.
    """

    site: Site
    lanes: int
    masked: bool
    apart: bool
    reach: Span | None
    atoms: frozenset[Atom]
    banks: Banks | None = None
    sectors: Sectors | None = None
    depends_on: tuple[str, ...] = ()
    sampled: bool = False
    unknown: str | None = None


class Measurer:
    """Measures the accesses of one kernel, in blocks of so many threads."""

    def __init__(self, context: Context, threads: int) -> None:
        self._context = context
        self._threads = threads
        self._evaluations: dict[frozenset[tuple[Atom, Taken]], Evaluation] = {}
        self._visits: dict[int, int | None] = {}
        self._reaching: dict[tuple[int, int], Vector] = {}
        self._seen: dict[tuple[object, ...], tuple[Form, int, Banks | None, Sectors | None]] = {}

    @property
    def code(self) -> Code:
        return self._context.code

    def measure(self, site: Site) -> Measured | None:
        """None for one that no thread makes."""
        for values in (_MOST_VALUES[site.space], _MOST_SEARCHED):
            found, sampled = self._tried(site, values)
            if found is not None or not sampled:
                return found
        return self._not_known(site, "none of the cases that were tried makes it")

    def _tried(self, site: Site, values: int) -> tuple[Measured | None, bool]:
        """What was found with at most so many values of an atom; whether some cases were left out."""
        pending: list[Case] = [{}]
        found: list[Measured] = []
        tried: dict[Atom, None] = {}
        sampled = False
        ended = 0
        while pending:
            case = pending.pop()
            try:
                seen = self._in_case(site, case)
            except Unfollowed as why:
                return self._not_known(site, str(why)), sampled
            except Need as need:
                more, some = self._cases(site, case, need, values)
                if len(pending) + ended + len(more) > _MOST_CASES:
                    # One case goes on as one, so that what it needs further costs a step each.
                    more, some = [more[0 if ended % 2 else -1]], True
                sampled = sampled or some
                tried[need.atom] = None
                pending += more
                continue
            ended += 1
            if seen is not None:
                found.append(seen)
        names = tuple(dict.fromkeys(atom.name for atom in tried if atom.name))
        return (_joined(found, names, sampled) if found else None), sampled

    def _not_known(self, site: Site, why: str) -> Measured:
        atoms = self._context.sources(site.base, site.number)
        return Measured(site, self._lanes(site), False, False, None, atoms, unknown=why)

    def _evaluation(self, case: Case) -> Evaluation:
        key = frozenset(case.items())
        if key not in self._evaluations:
            wider = self._evaluation(dict(list(case.items())[:-1])) if case else None
            self._evaluations[key] = Evaluation(self._context, case, wider)
        return self._evaluations[key]

    def _in_case(self, site: Site, case: Case) -> Measured | None:
        evaluation = self._evaluation(case)
        active = self._active(site, evaluation)
        if site.only is not None:
            asked = site.only
            active = both(active, simplest(tuple(YES if t in asked else NO for t in range(self._threads))))
        if active == NO:
            return None
        base = evaluation.operand(site.base, site.number)
        lanes, banks, touched = self._touched(site, base, active)
        apart = bool(distances(base).terms)
        constants = (base.constant,) if isinstance(base.constant, int) else base.constant
        return Measured(
            site,
            lanes,
            site.left_out or active == MAYBE or (isinstance(active, tuple) and MAYBE in active),
            apart,
            (min(constants) + site.offset, max(constants) + site.offset),
            frozenset(base.atoms),
            banks,
            touched,
            sampled=touched is not None and len(shifts(base, SECTOR)) > _MOST_SHIFTS,
        )

    def _touched(self, site: Site, base: Form, active: Vector) -> tuple[int, Banks | None, Sectors | None]:
        """The lanes of a warp, and what they touch: the same for all offsets that move no lane to another word or
        sector."""
        unit = WORD if site.space == "shared" else SECTOR
        key = (site.space, id(base), site.offset % unit, site.size, active)
        if key not in self._seen:
            address = plus(base, known(site.offset % unit))
            lanes = list(warps(address, active, self._threads, BANK_ROW if site.space == "shared" else SECTOR))
            banks = self._banks(site, address, active, lanes) if site.space == "shared" else None
            touched = _sectors(site, address, lanes) if site.space == "global" else None
            # The form is kept for its identity.
            self._seen[key] = base, max(sum(a is not None for a in each) for each in lanes), banks, touched
        return self._seen[key][1:]

    def _banks(self, site: Site, address: Form, active: Vector, lanes: Sequence[Addresses]) -> Banks:
        """Moved alike by whole words, the lanes meet as many in a bank."""
        ways = [lanes]
        if distances(address).terms:
            ways.append(list(warps(address, active, self._threads, BANK_ROW, near=True)))
        every = [
            [bank_phases(moved(each, by), site.size) for each in way] for way in ways for by in shifts(address, WORD)
        ]
        return Banks(
            sum(map(len, every[0])),
            _range(sum(map(sum, phases)) for phases in every),
            _range(max(map(max, phases)) for phases in every),
        )

    def _active(self, site: Site, evaluation: Evaluation) -> Vector:
        """Whether each thread makes the access, by the branches before it and by its own guard."""
        block = self._context.code.block_of[site.number]
        key = (id(evaluation), block)
        if key not in self._reaching:
            self._reaching[key] = self._reached(block, evaluation)
        holds = self._reaching[key]
        if site.at.guard is None:
            return holds
        return both(holds, evaluation.truth(("!" if site.at.negated else "") + site.at.guard, site.number))

    def _reached(self, block: int, evaluation: Evaluation) -> Vector:
        code = self._context.code
        holds: Vector = YES
        for above, taken in code.conditions(block):
            branch = code.last(above)
            assert branch.guard is not None
            predicate = branch.guard if taken != branch.negated else f"!{branch.guard}"
            holds = both(holds, evaluation.truth(predicate, code.end(above) - 1))
        if not all(map(evaluation.together, code.forks(block))):
            holds = both(holds, MAYBE)
        return holds

    def _lanes(self, site: Site) -> int:
        active = self._active(site, self._evaluation({}))
        return max(sum(a is not None for a in each) for each in warps(known(0), active, self._threads, 1))

    # Cases

    def _cases(self, site: Site, case: Case, need: Need, most: int) -> tuple[list[Case], bool]:
        """A case for each thing that may be true of what is needed, at most so many; whether some were left out."""
        atom, modulus = need.atom, need.modulus
        values: Sequence[int]
        match atom.kind:
            case "choice":
                modulus, values, known_all = 0, (0, 1), True
            case "iteration" if (iterations := self._iterations(site, atom)) is not None:
                if modulus == 0 or len(iterations) <= modulus:
                    modulus, values = 0, iterations
                else:
                    values = range(modulus)
                known_all = True
            case _ if 0 < atom.bits.bit_count() <= _MOST_BITS:
                modulus, values, known_all = 0, _parts(atom.bits), True
            case _:
                values, known_all = (_SAMPLES, False) if modulus == 0 else (range(modulus), True)
        if len(values) > most:
            values, known_all = _some(values, most), False
        return [{**case, atom: Taken(modulus, value)} for value in values], not known_all

    def _iterations(self, site: Site, count: Atom) -> Sequence[int] | None:
        """The iterations in which an access is made, counted from 0."""
        assert count.block is not None
        if count in self._context.whole:
            return None
        code, loop = self._context.code, self._context.code.loops[count.block]
        if loop.header not in self._visits:
            self._visits[loop.header] = self._visits_of(loop, count)
        visits = self._visits[loop.header]
        if visits is None:
            return None
        block = code.block_of[site.number]
        if block not in loop.blocks:
            return range(visits - 1, visits)
        (exit,) = loop.exits(code)
        return range(visits - 1) if exit != block and code.dominates(exit, block) else range(visits)

    def _visits_of(self, loop: Loop, count: Atom) -> int | None:
        """How often its header runs, where that is the same for every launch."""
        code = self._context.code
        exits = loop.exits(code)
        if len(exits) != 1 or len(set(code.successors[exits[0]])) != 2:
            return None
        (exit,) = exits
        branch, leaves_by_jump = code.last(exit), code.successors[exit][0] not in loop.blocks
        assert branch.guard is not None
        predicate = ("!" if branch.negated else "") + branch.guard
        for number in range(_MOST_VISITS):
            evaluation = Evaluation(self._context, {count: Taken(0, number)}, self._evaluation({}))
            jumps = evaluation.truth(predicate, code.end(exit) - 1)
            if jumps not in (NO, YES):
                return None
            if (jumps == YES) == leaves_by_jump:
                return number + 1
        return None


def _sectors(site: Site, address: Form, lanes: Sequence[Addresses]) -> Sectors:
    by = _some(shifts(address, SECTOR), _MOST_SHIFTS)
    counts = [sectors(each, site.size, by) for each in lanes]
    return Sectors(max(bytes_touched(each, site.size) for each in lanes), _range(map(max, zip(*counts, strict=True))))


def _parts(bits: int) -> list[int]:
    """The numbers that have no other bits."""
    found = [0]
    while (following := (found[-1] - bits) & bits) != 0:
        found.append(following)
    return found


def _some(values: Sequence[int], most: int) -> Sequence[int]:
    """At most so many, the first and the last among them, in even steps."""
    if len(values) <= most:
        return values
    return [values[i * (len(values) - 1) // (most - 1)] for i in range(most)]


def _range(values: Iterable[int]) -> Span:
    found = list(values)
    return min(found), max(found)


def _joined(found: Sequence[Measured], depends_on: tuple[str, ...], sampled: bool) -> Measured:
    """What was found in each case, as one."""
    first = found[0]
    if len(found) == 1 and not depends_on:
        return first
    reaches = [each.reach for each in found if each.reach is not None]
    banks = [each.banks for each in found if each.banks is not None]
    touched = [each.sectors for each in found if each.sectors is not None]
    return Measured(
        first.site,
        max(each.lanes for each in found),
        any(each.masked for each in found),
        any(each.apart for each in found),
        over(reaches),
        frozenset().union(*(each.atoms for each in found)),
        Banks(max(b.phases for b in banks), over([b.passes for b in banks]), over([b.degree for b in banks]))
        if banks
        else None,
        Sectors(max(s.bytes for s in touched), over([s.touched for s in touched])) if touched else None,
        depends_on,
        sampled or any(each.sampled for each in found),
    )


def over(spans: Sequence[Span]) -> Span:
    return min(low for low, _ in spans), max(high for _, high in spans)
