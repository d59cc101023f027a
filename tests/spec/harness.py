"""Reads a page of the executable spec: Markdown prose with kernels, and beside them what must hold.

    ```phobos target=sm_80 N=8        a source; `index_bits=32`, or values for -D
    kernel k(...) { ... }
    ```
      // error: [code] words          at the end of the line where the diagnostic starts, with words of its message or
                                      of its help; also `warning` and `note`. A source without any is accepted, by the
                                      build too, without any diagnostic
    ```run grid=2,1 device=emulator   runs the source above, on the reference and on the emulator unless one is named;
    X = arange(8)                     with several kernels, `kernel=name`. One assignment a parameter, in order: a
    s = 2.0                           Python expression over NumPy, given the parameter's element type; `f16(..)` and
                                      the other types convert to it
    Y is X                            the array of an earlier parameter, passed twice
    expect Y = 2 * arange(8)          exactly, the sign of a zero too, but that any NaN equals any other
    expect Y ~ exp(X)                 within 2e-5, relative and absolute (a tolerance may follow the name: `Y[1e-3] ~`)
    refused words                     instead: the launch is refused, before anything runs
    fault [code] words                instead: the device finds this fault of the kernel
    fails words                       instead: one of the two
    warns words                       besides: the reference reports a value that the language leaves unspecified
    ```
    ```ptx sm_80                      patterns, one a line, found in this order in the PTX for that target;
    ld.global.v4                      `! pattern` must not occur at all, `2 x pattern` exactly so often
    ```
    ```report sm_80                   facts of the report, one a line: a Python expression over its fields and
    shared <= 4096                    `shared` (the bytes placed), `tile` (the tiles by name);
    decision: words                   words of a decision's `op: choice: reason`; `! decision: words` in none;
                                      `choices` lists them all as `op: choice (reason)`
    ```

A heading names the cases below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# A run of a source that names no target is one on each; the second has neither cp.async nor bf16.
TARGETS = ("sm_80", "sm_75")
FENCE = re.compile(r"^```(\w+)?[ ]*(.*)$")
EXPECTATION = re.compile(r"//\s*(error|warning|note): \[([\w-]+)\]\s*(.*?)\s*(?=$|//)")


@dataclass(frozen=True)
class Expectation:
    line: int  # from 0, in the source
    severity: str
    code: str
    message: str


@dataclass(frozen=True)
class Block:
    """What must hold of the source above it."""

    line: int  # of its first line in the page, from 1
    options: str
    body: str

    @property
    def words(self) -> dict[str, str]:
        return dict(word.split("=") for word in self.options.split() if "=" in word)

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.body.split("\n") if line.strip()]


@dataclass(frozen=True)
class Case:
    name: str
    line: int  # of the block in the page, from 1
    source: str
    targets: tuple[str, ...] = TARGETS  # to run on, the first of them for everything else
    dims: dict[str, int] = field(default_factory=dict)
    index_bits: Literal[32, 64] = 64
    runs: list[Block] = field(default_factory=list)
    patterns: list[Block] = field(default_factory=list)
    reports: list[Block] = field(default_factory=list)

    @property
    def target(self) -> str:
        return self.targets[0]

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
        if kind == "phobos":
            seen += 1
            words = dict(word.split("=") for word in options.split() if "=" in word)
            targets = (words.pop("target"),) if "target" in words else TARGETS
            bits: Literal[32, 64] = 32 if words.pop("index_bits", "64") == "32" else 64
            dims = {k: int(v) for k, v in words.items()}
            cases.append(Case(f"{heading} #{seen}", start, body, targets, dims, bits))
        elif kind in ("run", "ptx", "report"):
            block = Block(start + 1, options, body)
            {"run": cases[-1].runs, "ptx": cases[-1].patterns, "report": cases[-1].reports}[kind].append(block)
        elif kind not in (None, "text"):
            raise ValueError(f"{path}:{start}: a block of kind `{kind}` is not known here")
    return cases
