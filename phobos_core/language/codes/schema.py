"""What a diagnostic code carries: the text of `phobos explain`, and two sources that prove it."""

from enum import Enum
from typing import NamedTuple

from phobos_core.language.diagnostic import Severity


class Stage(Enum):
    """Who finds it: `check` from the source alone, `build` when it compiles the kernel, `run` when it executes it."""

    CHECK = "check"
    BUILD = "build"
    RUN = "run"


class Code(NamedTuple):
    """`wrong` is a whole source that gives exactly this code and no other, `right` one that gives none.

    `section` names the part of the spec that the rule comes from. `options` are the command-line options
    under which `wrong` and `right` say so. A code that depends on the machine, not on a source, has neither.
    """

    code: str
    title: str
    section: str
    rule: str
    wrong: str = ""
    right: str = ""
    severity: Severity = "error"
    stage: Stage = Stage.CHECK
    options: tuple[str, ...] = ()


def statements(body: str) -> str:
    """A kernel around a few lines: it reads matrices A and B, writes a matrix C, and has a scalar n."""
    lines = "".join(f"  {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))
    return (
        "kernel example(A: tensor<f32>[64, 64], B: tensor<f32>[64, 64], C: tensor<f32>[64, 64], n: i32) {\n"
        f"{lines}}}\n"
    )
