"""Control flow of machine code: basic blocks, and the loops that branches back make.

In: the instructions of a kernel. Out: its basic blocks with their successors, and its natural loops: a branch to a
block that every way to the branch passes through, with all blocks from which that branch can be reached without
leaving through that block again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from phobos_core.report.sass.listing import Instruction

BRANCHES = frozenset({"BRA", "BRX", "JMP", "JMX", "JMXU", "BRXU"})
ENDS = frozenset({"EXIT", "RET", "KILL", "BPT"})
# An instruction that goes to where an earlier one said, and that earlier one.
RECONVERGENCE = {"BSYNC": "BSSY", "SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT"}
CALLS = frozenset({"CALL", "CAL", "JCAL"})


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """`successors` are numbers of blocks."""

    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """`blocks` are numbers of blocks; `back` is the last of the branches to `header`.

    `name` is `L2` for the second loop that is in no other, `L2.1` for the first one inside it.
    """

    name: str
    depth: int
    header: int
    blocks: frozenset[int]
    back: Instruction


def basic_blocks(instructions: Sequence[Instruction]) -> tuple[BasicBlock, ...]:
    goes_to = _jumps(instructions)
    goes_to |= _calls_that_jump(instructions, goes_to)
    starts = {each.address for each in instructions[:1]}
    starts.update(target for each in instructions for target in each.targets)
    starts.update(b.address for a, b in pairwise(instructions) if a.address in goes_to or a.base in ENDS)
    groups: list[list[Instruction]] = []
    for each in instructions:
        if each.address in starts:
            groups.append([])
        groups[-1].append(each)
    number = {group[0].address: index for index, group in enumerate(groups)}
    return tuple(
        BasicBlock(tuple(group), _successors(group[-1], index, number, goes_to)) for index, group in enumerate(groups)
    )


def _jumps(instructions: Sequence[Instruction]) -> dict[int, tuple[int, ...]]:
    """Where each instruction that may go elsewhere goes, by its address.

    A reconvergence goes to the place named by the last instruction above it that opened the same barrier.
    """
    opened: dict[str, tuple[int, ...]] = {}
    found: dict[int, tuple[int, ...]] = {}
    for each in instructions:
        barrier = each.operands.partition(",")[0] if each.base.startswith("B") else ""
        if each.base in RECONVERGENCE.values():
            opened[each.base + barrier] = each.targets
        elif each.base in RECONVERGENCE:
            found[each.address] = opened.get(RECONVERGENCE[each.base] + barrier, ())
        elif each.base in BRANCHES:
            found[each.address] = each.targets
    return found


def _calls_that_jump(
    instructions: Sequence[Instruction], goes_to: Mapping[int, tuple[int, ...]]
) -> dict[int, tuple[int, ...]]:
    """The calls of places from which nothing returns: the assembler writes a far jump so, out of a loop for one."""
    place = {each.address: index for index, each in enumerate(instructions)}

    def returns(target: int) -> bool:
        pending, seen = [place[target]], set()
        while pending:
            index = pending.pop()
            if index in seen or index == len(instructions):
                continue
            seen.add(index)
            each = instructions[index]
            if each.base == "RET":
                return True
            targets = goes_to.get(each.address, ())
            pending += [place[address] for address in targets]
            if predicate_of(each) is not None or not (targets or each.base in ENDS):
                pending.append(index + 1)
        return False

    calls = ((each.address, each.targets) for each in instructions if each.base in CALLS)
    return {address: targets for address, targets in calls if targets and not any(map(returns, targets))}


def _successors(
    last: Instruction, index: int, number: Mapping[int, int], goes_to: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    following = [index + 1] if index + 1 < len(number) else []
    targets = [number[target] for target in goes_to.get(last.address, ())]
    leaves = (last.base in ENDS or bool(targets)) and predicate_of(last) is None
    return tuple(dict.fromkeys([*targets, *([] if leaves else following)]))


def predicate_of(instruction: Instruction) -> str | None:
    """What it goes by: a guard, or an operand of the branches `BRA.U UP0, ...`, `BRA P1, ...`, `BRA.DIV UR4, ...`."""
    if instruction.guard is not None:
        return instruction.guard.lstrip("@!")
    first, comma, _ = instruction.operands.partition(",")
    return first.lstrip("!") if instruction.base == "BRA" and comma else None


def loops(blocks: Sequence[BasicBlock]) -> tuple[Loop, ...]:
    """In the order of their names: an outer loop before those that it holds, else by the place of the header."""
    before = _predecessors(blocks)
    entries = _entries(blocks, before)
    dominators = _dominators(before, entries, _reached(blocks, entries))
    latches: dict[int, list[int]] = {}
    for index, dominating in dominators.items():
        for target in blocks[index].successors:
            if target in dominating:
                latches.setdefault(target, []).append(index)
    bodies = {header: _body(header, ends, before, dominators) for header, ends in latches.items()}
    return tuple(_named(bodies, {h: blocks[max(ends)].instructions[-1] for h, ends in latches.items()}, "", 1))


def _named(
    bodies: Mapping[int, frozenset[int]], back: Mapping[int, Instruction], prefix: str, depth: int
) -> Iterator[Loop]:
    """The loops among `bodies`, each followed by those inside it."""
    outermost = [h for h in bodies if not any(h in body for other, body in bodies.items() if other != h)]
    for number, header in enumerate(sorted(outermost), 1):
        name = f"{prefix}.{number}" if prefix else f"L{number}"
        yield Loop(name, depth, header, bodies[header], back[header])
        inside = {h: body for h, body in bodies.items() if h != header and h in bodies[header]}
        yield from _named(inside, back, name, depth + 1)


def innermost(blocks: Sequence[BasicBlock], found: Sequence[Loop]) -> dict[int, str]:
    """The name of the innermost loop around each address, empty outside all."""
    names = dict.fromkeys((each.address for block in blocks for each in block.instructions), "")
    for loop in found:
        for number in loop.blocks:
            names.update((each.address, loop.name) for each in blocks[number].instructions)
    return names


def _predecessors(blocks: Sequence[BasicBlock]) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        for target in block.successors:
            before[target].append(index)
    return before


def _entries(blocks: Sequence[BasicBlock], before: Sequence[Sequence[int]]) -> frozenset[int]:
    """The first block, and the subroutines: what is called or what nothing jumps to."""
    number = {block.instructions[0].address: index for index, block in enumerate(blocks)}
    called = {
        number[target]
        for block in blocks
        for each in block.instructions
        if each.base in CALLS
        for target in each.targets
        if number[target] not in block.successors
    }
    return frozenset({*([0] if blocks else []), *called, *(n for n, sources in enumerate(before) if not sources)})


def _reached(blocks: Sequence[BasicBlock], entries: frozenset[int]) -> list[int]:
    """The blocks that can be reached, by their place."""
    reached: set[int] = set()
    pending = list(entries)
    while pending:
        block = pending.pop()
        if block not in reached:
            reached.add(block)
            pending += blocks[block].successors
    return sorted(reached)


def _dominators(
    before: Sequence[Sequence[int]], entries: frozenset[int], reached: Sequence[int]
) -> dict[int, frozenset[int]]:
    """For each block that can be reached, those that every way to it passes through."""
    everything = frozenset(reached)
    found = {index: frozenset({index}) if index in entries else everything for index in reached}
    changed = True
    while changed:
        changed = False
        for index in reached:
            if index not in entries:
                sources = (found[each] for each in before[index] if each in found)
                now = frozenset.intersection(*sources) | {index}
                changed = changed or now != found[index]
                found[index] = now
    return found


def _body(
    header: int, latches: Sequence[int], before: Sequence[Sequence[int]], reached: Collection[int]
) -> frozenset[int]:
    body = {header}
    pending = list(latches)
    while pending:
        block = pending.pop()
        if block not in body and block in reached:
            body.add(block)
            pending += before[block]
    return frozenset(body)
