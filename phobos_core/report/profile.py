"""What a run on the emulator saw of a kernel: the accesses to shared memory with their bank conflicts, by source line.

In: the counts of the emulator, from `runtime`. Out: a `Profile`, whose names are the keys of its JSON form, and text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedTraffic:
    """One instruction of the PTX on shared memory, `bits` for each thread.

    A warp's access has as many `phases` as its width asks for (one up to 32 bits, two of 64, four of 128), and takes
    `passes` over the banks, one for each phase where none conflicts. `degree` is the most passes that a phase took.
    """

    line: int | None
    operation: str
    bits: int
    accesses: int
    phases: int
    passes: int
    degree: int

    @property
    def conflicts(self) -> int:
        return self.passes - self.phases


@dataclass(frozen=True, slots=True)
class Profile:
    """`instructions` counts what each thread executed. `shared` stands in the order of the source lines."""

    instructions: int
    shared: tuple[SharedTraffic, ...]


_HEAD = ("line", "instruction", "bits", "times", "accesses", "passes", "of conflicts", "worst degree")


def text(profile: Profile) -> Iterator[str]:
    """A table for people, with the instructions of a line that are alike in one row, and what it sums up to."""
    if not profile.shared:
        yield f"{profile.instructions:,} instructions of threads, no access to shared memory"
        return
    alike: dict[tuple[int | None, str, int], list[SharedTraffic]] = {}
    for traffic in profile.shared:
        alike.setdefault((traffic.line, traffic.operation, traffic.bits), []).append(traffic)
    rows = [_HEAD, *map(_row, alike.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (c.ljust(w) if i == 1 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        yield "  ".join(cells).rstrip()
    passes = sum(traffic.passes for traffic in profile.shared)
    conflicts = sum(traffic.conflicts for traffic in profile.shared)
    summed = f"{conflicts:,} of {passes:,} passes are conflicts ({conflicts / passes:.1%})"
    yield f"{profile.instructions:,} instructions of threads; {summed}"


def _row(alike: Sequence[SharedTraffic]) -> tuple[str, ...]:
    first = alike[0]
    return (
        str(first.line or "-"),
        first.operation,
        str(first.bits),
        f"x {len(alike)}",
        f"{sum(each.accesses for each in alike):,}",
        f"{sum(each.passes for each in alike):,}",
        f"{sum(each.conflicts for each in alike):,}",
        str(max(each.degree for each in alike)),
    )
