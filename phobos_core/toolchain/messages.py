"""What ptxas prints, read: the resources of each entry, and errors and warnings with their source lines.

In: the text of `ptxas -v` and the PTX module it was given. Out: `Resources` by entry name, and `Message`s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Resources:
    """One entry, as `ptxas -v` reports it. `constant_bytes` is None where it does not (from sm_90).

    `shared_bytes` is the static shared memory; the ELF's figure has the driver's reserve in it from sm_90.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    constant_bytes: int | None
    barriers: int


@dataclass(frozen=True, slots=True)
class Message:
    """`ptx_line` is 1-based in the module, `source_line` 1-based in the `.ph` file."""

    severity: Literal["error", "warning"]
    text: str
    ptx_line: int | None
    source_line: int | None


_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_FUNCTION = re.compile(r"Function properties for (\S+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SEVERITY = re.compile(
    r"^ptxas (?:(?P<place>.*?), line (?P<line>\d+); )?(?P<severity>error|fatal|warning)\s*: (?P<text>.*)$"
)
# Follows every real error and says nothing that they do not.
_ABORTED = "Ptx assembly aborted due to errors"
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)\b")


def parse_resources(text: str) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    entry = function = ""
    frames: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        if match := _ENTRY.search(line):
            entry = match[1]
        elif match := _FUNCTION.search(line):
            function = match[1]
        elif match := _FRAME.search(line):
            frames[function] = (int(match[1]), int(match[2]), int(match[3]))
        elif (match := _USED.search(line)) and entry:
            local, stores, loads = frames.get(entry, (0, 0, 0))
            found[entry] = Resources(
                registers=int(match[1]),
                shared_bytes=_count(line, r"(\d+) bytes smem") or 0,
                local_bytes=local,
                spill_store_bytes=stores,
                spill_load_bytes=loads,
                constant_bytes=_count(line, r"(\d+) bytes cmem\[\d+\]"),
                barriers=_count(line, r"used (\d+) barriers") or 0,
            )
    return found


def _count(line: str, pattern: str) -> int | None:
    """The sum over all matches: a kernel can use several constant banks."""
    numbers = re.findall(pattern, line)
    return sum(map(int, numbers)) if numbers else None


def parse_messages(text: str, ptx: str) -> tuple[Message, ...]:
    found = []
    for line in text.splitlines():
        match = _SEVERITY.match(line)
        if match is None or match["text"] == _ABORTED:
            continue
        number = int(match["line"]) if match["line"] else None
        found.append(
            Message(
                severity="warning" if match["severity"] == "warning" else "error",
                text=match["text"].strip(),
                ptx_line=number,
                source_line=source_line(ptx, number) if number else None,
            )
        )
    return tuple(found)


def source_line(ptx: str, ptx_line: int) -> int | None:
    """The source line of a PTX line: that of the last `.loc` above it in the same function.

    A `.loc` of line 0 marks code that belongs to no statement; it says nothing and is passed over.
    """
    for line in reversed(ptx.splitlines()[:ptx_line]):
        if line.startswith("}") or ".entry " in line:
            return None
        if (match := _LOC.match(line)) and match[1] != "0":
            return int(match[1])
    return None
