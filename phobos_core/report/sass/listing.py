"""The text of nvdisasm as instructions.

In: the output of `nvdisasm -g -c`, and of `nvdisasm -c -lrm count` where there is one. Out: the instructions of one
kernel in the order of their addresses, each with its source line, the registers live at it and its branch targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_SECTION = re.compile(r'^\s*\.section\s+\.text\.([^,"]+)')
_LABEL = re.compile(r"^([.$\w]+):")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:(@!?\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);(.*)$")
_LINE = re.compile(r'^\s*//## File "[^"]*", line (\d+)')
_TARGET = re.compile(r"\.L_?[\w$]+|(?<=`\()[.$\w]+(?=\))")
# The first column of the table of live registers is that of the general ones.
_LIVE = re.compile(r"//\s*\|\s*(\d*)\s*\|")


@dataclass(frozen=True, slots=True)
class Instruction:
    """`line` is None where the code belongs to no source line; `targets` are the addresses of labels that it names."""

    address: int
    guard: str | None
    opcode: str
    operands: str
    line: int | None = None
    live: int | None = None
    targets: tuple[int, ...] = ()

    @property
    def base(self) -> str:
        """`LDS` of `LDS.U.128`."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        return " ".join(part for part in (self.guard, self.opcode, self.operands) if part)


@dataclass(frozen=True, slots=True)
class Listing:
    """A kernel's machine code, with the subroutines that the assembler put beside it and without its padding."""

    kernel: str
    instructions: tuple[Instruction, ...]


def parse(kernel: str, text: str, live: str | None = None) -> Listing:
    """Empty where the text has no such kernel."""
    labels: dict[str, int] = {}
    waiting: list[str] = []
    found: list[Instruction] = []
    line: int | None = None
    for row in _section(kernel, text):
        if match := _LINE.match(row):
            line = int(match[1]) or None
        elif match := _LABEL.match(row):
            waiting.append(match[1])
        elif match := _INSTRUCTION.match(row):
            instruction = Instruction(int(match[1], 16), match[2], match[3], match[4].strip(), line)
            labels.update(dict.fromkeys(waiting, instruction.address))
            waiting.clear()
            found.append(instruction)
    counts = _live(kernel, live) if live is not None else {}
    return Listing(kernel, tuple(_without_padding([_linked(each, labels, counts) for each in found])))


def _section(kernel: str, text: str) -> Iterator[str]:
    inside = False
    for row in text.splitlines():
        if match := _SECTION.match(row):
            inside = match[1] == kernel
        elif inside:
            yield row


def _linked(instruction: Instruction, labels: dict[str, int], counts: dict[int, int]) -> Instruction:
    names = _TARGET.findall(instruction.operands)
    targets = tuple(labels[name] for name in names if name in labels)
    operands = instruction.operands
    for name, target in zip((name for name in names if name in labels), targets, strict=True):
        operands = operands.replace(f"`({name})", f"{target:#x}")
    return replace(instruction, operands=operands, live=counts.get(instruction.address), targets=targets)


def _live(kernel: str, text: str) -> dict[int, int]:
    """The general registers live at each address; an empty cell is none."""
    found: dict[int, int] = {}
    for row in _section(kernel, text):
        if (match := _INSTRUCTION.match(row)) and (cell := _LIVE.search(match[5])):
            found[int(match[1], 16)] = int(cell[1] or 0)
    return found


def _without_padding(instructions: list[Instruction]) -> list[Instruction]:
    """Code ends in a branch to itself and NOPs, which no thread reaches."""
    end = len(instructions)
    while end and instructions[end - 1].base == "NOP":
        end -= 1
    if end:
        last = instructions[end - 1]
        if last.base == "BRA" and last.guard is None and last.targets == (last.address,):
            end -= 1
    return instructions[:end]
