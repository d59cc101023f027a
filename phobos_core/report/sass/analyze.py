"""From a listing to what is told of it: loops, source lines and memory accesses, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import groupby

from phobos_core.report.sass.flow import BasicBlock, Loop, basic_blocks, loops, predicate_of
from phobos_core.report.sass.listing import Instruction, Listing
from phobos_core.report.sass.model import AccessCode, Code, LineCode, LoopCode
from phobos_core.report.sass.opcodes import ACCESSES, LOCAL_ACCESSES, bits, happens, math_share, mix


def analyze(listing: Listing) -> Code:
    instructions = listing.instructions
    blocks = basic_blocks(instructions)
    return Code(
        instructions=len(instructions),
        live_registers=_most_live(instructions),
        loops=tuple(_loop(loop, blocks) for loop in loops(blocks)),
        lines=_lines(instructions),
        accesses=_accesses(instructions, ACCESSES),
        local_accesses=_accesses(instructions, LOCAL_ACCESSES),
    )


def _loop(loop: Loop, blocks: Sequence[BasicBlock]) -> LoopCode:
    body = [each for number in sorted(loop.blocks) for each in blocks[number].instructions]
    counts = mix(body)
    return LoopCode(
        name=loop.name,
        line=_line_of(loop.back, body) or body[0].line,
        depth=loop.depth,
        first=body[0].address,
        last=body[-1].address,
        instructions=len(body),
        mix=counts,
        math_share=math_share(counts),
    )


def _line_of(back: Instruction, body: Sequence[Instruction]) -> int | None:
    """That of the comparison which the branch back goes by: the branch may have that of what is before it."""
    tested = predicate_of(back)
    for each in reversed(body):
        if tested and each.address < back.address and each.operands.partition(",")[0] == tested and each.line:
            return each.line
    return back.line


def _lines(instructions: Sequence[Instruction]) -> tuple[LineCode, ...]:
    placed = sorted(((each.line, each) for each in instructions if each.line is not None), key=lambda pair: pair[0])
    grouped = [(line, [each for _, each in group]) for line, group in groupby(placed, key=lambda pair: pair[0])]
    return tuple(LineCode(line, len(group), _most_live(group), mix(group)) for line, group in grouped)


def _most_live(instructions: Sequence[Instruction]) -> int | None:
    return max((each.live for each in instructions if each.live is not None), default=None)


def _accesses(instructions: Sequence[Instruction], kinds: Collection[str]) -> tuple[AccessCode, ...]:
    """By line and then in the order of first appearance."""
    accesses = [each for each in instructions if each.base in kinds and happens(each)]
    counted = Counter((each.line, each.base, bits(each)) for each in accesses)
    found = [AccessCode(line, base, width, count) for (line, base, width), count in counted.items()]
    return tuple(sorted(found, key=lambda access: access.line or 0))
