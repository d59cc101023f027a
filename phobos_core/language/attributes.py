"""The attributes of a kernel: which arguments each takes, within which bounds, and what it does.

Out: `ATTRIBUTES`, and `autotune_choices`, the values that a search dimension stands for.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class ArgumentForm(Enum):
    """How an argument is written; the value is how messages call it."""

    SEARCH = "a search dimension such as `TILE in [32, 64]`"
    KEYWORD = "a promise such as `M = TILE_M`"
    INTEGER = "an integer"
    WORD = "a word"
    NAME = "the name of a tile"


class Status(Enum):
    ACTS = "acts"
    CHECKED = "checked; its fast path comes later"
    PLANNED = "planned"


class ArgumentSlot(NamedTuple):
    """One position of the argument list; the last slot repeats where `repeats` says so."""

    name: str
    form: ArgumentForm
    doc: str
    required: bool = True
    repeats: bool = False
    low: int | None = None
    high: int | None = None
    words: tuple[str, ...] = ()


class Attribute(NamedTuple):
    """`snippet` is what completion inserts, in the placeholder syntax of LSP."""

    name: str
    slots: tuple[ArgumentSlot, ...]
    status: Status
    summary: str
    example: str
    snippet: str
    repeatable: bool = False  # may stand on a kernel more than once
    notes: tuple[str, ...] = ()

    @property
    def least_arguments(self) -> int:
        return sum(slot.required for slot in self.slots)

    @property
    def most_arguments(self) -> int | None:
        """`None` where the last slot repeats."""
        return None if self.slots and self.slots[-1].repeats else len(self.slots)

    @property
    def signature(self) -> str:
        if not self.slots:
            return f"@{self.name}"
        required = ", ".join(slot_text(slot) for slot in self.slots if slot.required)
        optional = [slot_text(slot) for slot in self.slots if not slot.required]
        tail = "".join(f"[, {text}" for text in optional) + "]" * len(optional)
        return f"@{self.name}({required}{tail})" if required else f"@{self.name}[({', '.join(optional)})]"


def slot_text(slot: ArgumentSlot) -> str:
    text = {ArgumentForm.SEARCH: f"{slot.name} in [..]", ArgumentForm.KEYWORD: f"{slot.name} = tile"}.get(
        slot.form, slot.name
    )
    return f"{text}, .." if slot.repeats else text


MAX_THREADS = 1024
DEFAULT_THREADS = 256

SEARCH = ArgumentSlot("X", ArgumentForm.SEARCH, "A tile constant and its choices.", repeats=True, low=1)

ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        attribute.name: attribute
        for attribute in (
            Attribute(
                "autotune",
                (SEARCH,),
                Status.ACTS,
                "Names tile constants and the values that tuning tries for each.",
                """\
@autotune(TILE in [32, 128], STEP in [4, 8, 24])
kernel scale_rows(A: tensor<f32>[M, 64]) {
  let row = ctx.block.x * TILE
  A[row :+ TILE, :] = A[row :+ TILE, :] * 2.0
}
""",
                "autotune(${1:TILE} in [${2:32}, ${3:128}])",
                repeatable=True,
                notes=(
                    "Two values are the ends of a range, searched by doubling from the first; the second is"
                    " the inclusive bound. One value, or three and more, are the choices themselves.",
                    "Values are positive, and a range ascends.",
                    "The first choice of each name is the configuration that is built by default.",
                ),
            ),
            Attribute(
                "cluster",
                (SEARCH,),
                Status.ACTS,
                "Names super-tile dimensions and the values that cluster tuning tries for each.",
                """\
@cluster(TILE in [256, 1024])
@autotune(TILE in [32, 128])
kernel scale_rows(A: tensor<f32>[M, 64]) {
  let row = ctx.block.x * TILE
  A[row :+ TILE, :] = A[row :+ TILE, :] * 2.0
}
""",
                "cluster(${1:TILE} in [${2:256}, ${3:1024}])",
                repeatable=True,
                notes=("May repeat names of `@autotune`.", "Kept in the report."),
            ),
            Attribute(
                "aligned",
                (
                    ArgumentSlot(
                        "DIM",
                        ArgumentForm.KEYWORD,
                        "A dimension of the kernel, and a positive literal or `@autotune` name that divides it.",
                        repeats=True,
                        low=1,
                    ),
                ),
                Status.ACTS,
                "Promises that a dimension is a whole number of tiles, which removes its masks and allows"
                " 16-byte accesses into its rows.",
                """\
@autotune(TILE in [32, 128])
@aligned(M = TILE)
kernel scale_rows(A: tensor<f32>[M, 64]) {
  let row = ctx.block.x * TILE
  A[row :+ TILE, :] = A[row :+ TILE, :] * 2.0
}
""",
                "aligned(${1:M} = ${2:TILE})",
                repeatable=True,
                notes=("On a dynamic dimension it is checked once at entry: a launch that breaks it traps.",),
            ),
            Attribute(
                "launch",
                (
                    ArgumentSlot("threads", ArgumentForm.INTEGER, "Threads in a CTA.", low=1, high=MAX_THREADS),
                    ArgumentSlot(
                        "min_blocks",
                        ArgumentForm.INTEGER,
                        "CTAs that should fit on a multiprocessor together; advisory.",
                        required=False,
                        low=1,
                    ),
                    ArgumentSlot(
                        "max_regs",
                        ArgumentForm.INTEGER,
                        "A hard cap on registers per thread.",
                        required=False,
                        low=16,
                        high=255,
                    ),
                ),
                Status.ACTS,
                "Sets the number of threads in a CTA, and limits on registers.",
                """\
@launch(128, 4, 64)
kernel copy(A: tensor<f32>[128, 64], O: tensor<f32>[128, 64]) {
  O[:, :] = A[:, :]
}
""",
                "launch(${1:256})",
                notes=(f"{DEFAULT_THREADS} threads without it.",),
            ),
            Attribute(
                "tensorcore",
                (
                    ArgumentSlot(
                        "path",
                        ArgumentForm.WORD,
                        "`wmma` forces the WMMA path; `sync` is the same as none.",
                        required=False,
                        words=("wmma", "sync"),
                    ),
                ),
                Status.CHECKED,
                "Lets `dot` and `dot_t` run on tensor cores, operands rounded to f16 and sums in f32.",
                """\
@tensorcore
kernel product(A: tensor<f16>[64, 64], B: tensor<f16>[64, 64], C: tensor<f32>[64, 64]) {
  var c: tile<f32>[64, 64] = dot(A[:, :], B[:, :])
  C[:, :] = c
}
""",
                "tensorcore",
                notes=(
                    "Needs sm_70; a `dot` keeps the plain path unless its tile dimensions and k-slice are"
                    " multiples of 16 and the CTA's warps tile the 16 x 16 fragments.",
                ),
            ),
            Attribute(
                "registers",
                (
                    ArgumentSlot(
                        "tile",
                        ArgumentForm.NAME,
                        "A `var` tile declared with its type and a value.",
                        repeats=True,
                    ),
                ),
                Status.ACTS,
                "Keeps the named tiles in registers, each thread holding every `threads`-th element.",
                """\
@registers(acc)
kernel doubled(A: tensor<f32>[64, 64], O: tensor<f32>[64, 64]) {
  var acc: tile<f32>[64, 64] = A[:, :]
  acc = acc * 2.0
  O[:, :] = acc
}
""",
                "registers(${1:acc})",
                repeatable=True,
                notes=(
                    "At most 64 elements per thread, the same number in each.",
                    "Not updated inside an `if` or `while`.",
                    "An update that reads the tile only at the element it writes stays in registers, and a `for`"
                    " carries it; a `rowsum` or `rowmax` of an f32 or i32 tile whose rows are a power of two of at most"
                    " `ctx.lanes` wide is folded there with shuffles. Anything else that reads it stores it first.",
                ),
            ),
            Attribute(
                "pipeline",
                (),
                Status.ACTS,
                "Asserts that a loop is pipelined: the compilation fails if none is.",
                """\
@pipeline
kernel product(A: tensor<f32>[32, 512], B: tensor<f32>[512, 32], C: tensor<f32>[32, 32]) {
  var acc: tile<f32>[32, 32] = 0.0
  for k in range(0, 512, 16) {
    var a = A[:, k :+ 16]
    var b = B[k :+ 16, :]
    acc += dot(a, b)
  }
  C[:, :] = acc
}
""",
                "pipeline",
                notes=(
                    "Eligible loops are double-buffered without it as well.",
                    "Both stages together must fit the limit on shared memory.",
                ),
            ),
            Attribute(
                "padstage",
                (),
                Status.ACTS,
                "Pads tiles copied from slices whose rows are a multiple of 128 bytes, against bank conflicts.",
                """\
@padstage
kernel turn(A: tensor<f32>[32, 32], O: tensor<f32>[32, 32]) {
  var a = A[:, :]
  var t = transpose(a)
  O[:, :] = t
}
""",
                "padstage",
            ),
            Attribute(
                "dynshared",
                (),
                Status.ACTS,
                "Uses dynamic shared memory, up to the chip's limit per block, in place of the static 48 KB.",
                """\
@dynshared
kernel turn(A: tensor<f32>[128, 128], O: tensor<f32>[128, 128]) {
  var t = transpose(A[:, :])
  O[:, :] = t
}
""",
                "dynshared",
                notes=("The launch supplies the size, which the report gives.",),
            ),
            Attribute(
                "persistent",
                (),
                Status.ACTS,
                "Says that the whole grid is resident at once, as `grid_barrier` needs.",
                """\
@persistent
kernel copy(A: tensor<f32>[128, 64], O: tensor<f32>[128, 64]) {
  O[:, :] = A[:, :]
}
""",
                "persistent",
                notes=("The report says the largest grid that is: blocks of an SM times SMs.",),
            ),
            *(
                Attribute(name, (), Status.PLANNED, summary, "", name)
                for name, summary in (
                    ("readonly", "Will mark tensors that the kernel only reads."),
                    ("fast_math", "Will allow less exact float arithmetic."),
                    ("assert_coalesced", "Will fail the compilation where an access is not coalesced."),
                )
            ),
        )
    }
)


def autotune_choices(values: Sequence[int]) -> tuple[int, ...] | str:
    """The choices that `NAME in [values]` stands for, or what is wrong with the values.

    Two values are inclusive bounds searched by doubling; any other number is the list itself.
    """
    if not values:
        return "a search dimension needs at least one value"
    if any(value <= 0 for value in values):
        return f"a choice must be positive, and {min(values)} is not"
    if len(values) != 2:
        return tuple(values)
    low, high = values
    if low >= high:
        return f"two values are the ends of a range, which must ascend, and {low} is not below {high}"
    choices = []
    while low <= high:
        choices.append(low)
        low *= 2
    return tuple(choices)
