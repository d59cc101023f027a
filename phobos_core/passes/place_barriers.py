"""Puts a barrier wherever a byte crosses from one thread to another, and nowhere else.

In: a kernel whose stores have schedules and whose allocations have offsets. Out: the kernel with `barrier` ops.

Walks the program with the set of accesses made since the last barrier. An op that conflicts with one of them (same
bytes, one of the two writes, perhaps another thread) gets a barrier before it, which empties the set. Around a loop
the set is carried until it stops growing; what was accessed in an earlier iteration is kept in the terms of that
iteration (`_aged`), so that windows that the loop moves on are still seen to be apart. Last, each barrier whose removal
leaves no conflict is removed.

Not all threads come to what stands under control that differs between them, so no barrier may stand there: a branch or
loop that splits them is one access to all that it touches, with the barrier before it. What single threads do to the
elements of one buffer is for the barriers of the source (`sync`) to order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.accesses import Access, Accesses
from phobos_core.ir.divergence import divergence
from phobos_core.ir.module import Block, Decision, Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Atom, Earlier, Form, Region
from phobos_core.ir.rewrite import Index, edit, indexed, with_body
from phobos_core.passes.pending import Bits, Pending


@dataclass(frozen=True, slots=True)
class State:
    """The accesses since the last barrier. `copies` are not known to be complete, and come with the number of groups
    that were committed since each was issued."""

    finished: Bits = 0
    copies: frozenset[tuple[Access, int]] = frozenset()

    def __or__(self, other: State) -> State:
        return State(self.finished | other.finished, self.copies | other.copies)

    @property
    def after_barrier(self) -> State:
        return State(0, self.copies)


_MOST_GROUPS = 16
# A barrier in a loop costs as much as this many outside of it.
_LOOP_WEIGHT = 10
# To leave a barrier out is tried by walking the whole kernel, so past this many the rest stay.
_MOST_TRIED = 64


def place_barriers(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    flow = Flow(Accesses(kernel, index), index, divergence(kernel.body).splits)
    placed = flow.place(kernel.body)
    before = {op: [Op("barrier", (), (), {}, (), op.line)] for op in placed}
    kernel = with_body(kernel, edit(kernel.body, before=before).ops)
    return replace(kernel, decisions=(*kernel.decisions, _decision(kernel, placed, index)))


def _decision(kernel: Kernel, placed: Sequence[Op], index: Index) -> Decision:
    inside = sum(_depth(index, op) > 0 for op in placed)
    choice = f"{len(placed)} placed" + (f", {inside} of them in loops" if inside else "")
    lines = ", ".join(map(str, sorted({op.line for op in placed if op.line})))
    reason = (
        f"before line{'s' if ',' in lines else ''} {lines}: other threads wrote or read those bytes since the last one"
        if placed
        else "no byte crosses from one thread to another"
    )
    return Decision(kernel.line, "barriers", choice, reason)


class Flow:
    """The walk. `place` decides where barriers go; `holds` checks a given set of them."""

    def __init__(self, accesses: Accesses, index: Index, splits: frozenset[Op] = frozenset()) -> None:
        self._all = accesses
        self._splits = splits
        self._accesses = _that_matter({op: accesses.of(op) for op in index.ops})
        self._pending = Pending()
        for mine in self._accesses.values():
            self._bits_of(mine)
        self._index = index
        self._fixed: frozenset[Op] | None = None
        self._broken = False
        self._relevant: dict[Block, list[Op]] = {}
        self._aging: dict[tuple[Op, Access], Access] = {}
        self._leaving: dict[tuple[Op, Access], Access] = {}
        self._walked: dict[tuple[Op, State], tuple[State, list[Op], bool]] = {}

    def place(self, body: Block) -> list[Op]:
        """The ops that need a barrier before them, each of which is needed in the presence of the others."""
        _, placed = self._block(body, State())
        # Those in the innermost loops first: leaving one of them out saves most.
        for op in sorted(placed, key=lambda op: -_depth(self._index, op))[:_MOST_TRIED]:
            others = [other for other in placed if other is not op]
            if self.holds(body, others):
                placed = others
        return placed

    def holds(self, body: Block, barriers: Sequence[Op]) -> bool:
        """Whether barriers before just these ops leave no conflict."""
        self._fixed, self._broken = frozenset(barriers), False
        self._walked.clear()
        self._block(body, State())
        self._fixed = None
        return not self._broken

    def _ops(self, block: Block) -> list[Op]:
        """The ops of a block that matter here."""
        if block not in self._relevant:
            self._relevant[block] = [
                op for op in block.ops if self._accesses[op] or op.regions or OPS[op.name].effect in ("sync", "fence")
            ]
        return self._relevant[block]

    def _bits_of(self, accesses: Iterable[Access]) -> Bits:
        bits = 0
        for access in accesses:
            bits |= self._pending.bit(access)
        return bits

    # Each step takes the state before and gives the state after, with the ops to put a barrier before.

    def _block(self, block: Block, state: State) -> tuple[State, list[Op]]:
        placed: list[Op] = []
        for op in self._ops(block):
            state, more = self._op(op, state)
            placed += more
            if self._broken and self._fixed is not None:
                break
        return state, placed

    def _op(self, op: Op, state: State) -> tuple[State, list[Op]]:
        match op.name:
            case "for" | "while" | "if" if op in self._splits:
                inside = self._index.ops[self._index.position[op] : self._index.end[op] + 1]
                after, placed = self._accessed(op, state, [a for o in inside for a in self._accesses[o]])
                return self._left(op, state, after), placed
            case "for" | "while" | "if":
                return self._around(op, state)
            case "barrier" | "sync":
                return state.after_barrier, []
            case "async_commit":
                copies = ((a, min(groups + 1, _MOST_GROUPS)) for a, groups in state.copies)
                return State(state.finished, frozenset(copies)), []
            case "async_wait":
                left = frozenset((a, groups) for a, groups in state.copies if groups <= op.attrs["pending"])
                complete = (a for a, _ in state.copies - left)
                return State(state.finished | self._bits_of(complete), left), []
        return self._accessed(op, state, self._accesses[op])

    def _accessed(self, op: Op, state: State, mine: Sequence[Access]) -> tuple[State, list[Op]]:
        placed: list[Op] = []
        if self._fixed is not None and op in self._fixed:
            state = state.after_barrier
        if state.finished and any(self._pending.conflicts(a, state.finished) for a in mine):
            self._broken = True
            state = state.after_barrier
            placed = [op]
        if any(a.copies for a in mine):
            finished = self._bits_of(a for a in mine if not a.copies)
            return state | State(finished, frozenset((a, 0) for a in mine if a.copies)), placed
        return State(state.finished | self._bits_of(mine), state.copies), placed

    def _around(self, op: Op, state: State) -> tuple[State, list[Op]]:
        """Remembered by the state before: without that, each loop around would double the walks of those inside."""
        known = self._walked.get((op, state))
        if known is None:
            broken, self._broken = self._broken, False
            known = self._walked[op, state] = (*self._walk_around(op, state), self._broken)
            self._broken = broken
        after, placed, breaks = known
        self._broken |= breaks
        return after, placed

    def _walk_around(self, op: Op, state: State) -> tuple[State, list[Op]]:
        inner = self._branch if op.name == "if" else self._loop
        if self._fixed is not None:
            return inner(op, state.after_barrier if op in self._fixed else state)
        after, placed = inner(op, state)
        if placed and state.finished:
            # One barrier before the loop may do for one in each iteration.
            after_first, fewer = inner(op, state.after_barrier)
            if 1 + self._cost(fewer, op) < self._cost(placed, op):
                return after_first, [op, *fewer]
        return after, placed

    def _cost(self, placed: Sequence[Op], outer: Op) -> int:
        depth = _depth(self._index, outer)
        return sum(_LOOP_WEIGHT ** (_depth(self._index, op) - depth) for op in placed)

    def _branch(self, op: Op, state: State) -> tuple[State, list[Op]]:
        then, first = self._block(op.regions[0], state)
        orelse, second = self._block(op.regions[1], state)
        return self._left(op, state, then | orelse), first + second

    def _loop(self, op: Op, before: State) -> tuple[State, list[Op]]:
        state = before
        while True:
            # A `while` ends after its first region, a `for` before its only one.
            leaving = current = state
            placed: list[Op] = []
            for number, region in enumerate(op.regions):
                current, more = self._block(region, current)
                placed = placed + more
                if number == 0 and len(op.regions) == 2:
                    leaving = current
            grown = state | self._aged(op, state, current)
            if grown == state or (self._broken and self._fixed is not None):
                return self._left(op, before, leaving), placed
            state = grown

    def _aged(self, loop: Op, before: State, state: State) -> State:
        """The accesses of an iteration as the next one sees them."""
        variable: Value | None = None
        step: int | None = None
        if loop.name == "for":
            variable = loop.regions[0].args[0]
            step_op = self._index.defining(loop.operands[2], "const")
            step = step_op.attrs["value"] if step_op is not None else None

        def aged(access: Access) -> Access:
            key = (loop, access)
            if key not in self._aging:
                # A tile that the loop declares is a new one in each iteration, whose bytes are those of the last.
                own = access.own and not self._index.inside(access.region.buffer, loop)
                self._aging[key] = self._mapped(access, older, own)
            return self._aging[key]

        def older(form: Form) -> Form | None:
            terms: list[tuple[Atom, int]] = []
            for atom, coefficient in form[0]:
                if isinstance(atom, Earlier):
                    terms.append((atom, coefficient))
                elif atom is variable and step is not None:
                    terms.append((Earlier(atom, step), coefficient))
                elif self._index.inside(atom, loop):
                    return None
                else:
                    terms.append((atom, coefficient))
            return frozenset(terms), form[1]

        return self._changed(before, state, aged)

    def _left(self, around: Op, before: State, state: State) -> State:
        """The accesses made inside `around` as what follows it sees them."""

        def outside(form: Form) -> Form | None:
            values = (a.variable if isinstance(a, Earlier) else a for a, _ in form[0])
            return None if any(self._index.inside(v, around) for v in values) else form

        def left(access: Access) -> Access:
            key = (around, access)
            if key not in self._leaving:
                self._leaving[key] = self._mapped(access, outside, access.own)
            return self._leaving[key]

        return self._changed(before, state, left)

    def _changed(self, before: State, state: State, change: Callable[[Access], Access]) -> State:
        """`state` with `change` made to what was not in `before`, which knows nothing of the inside."""
        kept, new = state.finished & before.finished, state.finished & ~before.finished
        finished = kept | self._bits_of(change(a) for a in self._pending.of(new))
        return State(finished, frozenset((change(a), groups) for a, groups in state.copies))

    def _mapped(self, access: Access, form: Callable[[Form], Form | None], own: bool) -> Access:
        """The access with its region in other terms."""
        region = access.region
        starts = tuple(form(s) if s is not None else None for s in region.starts)
        stage = form(region.stage) if region.stage is not None else None
        if starts == region.starts and stage == region.stage and own == access.own:
            return access
        moved = Region(region.buffer, stage, starts, region.shape, region.flat)
        # A map in terms of the region no longer says which thread has which byte.
        threads = access.threads if access.threads is not None and region not in access.threads else None
        return self._all.one(moved, access.write, threads, access.bytes, access.copies, own)


def _that_matter(accesses: Mapping[Op, list[Access]]) -> dict[Op, list[Access]]:
    """Without those of tensors that the kernel only reads."""
    written = {a.region.buffer for mine in accesses.values() for a in mine if a.write}
    return {
        op: mine and [a for a in mine if a.bytes is not None or a.region.buffer in written]
        for op, mine in accesses.items()
    }


def _depth(index: Index, op: Op) -> int:
    return sum(around.name in ("for", "while") for around in index.ancestors(op))
