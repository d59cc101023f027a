"""Reads a page of the executable spec: Markdown prose with kernels, and beside them what must hold.

    ```phobos target=sm_80 N=8        a source; key=value words are the target, or values for -D
    kernel k(...) { ... }             // error: [code] part of the message, or of its help    on the line it starts
    ```                               // warning: [code] ..., // note: [code] ...   likewise
    ```run grid=2                     runs the source above on the reference and on the emulator
    X = arange(8)                     one assignment a parameter: a Python expression over NumPy, given the
    s = 2.0                           parameter's element type; `f16(..)` and the other types convert to it
    expect Y = 2 * arange(8)          exactly, but that any NaN equals any other
    expect Y ~ exp(X)                 within 2e-5, relative and absolute (a tolerance may follow the name: `Y[1e-3] ~`)
    fails part of the message         in place of `expect`: the launch is refused, or the device finds a fault
    warns part of the message         the reference reports a value that the language leaves unspecified
    ```
    ```ptx sm_80                      patterns, one a line, found in this order in the PTX for that target;
    ld.global.v4                      `! pattern` must not occur at all
    ```
    ```report sm_80                   Python expressions, one a line, that hold for the report of that target:
    launch.threads == 128             its keys are names, and `choices` lists `op: choice (reason)` of each decision
    ```

A source without comments is accepted, by the build too, without any diagnostic. A heading names the cases below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w+)?[ ]*(.*)$")
EXPECTATION = re.compile(r"//\s*(error|warning|note): \[([\w-]+)\]\s*(.*?)\s*(?=//|$)")


@dataclass(frozen=True)
class Expectation:
    line: int  # from 0, in the source
    severity: str
    code: str
    message: str


@dataclass(frozen=True)
class Block:
    """A block that says something of the source above it. `line` is that of its first line in the page, from 1."""

    line: int
    options: str
    body: str

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.body.split("\n") if line.strip()]


@dataclass(frozen=True)
class Case:
    name: str
    line: int  # of the block in the page, from 1
    source: str
    target: str = "sm_80"
    dims: dict[str, int] = field(default_factory=dict)
    runs: list[Block] = field(default_factory=list)
    patterns: list[Block] = field(default_factory=list)
    reports: list[Block] = field(default_factory=list)

    @property
    def expectations(self) -> list[Expectation]:
        found = []
        for number, line in enumerate(self.source.split("\n")):
            for match in EXPECTATION.finditer(line):
                found.append(Expectation(number, *match.groups()))
        return found


def read_page(path: Path) -> list[Case]:
    cases: list[Case] = []
    heading, seen = path.stem, 0
    lines = path.read_text().split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith("#"):
            heading, seen = line.lstrip("# ").strip(), 0
            continue
        match = FENCE.match(line)
        if not match:
            continue
        start = position
        while not lines[position].startswith("```"):
            position += 1
        body = "\n".join(lines[start:position])
        position += 1
        kind, options = match.group(1), match.group(2).strip()
        block = Block(start + 1, options, body)
        match kind:
            case "phobos":
                seen += 1
                words = dict(word.split("=") for word in options.split())
                target = words.pop("target", "sm_80")
                dims = {k: int(v) for k, v in words.items()}
                cases.append(Case(f"{heading} #{seen}", start, body, target, dims))
            case "run":
                cases[-1].runs.append(block)
            case "ptx":
                cases[-1].patterns.append(block)
            case "report":
                cases[-1].reports.append(block)
            case None | "text":
                pass
            case _:
                raise ValueError(f"{path}:{start}: a block of kind `{kind}` is not known here")
    return cases
