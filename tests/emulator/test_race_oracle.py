"""The race checks against a plain search of all pairs of accesses, on random kernels of reads, writes and barriers."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from phobos_core.emulator import run

THREADS = 64
WORDS = 24


@dataclass(frozen=True)
class Step:
    """What all threads do at one line: a barrier, or an access where `words` says so (-1: this thread does nothing)."""

    kind: str  # "read", "write", "barrier", "warp"
    words: tuple[int, ...] = ()


def random_steps(source: random.Random, length: int, barriers: float) -> list[Step]:
    """Mostly regular accesses, so that many kernels have no race at all."""
    steps = []
    for _ in range(length):
        if source.random() < barriers:
            steps.append(Step(source.choice(["barrier", "barrier", "warp"])))
            continue
        shape = source.choice(["own", "own", "warp", "few", "same"])
        offset = source.randrange(WORDS)
        few = source.sample(range(THREADS), source.randint(1, 3))
        words = {
            "own": [t if t < WORDS else -1 for t in range(THREADS)],
            "warp": [t % 32 if t % 32 < WORDS and t // 32 == offset % 2 else -1 for t in range(THREADS)],
            "few": [source.randrange(WORDS) if t in few else -1 for t in range(THREADS)],
            "same": [offset if t % 3 == 0 else -1 for t in range(THREADS)],
        }[shape]
        kind = "read" if shape == "same" else source.choice(["read", "write"])
        steps.append(Step(kind, tuple(words)))
    return steps


def races(steps: list[Step]) -> set[tuple[int, int]]:
    """Pairs of lines, later one first, with an unordered pair of accesses. Every write has a value of its own."""
    found = set()
    history: list[tuple[int, str, int, int, int, int]] = []
    block_time = warp_time = 0
    for line, step in enumerate(steps, 1):
        block_time += step.kind == "barrier"
        warp_time += step.kind == "warp"
        for thread, word in enumerate(step.words):
            if word < 0:
                continue
            for other_line, kind, other, other_word, block_then, warp_then in history:
                ordered = block_then < block_time or (thread // 32 == other // 32 and warp_then < warp_time)
                if other_word == word and other != thread and "write" in (kind, step.kind) and not ordered:
                    found.add((line, other_line))
            history.append((line, step.kind, thread, word, block_time, warp_time))
    return found


def kernel_of(steps: list[Step]) -> str:
    """Each access reads its word from a table, and writes the line and the thread."""
    lines = []
    for line, step in enumerate(steps, 1):
        lines.append(f".loc 1 {line} 1")
        if step.kind == "barrier":
            lines.append("bar.sync 0;")
        elif step.kind == "warp":
            lines.append("bar.warp.sync 0xffffffff;")
        else:
            lines.append(f"ld.global.nc.s32 %w, [%table+{4 * THREADS * (line - 1)}]; setp.ge.s32 %p, %w, 0;")
            lines.append("shl.b32 %a, %w, 2; mad.lo.u32 %a, %s, 1, %a;")
            value = f"add.u32 %v, %t, {1000 * line};"
            access = "st.shared.u32 [%a], %v;" if step.kind == "write" else "ld.shared.u32 %v, [%a];"
            lines.append(f"{value} @%p {access}")
    body = "\n".join(lines)
    clear = "\n".join(f"st.shared.u32 [%s+{4 * word}], 0;" for word in range(WORDS))
    return f""".version 8.6
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
.maxntid {THREADS}
{{
.reg .pred %p; .reg .b32 %t, %w, %a, %v, %s; .reg .b64 %table, %o;
.shared .align 4 .b8 words[{4 * WORDS}];
mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; ld.param.u64 %table, [p]; add.s64 %table, %table, %o;
mov.u32 %s, words;
{clear}
bar.sync 0;
{body}
ret;
}}
"""


@pytest.mark.parametrize("barriers", [0.2, 0.5, 0.7])
def test_findings_are_races_and_no_racy_kernel_passes(barriers: float) -> None:
    source = random.Random(round(1000 * barriers))
    clean = 0
    for _ in range(60):
        steps = random_steps(source, source.randint(3, 9), barriers)
        table = np.array([step.words or (-1,) * THREADS for step in steps], np.int32)
        expected = races(steps)
        result = run(kernel_of(steps), "k", (2, 1, 1), [table])
        assert {each.kind for each in result.findings} <= {"race-shared"}
        pairs = {(each.line, each.other_line) for each in result.findings if each.other_line}
        assert pairs <= expected, steps
        # Where only the number of readers is known, the finding names none of them.
        assert {each.line for each in result.findings} <= {line for line, _ in expected}, steps
        assert result.ok == (not expected), (steps, expected)
        clean += not expected
    assert 5 < clean < 55
