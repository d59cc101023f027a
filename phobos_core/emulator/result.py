"""What a run gives back: findings, statistics, and the error that carries them."""

from __future__ import annotations

from dataclasses import dataclass

Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of the kernel. Lines count from 1; `line` is of the source that `.loc` names, if any does.

    `schedule` is the seed of the order in which warps ran, if one was asked for.
    """

    kind: str
    message: str
    line: int | None
    ptx_line: int
    block: Coordinates | None = None
    thread: Coordinates | None = None
    address: int | None = None
    other_line: int | None = None
    other_ptx_line: int | None = None
    schedule: int | None = None

    def render(self, source_name: str | None = None) -> str:
        place = f"{source_name or 'source'}:{self.line}" if self.line else f"PTX line {self.ptx_line}"
        where = ""
        if self.block is not None:
            where = f" [block {self.block}" + (f", thread {self.thread}]" if self.thread is not None else "]")
        return f"{place}: {self.kind}: {self.message}{self.under}{where}"

    @property
    def under(self) -> str:
        """What to say of the order of the warps."""
        return "" if self.schedule is None else f" (schedule {self.schedule})"


@dataclass(frozen=True, slots=True)
class Stats:
    """`instructions` counts an instruction once for a lockstep group, `lane_instructions` once per thread."""

    instructions: int
    lane_instructions: int


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """One instruction's accesses to shared memory over a run, `size` bytes a thread.

    `warps` counts the accesses of a warp, `phases` the parts that hardware makes of them, `passes` what these parts
    take: as many as `phases` where no banks conflict. `degree` is the most passes that one phase took.
    """

    line: int | None
    ptx_line: int
    instruction: str
    size: int
    warps: int
    phases: int
    passes: int
    degree: int


@dataclass(frozen=True, slots=True)
class Result:
    """`shared` is what `profile` asks for: the accesses to shared memory in the order of the PTX."""

    findings: tuple[Finding, ...]
    stats: Stats
    source_name: str | None = None
    shared: tuple[SharedAccess, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings


class EmulatorFault(Exception):
    """The kernel did something that a GPU would not forgive; `findings` says what, in the order seen."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.findings = result.findings
        super().__init__("\n".join(each.render(result.source_name) for each in result.findings))


class LaunchError(Exception):
    """The launch itself is wrong: an unknown entry, wrong arguments, a block too large."""
