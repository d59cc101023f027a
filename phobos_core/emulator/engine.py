"""Runs a program on all threads of a batch of blocks at once, in lockstep under masks.

Lanes that go the same way form a *group*. At a branch that they disagree on, a group is replaced by one group
per side and a *join*: the place, the branch's immediate postdominator, where the sides become one group
again. A group that waits at a barrier is set aside, so the other side of a branch can come to meet it.
Nothing runnable and something waiting means that the kernel would hang. A `Schedule` keeps warps apart that could go
together, and picks who runs next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.barriers import Barriers, Released
from phobos_core.emulator.cfg import EXIT
from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.groups import Group, Join
from phobos_core.emulator.machine import Active, Geometry, Mask, Recorder
from phobos_core.emulator.program import Barrier, Branch, End, Jump, Program, Switch
from phobos_core.emulator.ptx import Instruction
from phobos_core.emulator.schedule import Schedule
from phobos_core.emulator.waits import hanging_grid

# Polls of one group before others get a turn, fewer where blocks do not poll in step, and turns before a hang is looked
# for.
POLLS_PER_TURN = 64
POLLS_UNDER_A_SCHEDULE = 4
FIRST_SUSPICION = 16
# Turns after which a schedule picks no more.
LAST_AT_RANDOM = 32


@dataclass(slots=True)
class Engine:
    program: Program
    geometry: Geometry
    recorder: Recorder
    races: RaceChecker | None
    everyone: Active
    max_steps: int
    fingerprint: Callable[[], int]
    schedule: Schedule | None = None
    instructions: int = 0
    lane_instructions: int = 0
    runnable: list[Group] = field(default_factory=list)
    joins: dict[int, Join] = field(default_factory=dict)
    barriers: Barriers = field(init=False)
    present: Mask = field(init=False)
    # For telling a hang from a wait: polls since the last turn, turns, and where all was at a turn to compare with.
    polls: int = 0
    turns: int = 0
    suspicious_turn: int = FIRST_SUSPICION
    suspect: tuple[bytes, int] | None = None
    late_blocks: set[int] = field(default_factory=set)
    # What was waited for when lanes last went on without the others of their warp.
    hang: tuple[str, Instruction, int | None] | None = None

    def __post_init__(self) -> None:
        self.barriers = Barriers(self.geometry, self.recorder, self.races)

    def run(self, present: Mask) -> None:
        """Runs all present lanes to their end."""
        self.present = present
        self.runnable = self._dealt([Group(self._active(present), 0, None)])
        self.joins = {}
        self.barriers.reset()
        limit = self.instructions + self.max_steps
        self.late_blocks = set()
        self.hang = None
        while True:
            while self.runnable:
                self._execute(self._next(), limit)
            if not self.barriers.waiting:
                return
            self._unblock()

    def _active(self, mask: Mask, count: int | None = None) -> Active:
        active = Active.of(mask, count)
        return self.everyone if active.full else active

    def _next(self) -> Group:
        if self.schedule is not None and self._at_random:
            return self.schedule.next(self.runnable)
        return self.runnable.pop()

    @property
    def _at_random(self) -> bool:
        """After long waits groups come together and take turns: in a hang, where all is then comes again."""
        return self.schedule is not None and self.turns < LAST_AT_RANDOM

    # One group

    def _execute(self, group: Group, limit: int) -> None:
        """Runs a group until it ends, waits, or becomes other groups."""
        blocks = self.program.blocks
        while True:
            block = blocks[group.block]
            active = group.active
            if active.full:
                for operation in block.full:
                    operation()
            else:
                for masked in block.masked:
                    masked(active)
            self.instructions += block.size
            self.lane_instructions += block.size * active.count
            if self.instructions > limit:
                self.late_blocks.add(group.block)
                if self.instructions > limit + self.max_steps // 10:
                    raise self._endless(group)
            terminator = block.terminator
            match terminator:
                case Jump(target):
                    go_on = self._advance(group, target)
                case Branch():
                    go_on = self._branch(group, terminator)
                case Barrier():
                    go_on = self._barrier(group, terminator)
                case End():
                    go_on = self._end(group, terminator)
                case Switch():
                    go_on = self._switch(group, terminator)
            self.polls += block.polls
            if not go_on:
                return
            if self.polls > (POLLS_PER_TURN if self.schedule is None else POLLS_UNDER_A_SCHEDULE):
                self._yield(group, block.site)
                return
            if self.schedule is not None and self._at_random and self.schedule.preempts():
                self.runnable.append(group)
                return

    def _advance(self, group: Group, target: int) -> bool:
        """Moves a group to a block; False if it has ended or met its join."""
        join = group.join
        if target == EXIT:
            self._leave(join)
            return False
        group.block = target
        if join is not None and target == join.block:
            join.arrived |= group.active.mask
            self._leave(join)
            return False
        return True

    def _leave(self, join: Join | None) -> None:
        """One group fewer is on its way to a join; the last one sets the arrived lanes going."""
        while join is not None:
            join.pending -= 1
            if join.pending:
                return
            self.joins.pop(id(join), None)
            parent = join.parent
            if np.count_nonzero(join.arrived):
                group = Group(self._active(join.arrived), join.block, parent)
                if self._advance(group, join.block):
                    self.runnable.append(group)
                return
            join = parent

    # Branches

    def _branch(self, group: Group, branch: Branch) -> bool:
        active = group.active
        taken = branch.condition if active.full else active.mask & branch.condition
        if branch.negated:
            taken = ~branch.condition if active.full else active.mask & ~branch.condition
        count = int(np.count_nonzero(taken))
        if count == active.count:
            return self._advance(group, branch.taken)
        if count == 0:
            return self._advance(group, branch.following)
        sides = [(branch.following, active.mask & ~taken), (branch.taken, taken & active.mask)]
        return self._diverge(group, sides)

    def _switch(self, group: Group, switch: Switch) -> bool:
        active = group.active
        index = np.broadcast_to(switch.index, active.mask.size)
        sides: dict[int, Mask] = {}
        for number in np.unique(index[active.mask]):
            # An index past the table is undefined; the last entry stands for it.
            target = switch.targets[min(int(number), len(switch.targets) - 1)]
            mask = active.mask & (index == number)
            sides[target] = sides[target] | mask if target in sides else mask
        if len(sides) == 1:
            return self._advance(group, next(iter(sides)))
        return self._diverge(group, list(sides.items()))

    def _diverge(self, group: Group, sides: list[tuple[int, Mask]]) -> bool:
        """Replaces a group by one per side. The last side runs first; a loop's leaving side just waits."""
        meeting = self.program.flow.postdominator[group.block]
        join = group.join
        if meeting != EXIT and (join is None or join.block != meeting):
            join = Join(meeting, join, np.zeros(group.active.mask.size, np.bool_))
            self.joins[id(join)] = join
        elif join is not None:
            join.pending -= 1
        started = []
        for target, mask in sides:
            if join is not None and target == join.block:
                join.arrived |= mask
            elif target != EXIT:
                started.append(Group(self._active(mask), target, join))
        if join is not None:
            join.pending += len(started) + 1
            self._leave(join)
        if self.schedule is not None:
            self.schedule.shuffle(started)
        self.runnable += started
        return False

    # Ends and barriers

    def _end(self, group: Group, end: End) -> bool:
        active = group.active
        leaving = active.mask
        if end.condition is not None:
            leaving = active.mask & (~end.condition if end.negated else end.condition)
        count = int(np.count_nonzero(leaving))
        if count and end.site.opcode == "trap":
            lane = int(np.flatnonzero(leaving)[0])
            raise self.recorder.halt(
                "trap", "the kernel reaches a trap: a promise it relies on is broken", end.site, lane
            )
        if count == active.count:
            return self._advance(group, EXIT)
        if count:
            group.active = self._active(active.mask & ~leaving)
        return self._advance(group, end.following)

    def _barrier(self, group: Group, barrier: Barrier) -> bool:
        active = group.active
        if active.full and barrier.kind == "sync" and barrier.count is None:
            if self.races:
                self.races.clocks.barrier(active.mask)
            return self._advance(group, barrier.following)
        if barrier.kind == "arrive":
            self._resume(self.barriers.arrive(active, barrier))
            return self._advance(group, barrier.following)
        # Lanes without those of their warp that wait for what may never come: not the barrier is at fault.
        if self.hang is not None and self.barriers.torn(active, barrier) is not None:
            raise self.recorder.halt("deadlock", *self.hang)
        released = self.barriers.wait(group, barrier)
        self._resume(released)
        return False

    def _resume(self, released: Released) -> None:
        going = []
        for group, following in released:
            group.active = self._active(group.active.mask, group.active.count)
            if self._advance(group, following):
                going.append(group)
        self.runnable += self._dealt(going)

    def _dealt(self, groups: list[Group]) -> list[Group]:
        return groups if self.schedule is None else self.schedule.dealt(groups, together=not self._at_random)

    # Waiting

    def _yield(self, group: Group, site: Instruction) -> None:
        """A group that polls memory lets others run; if nothing changes from turn to turn, the kernel hangs."""
        self.polls = 0
        self.turns += 1
        group.polled = True
        if not self.runnable:
            self._resume(self.barriers.release_complete_blocks())
        if not self.runnable or self.schedule is not None:
            # A block that has come out of its wait does not wait for others to come out of theirs.
            self._release_joins(self._blocks_without, group)
        self.runnable.insert(0, group)
        if self.turns == self.suspicious_turn:
            self.suspect = (self._standing(), self.fingerprint())
            self.suspicious_turn = 2 * self.turns
        elif self.suspect is not None and self.suspect[0] == self._standing():
            if self.suspect[1] == self.fingerprint():
                self._end_hang(group, site)
            self.suspect = None
            self.suspicious_turn = 2 * self.turns

    def _standing(self) -> bytes:
        """Where each lane is: at a block, at a barrier, at a join, or ended."""
        place = np.full(self.geometry.lanes, -1, np.int64)
        for group in self.runnable:
            place[group.active.mask] = group.block
        for group in self.barriers.groups():
            place[group.active.mask] = len(self.program.blocks) + group.block
        for join in self.joins.values():
            place[join.arrived] = 2 * len(self.program.blocks) + join.block
        return place.tobytes()

    def _end_hang(self, group: Group, site: Instruction) -> None:
        """Threads run on their own if nothing else helps; when all wait, none ever goes on."""
        for free in (self._blocks_without, self._warps_without):
            if self._release_joins(free):
                return
        polling = [(self.program.blocks[each.block].site, each.active) for each in self.runnable if each is not group]
        at_barriers = [(each.barrier.site, each.group.active) for each in self.barriers.waiting]
        waiting = [(site, group.active), *polling, *at_barriers]
        message = hanging_grid(self.geometry, self.present, site, waiting)
        alone = self.geometry.blocks == 1
        hang = message, site, int(group.active.lanes[0]) if alone else None
        if not self._release_joins(np.logical_not):
            raise self.recorder.halt("deadlock", *hang)
        self.hang = hang

    def _unblock(self) -> None:
        """Nothing runs and some groups wait: lets go who can, or says that the kernel hangs."""
        released = self.barriers.release_complete_blocks()
        if released:
            self._resume(released)
        elif self._release_joins(self._blocks_without):
            pass
        elif not (self.barriers.counted() and self._release_joins(self._warps_without)):
            raise self.barriers.hang()

    def _release_joins(self, free: Callable[[Mask], Mask], polling: Group | None = None) -> bool:
        """Lanes at one join go on without the others, as far as `free` of the busy lanes lets them."""
        busy = self._busy(polling)
        for join in list(self.joins.values()):
            going = join.arrived & free(busy)
            if not np.count_nonzero(going):
                continue
            join.arrived = join.arrived & ~going
            group = Group(self._active(going), join.block, join.parent)
            if join.parent is not None:
                join.parent.pending += 1
            if self._advance(group, join.block):
                self.runnable.append(group)
                return True
        return False

    def _busy(self, polling: Group | None) -> Mask:
        """Lanes that poll, wait at a barrier or are about to run."""
        mask = np.zeros(self.geometry.lanes, np.bool_)
        for group in [*self.runnable, *self.barriers.groups(), *([polling] if polling else [])]:
            mask |= group.active.mask
        return mask

    def _blocks_without(self, busy: Mask) -> Mask:
        blocked = np.zeros(self.geometry.blocks, np.bool_)
        blocked[self.geometry.block_of[busy]] = True
        return ~blocked[self.geometry.block_of]

    def _warps_without(self, busy: Mask) -> Mask:
        g = self.geometry
        number = g.block_of * g.warps + g.warp_of
        blocked = np.zeros(g.blocks * g.warps, np.bool_)
        blocked[number[busy]] = True
        free: Mask = ~blocked[number]
        return free

    def _endless(self, group: Group) -> BaseException:
        """The loop at fault is the innermost around all blocks that run once the budget is spent."""
        loop = self.program.flow.loop_around(self.late_blocks)
        site = self.program.blocks[loop[1] if loop else group.block].site
        message = f"the loop still runs after {self.max_steps:,} instructions"
        return self.recorder.halt("endless-loop", message, site, int(group.active.lanes[0]))
