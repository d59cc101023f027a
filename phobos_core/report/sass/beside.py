"""Machine code beside the source: what `--emit sass` writes.

In: a listing, its analysis, the lines of the source and their accesses to memory. Out: text in three parts: the loops;
each source line with what its accesses cost and the instructions it became; the instructions in the order of their
addresses, which is how they run. A row of the second and third part is

    0980  L1.2   26  @!P2 BRA 0x2d0

with the address, the loop it is in (the second loop inside the first), and the live registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from phobos_core.report.accesses.model import MemoryAccess
from phobos_core.report.accesses.text import described
from phobos_core.report.sass.flow import basic_blocks, innermost, loops
from phobos_core.report.sass.listing import Instruction, Listing
from phobos_core.report.sass.model import Code, LoopCode

_RULE = 100


def beside(
    listing: Listing, code: Code, source: Sequence[str], title: str, accesses: Sequence[MemoryAccess] = ()
) -> str:
    """`source` are the lines of the file; the text says `title` first."""
    blocks = basic_blocks(listing.instructions)
    names = innermost(blocks, loops(blocks))
    rows = {each.address: _row(each, names[each.address]) for each in listing.instructions}
    parts = [
        f"// {title}",
        f"// {code.instructions} instructions, at most {_known(code.live_registers)} registers live",
        *map(_loop_row, code.loops),
        *_by_line(listing, code, source, rows, accesses),
        *_by_address(listing, rows),
    ]
    return "\n".join(parts) + "\n"


def _loop_row(loop: LoopCode) -> str:
    mix = ", ".join(f"{name} {count}" for name, count in loop.mix.items())
    return (
        f"// {loop.name:8} line {_known(loop.line):>4}  {loop.first:04x}-{loop.last:04x}  "
        f"{loop.instructions} instructions, {loop.math_share:.1%} math: {mix}"
    )


def _by_line(
    listing: Listing, code: Code, source: Sequence[str], rows: Mapping[int, str], accesses: Sequence[MemoryAccess]
) -> Iterator[str]:
    yield from _heading("by source line")
    for line in code.lines:
        text = source[line.line - 1].rstrip() if line.line <= len(source) else ""
        live = f", {line.live_registers} registers live" if line.live_registers is not None else ""
        yield f"{line.line:5} | {text}"
        yield f"      // {line.instructions} instruction{'' if line.instructions == 1 else 's'}{live}"
        yield from (f"      // {described(access)}" for access in accesses if access.line == line.line)
        yield from (rows[each.address] for each in listing.instructions if each.line == line.line)
        yield ""
    unplaced = [rows[each.address] for each in listing.instructions if each.line is None]
    if unplaced:
        yield "      // of no source line"
        yield from unplaced


def _by_address(listing: Listing, rows: Mapping[int, str]) -> Iterator[str]:
    yield from _heading("by address, with the source line")
    for label, each in _in_order(listing):
        yield label if each is None else f"{_known(each.line):>5}{rows[each.address][5:]}"


def by_address(listing: Listing) -> Iterator[tuple[str, Instruction | None]]:
    """The rows without their source lines, each with its instruction; None for the label of one that is jumped to."""
    blocks = basic_blocks(listing.instructions)
    names = innermost(blocks, loops(blocks))
    for label, each in _in_order(listing):
        yield (label if each is None else _row(each, names[each.address]).strip()), each


def _in_order(listing: Listing) -> Iterator[tuple[str, Instruction | None]]:
    """The instructions in the order of their addresses, and before each that is jumped to its label."""
    targets = {target for each in listing.instructions for target in each.targets}
    for each in listing.instructions:
        if each.address in targets:
            yield f"0x{each.address:x}:", None
        yield "", each


def _row(instruction: Instruction, loop: str) -> str:
    return f"      {instruction.address:04x}  {loop:8} {_known(instruction.live):>3}  {instruction}"


def _heading(text: str) -> Iterator[str]:
    yield ""
    yield f"// {text} ".ljust(_RULE, "-")


def _known(number: int | None) -> str:
    return "?" if number is None else str(number)
