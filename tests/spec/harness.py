"""Reads a page of the executable spec: Markdown prose with kernels, and beside them what must hold.

    ```phobos target=sm_80 N=8        a source; key=value words are the target, or values for -D
    kernel k(...) { ... }             // error: [code] part of the message      on the line the diagnostic starts
    ```                               // warning: [code] ...                    likewise
    ```run grid=2                     runs the source above on the reference and on the emulator
    X = arange(8)                     one assignment a parameter: a Python expression over NumPy, given the
    s = 2.0                           parameter's element type
    expect Y = 2 * arange(8)          exactly
    expect Y ~ exp(X)                 within 2e-5, relative and absolute (a tolerance may follow the name: `Y[1e-3] ~`)
    ```
    ```ptx sm_80                      patterns, one a line, found in this order in the PTX for that target;
    ld.global.v4                      `! pattern` must not occur at all
    ```

A source without comments must check without any diagnostic. A heading names the cases below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w+)?[ ]*(.*)$")
EXPECTATION = re.compile(r"//\s*(error|warning): \[([\w-]+)\]\s*(.*?)\s*$")


@dataclass(frozen=True)
class Expectation:
    line: int  # from 0, in the source
    severity: str
    code: str
    message: str


@dataclass(frozen=True)
class Case:
    name: str
    line: int  # of the block in the page, from 1
    source: str
    target: str = "sm_80"
    dims: dict[str, int] = field(default_factory=dict)
    runs: list[tuple[int, str, str]] = field(default_factory=list)  # (line, options, body)
    patterns: list[tuple[int, str, str]] = field(default_factory=list)  # (line, target, body)

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
            words = dict(word.split("=") for word in options.split())
            target = words.pop("target", "sm_80")
            dims = {k: int(v) for k, v in words.items()}
            cases.append(Case(f"{heading} #{seen}", start, body, target, dims))
        elif kind == "run":
            cases[-1].runs.append((start + 1, options, body))
        elif kind == "ptx":
            cases[-1].patterns.append((start + 1, options or cases[-1].target, body))
        elif kind not in (None, "text"):
            raise ValueError(f"{path}:{start}: a block of kind `{kind}` is not known here")
    return cases
