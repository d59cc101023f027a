"""Random kernels, well-typed by construction, with arguments whose results are exact in any order of evaluation.

In: Hypothesis's draws. Out: a source, the options to compile it with, and the arrays of a launch. Reference and
emulator must then agree bit for bit; with `approximate`, on random floats and the math calls, within a bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.differential import threads
from tests.differential.families import family
from tests.differential.functions import outlined
from tests.differential.program import (
    CAP,
    FLOATS,
    INTEGERS,
    UNSIGNED,
    Place,
    Program,
    is_float,
)
from tests.differential.registers import in_registers
from tests.differential.scalars import OTHERS
from tests.differential.statements import STATEMENTS

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
}
OUT = (16, 24)  # a CTA's rows and columns of each output


@dataclass(frozen=True)
class Generated:
    """`arrays` in parameter order; each launch takes copies."""

    source: str
    options: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    scalars: tuple[int, ...]
    grid: int
    marks: tuple[tuple[int, int], ...] = ()  # lines that the whole CTA comes to, with their depth
    private: str = "BAR"  # the array that a barrier of the grid counts in, as it likes


def input_tensors(draw: Any, aligned: bool, elements: Sequence[str]) -> list[Place]:
    """One or two element types, each of rank 2 and perhaps 1 and 3, over shared dimensions M, N and L."""
    rows, columns, depth = (draw(st.sampled_from(choice)) for choice in ([8, 12, 20, 36], [8, 16, 20, 32], [4, 8]))
    extents = {"M": rows, "N": columns, "L": depth}
    static = draw(st.booleans()) and not aligned
    chosen = draw(st.lists(st.sampled_from(elements), min_size=1, max_size=2, unique=True))
    chosen += draw(st.lists(st.sampled_from(UNSIGNED), max_size=1))
    tensors = []
    for number, element in enumerate(chosen):
        forms = ["MN", "NM", *draw(st.lists(st.sampled_from(["N", "LMN", "MN"]), max_size=2))]
        for form in forms:
            names = tuple(str(extents[d]) if static else d for d in form)
            shape = tuple(extents[d] for d in form)
            tensors.append(Place(f"{'ABC'[number]}{len(tensors)}", element, shape, "tensor", False, names))
    return tensors


Statement = Callable[[Program], None]


@dataclass(frozen=True)
class Mix:
    """What a kernel is made of: `first` and `nested` are the statements of its own block and of blocks inside."""

    first: Sequence[Statement]
    nested: Sequence[Statement]
    count: tuple[int, int]
    elements: Sequence[str] = (*FLOATS, *INTEGERS)
    by_threads: bool = False


def settled(statement: Statement) -> Statement:
    """A statement of the CTA: what threads have stored on their own is there."""

    def run(p: Program) -> None:
        if any(use != OTHERS for use in p.uses.values()):
            p.barrier()
        statement(p)

    return run


def in_function(p: Program) -> None:
    def statements(p: Program) -> None:
        for _ in range(p.integer(1, 3)):
            p.pick(NESTED)(p)

    if p.inlined > 1:
        return threads.compute(p)
    return outlined(p, statements)


TILES = [settled(each) for each in STATEMENTS]
FAMILY = [settled(family)] * 3
NESTED = [*TILES, *threads.THREADS, in_function, in_function]
MIXED = Mix(
    [*NESTED, *threads.THREADS, *FAMILY, threads.grid_exchange, *[settled(in_registers)] * 2],
    NESTED,
    (3, 12),
    (*FLOATS, *INTEGERS, "i8", "i8", "i8"),
    by_threads=True,
)
WHOLE_TILES = Mix([*STATEMENTS, family, family, family], STATEMENTS, (2, 7))
REGISTERS = Mix([family], STATEMENTS, (1, 2), (*FLOATS, "i8"))
APPROXIMATE_MIX = replace(MIXED, first=[*NESTED, *threads.THREADS, threads.grid_exchange])


@st.composite
def tile_kernels(draw: Any) -> Generated:
    """Statements of every kind that tiles have, and nothing of single threads."""
    return generate(draw, WHOLE_TILES)


@st.composite
def register_kernels(draw: Any) -> Generated:
    """Families of whole tiles, and little else."""
    return generate(draw, REGISTERS)


@st.composite
def mixed_kernels(draw: Any, approximate: bool = False) -> Generated:
    """Everything: tiles, what threads do on their own and together, functions."""
    return generate(draw, APPROXIMATE_MIX if approximate else MIXED, approximate)


def generate(draw: Any, mix: Mix, approximate: bool = False) -> Generated:
    aligned = draw(st.sampled_from([False, False, False, True]))
    inputs = input_tensors(draw, aligned, mix.elements)
    count = draw(st.sampled_from(THREADS_OF_MIX if mix.by_threads else THREADS))
    p = Program(draw, inputs, aligned, approximate, count, mix.nested)
    p.integers += ["s0", "ctx.block.x"]
    rows = OUT[0] * 2 - p.pick([0, 4])
    outputs = outputs_of(p, rows)
    for _ in range(p.integer(*mix.count)):
        p.pick(mix.first)(p)
    p.settle()
    store_results(p, outputs)
    if mix.by_threads:
        tell(p, 0)
        if p.chance(3):
            threads.last(p)
            tell(p, TOLD)
    attributes, options = launch_options(p, aligned)
    params = [f"{q.name}: tensor<{q.element}>[{dims_of(q)}]" for q in inputs]
    params += [f"O{q.element}: tensor<{q.element}>[P, {OUT[1]}]" for q in outputs]
    rng = np.random.default_rng(p.integer(0, 2**16))
    arrays = {q.name: values(rng, q, approximate) for q in inputs}
    arrays |= {f"O{q.element}": np.zeros((rows, OUT[1]), DTYPES[q.element]) for q in outputs}
    for name, element, shape in extra_tensors(p, mix):
        params.append(f"{name}: tensor<{element}>[{', '.join(map(str, shape))}]")
        arrays[name] = np.zeros(shape, DTYPES[element])
    if "COUNT" in arrays:
        arrays["COUNT"][8] = 1
    head = [*attributes, f"kernel k({', '.join(params)}, s0: i32) {{"]
    lines, attribute = named_extents(p, [*head, *p.lines, "}"])
    above = [line for each in p.functions for line in each.split("\n")] + attribute
    source = "\n".join([*above, *lines, ""])
    offset = len(above) + len(head)
    marks = tuple((line + offset, depth) for line, depth in p.marks)
    return Generated(source, options, arrays, (p.integer(-2, 4),), 2, marks)


MORE = (
    "barrier()",
    "barrier()",
    "let dead = ctx.block.x * 7 + ctx.thread",
    "var dead: tile<f32>[4, 8] = 1.0",
    "if false { barrier() }",
    "for dead in range(s0 + 9, s0) { barrier() }",
    "if s0 > 99 { return }",
    "while s0 < -99 { barrier() }",
    "if ctx.thread < 0 { var dead = ctx.lane }",
)


@st.composite
def padded(draw: Any, plain: Generated) -> Generated:
    """The same kernel with dead code and more barriers, where all threads of the CTA come by."""
    marks = draw(st.lists(st.sampled_from(plain.marks), min_size=1, max_size=6, unique=True))
    lines = plain.source.split("\n")
    for line, depth in sorted(marks, reverse=True):
        lines.insert(line, "  " * depth + draw(st.sampled_from(MORE)).replace("dead", f"dead{line}"))
    return replace(plain, source="\n".join(lines), marks=())


TOLD = 6  # scalars of each kind that a launch tells


def tell(p: Program, first: int) -> None:
    """What the last scalars are, in each thread."""
    for name, of_kind, most in (("TOLDI", SCALAR_INTEGERS_AND_BOOL, TOLD), ("TOLDF", FLOATS, TOLD)):
        known = [s for s in p.scalars if s.type in of_kind][-most:]
        for number, scalar in enumerate(known):
            p.extras.add(name)
            text = f"where({scalar.text}, 1, 0)" if scalar.type == "bool" else scalar.text
            text = f"i64({text})" if scalar.type == "i32" else text
            p.emit(f"{name}[ctx.block.x, {first + number}, ctx.thread] = {text}")


SCALAR_INTEGERS_AND_BOOL = ("index", "i32", "i64", "bool")


def extra_tensors(p: Program, mix: Mix) -> list[tuple[str, str, tuple[int, ...]]]:
    tensors: list[tuple[str, str, tuple[int, ...]]] = []
    tensors += [("TOLDI", "i64", (2, 2 * TOLD, p.threads))] if "TOLDI" in p.extras else []
    tensors += [("TOLDF", "f64", (2, 2 * TOLD, p.threads))] if "TOLDF" in p.extras else []
    tensors += [("COUNT", "i32", (9,)), ("TOTAL", "f32", (2,))] if "counters" in p.extras else []
    tensors += [("GRID", "i64", (2, p.threads)), ("BAR", "i32", (2,))] if "grid" in p.extras else []
    return tensors


def named_extents(p: Program, lines: list[str]) -> tuple[list[str], list[str]]:
    """Some literal extents and lengths by `@autotune` names."""
    if not p.chance(3):
        return lines, []
    if p.chance():
        # The number of copies of a loop's body may be any.
        turns = p.pick([1, 2, 3, 4])
        unrolled = [re.sub(rf"(<unroll ){turns}\b", r"\g<1>TURNS", line) for line in lines]
        return unrolled, [f"@autotune(TURNS in [{turns}, 5, {2 * turns}])"]
    extent = p.pick([4, 8, 16])
    for pattern in (rf"(:\+ ){extent}\b", rf"(tile<\w+>\[){extent}\b", rf"(, ){extent}(?=\] =)"):
        if p.chance():
            lines = [re.sub(pattern, r"\g<1>TA", line) for line in lines]
    return lines, [f"@autotune(TA in [{extent}])"]


def dims_of(place: Place) -> str:
    return ", ".join(place.dims)


def outputs_of(p: Program, rows: int) -> list[Place]:
    """A view per element type of this CTA's rows, which statements may read and write like any other."""
    chosen = sorted({q.element for q in p.inputs if q.element not in UNSIGNED} | {"f32", "i32"})
    for element in chosen:
        name = f"o{element}"
        p.emit(f"let {name} = O{element}[ctx.block.x * {OUT[0]} :+ {OUT[0]}, :]")
        whole = rows == 2 * OUT[0]
        p.places.append(Place(name, element, OUT, "view", True, root=f"O{element}", inside=whole))
    return [q for q in p.places if q.name.startswith("o")]


def store_results(p: Program, outputs: list[Place]) -> None:
    """The tiles that are left, each into the output of its element type, or converted to another's."""
    for tile in [q for q in p.places if q not in outputs and q.rank == 2][-5:]:
        rows, columns = min(tile.shape[0], OUT[0]), min(tile.shape[1], OUT[1])
        if tile.element in UNSIGNED:
            continue
        same = [q for q in outputs if q.element == tile.element]
        out = same[0] if same else p.pick([q for q in outputs if q.element in ("f32", "i32")])
        value = tile.name
        if (rows, columns) != tile.shape:
            value = f"{tile.name}[0 :+ {rows}, 0 :+ {columns}]"
        if not same and is_float(out.element) and not is_float(tile.element):
            value = f"f32(({value}) & 3)"
        elif not same:
            value = f"{out.element}({value})"
        at = p.integer(0, OUT[0] - rows), p.integer(0, OUT[1] - columns)
        p.emit(f"{out.name}[{at[0]} :+ {rows}, {at[1]} :+ {columns}] = {value}")


THREADS = (32, 64, 128, 256, 256, 96, 48, 33, 7, 1, 512)
THREADS_OF_MIX = (64, 32, 128, 128, 96, 256, 48, 33, 7, 1, 512)


def launch_options(p: Program, aligned: bool) -> tuple[list[str], Mapping[str, Any]]:
    attributes = [f"@launch({p.threads})"]
    attributes += [f"@{name}" for name in ("padstage", "dynshared", "tensorcore") if p.chance(6)]
    attributes += ["@persistent"] if "grid" in p.extras else []
    registers = sorted(name.removeprefix("@registers ") for name in p.extras if name.startswith("@registers "))
    attributes += [f"@registers({', '.join(registers)})"] if registers else []
    if aligned:
        attributes.append("@aligned(M = 4, N = 4)")
    options: dict[str, Any] = {}
    dynamic = {d: n for q in p.inputs for d, n in zip(q.dims, q.shape, strict=True) if not d.isdigit()}
    if dynamic and p.chance(4):
        name = p.pick(sorted(dynamic))
        options["dims"] = {name: dynamic[name]}
    if p.chance(5):
        options["index_bits"] = 32
    return attributes, options


def values(rng: np.random.Generator, place: Place, approximate: bool) -> NDArray[Any]:
    dtype = DTYPES[place.element]
    if not is_float(place.element):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        wide = rng.integers(least, most, place.shape, dtype=dtype, endpoint=True)
        small = rng.integers(max(least, -3), 4, place.shape).astype(dtype)
        return np.where(rng.random(place.shape) < 0.3, wide, small).astype(dtype)
    if approximate:
        return rng.uniform(-CAP, CAP, place.shape).astype(dtype)
    return rng.integers(-3, 4, place.shape).astype(dtype)
