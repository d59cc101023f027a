"""Random kernels, well-typed by construction, with arguments whose results are exact in any order of evaluation.

In: Hypothesis's draws. Out: a source, the options to compile it with, and the arrays of a launch. Reference and
emulator must then agree bit for bit; with `approximate`, on random floats and the math calls, within a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.differential.families import family
from tests.differential.program import CAP, FLOATS, INTEGERS, UNSIGNED, Place, Program, is_float
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


@st.composite
def tile_kernels(draw: Any, approximate: bool = False) -> Generated:
    """Statements of every kind."""
    statements = STATEMENTS if approximate else [*STATEMENTS, family, family, family]
    return generate(draw, approximate, statements, 7, FLOATS + INTEGERS)


@st.composite
def register_kernels(draw: Any) -> Generated:
    """Families of whole tiles, and little else."""
    return generate(draw, approximate=False, statements=[family], most=2, elements=(*FLOATS, "i8"))


def generate(
    draw: Any,
    approximate: bool,
    statements: Sequence[Callable[[Program], None]],
    most: int,
    elements: Sequence[str],
) -> Generated:
    aligned = draw(st.sampled_from([False, False, False, True]))
    inputs = input_tensors(draw, aligned, elements)
    p = Program(draw, inputs, aligned, approximate)
    p.integers += ["s0", "ctx.block.x"]
    outputs = outputs_of(p)
    for _ in range(p.integer(min(2, most - 1), most)):
        p.pick(statements)(p)
    store_results(p, outputs)
    rows = OUT[0] * 2 - p.pick([0, 4])
    attributes, options = launch_options(p, aligned)
    params = [f"{q.name}: tensor<{q.element}>[{dims_of(q)}]" for q in inputs]
    params += [f"O{q.element}: tensor<{q.element}>[P, {OUT[1]}]" for q in outputs]
    source = "\n".join([*attributes, f"kernel k({', '.join(params)}, s0: i32) {{", *p.lines, "}", ""])
    rng = np.random.default_rng(p.integer(0, 2**16))
    arrays = {q.name: values(rng, q, approximate) for q in inputs}
    arrays |= {f"O{q.element}": np.zeros((rows, OUT[1]), DTYPES[q.element]) for q in outputs}
    return Generated(source, options, arrays, (p.integer(-2, 4),), 2)


def dims_of(place: Place) -> str:
    return ", ".join(place.dims)


def outputs_of(p: Program) -> list[Place]:
    """A view per element type of this CTA's rows, which statements may read and write like any other."""
    chosen = sorted({q.element for q in p.inputs if q.element not in UNSIGNED} | {"f32", "i32"})
    for element in chosen:
        name = f"o{element}"
        p.emit(f"let {name} = O{element}[ctx.block.x * {OUT[0]} :+ {OUT[0]}, :]")
        p.places.append(Place(name, element, OUT, "view", True))
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


def launch_options(p: Program, aligned: bool) -> tuple[list[str], Mapping[str, Any]]:
    threads = p.pick([32, 64, 128, 256, 256, 96, 48, 33, 7, 1, 512])
    attributes = [f"@launch({threads})"]
    attributes += [f"@{name}" for name in ("padstage", "dynshared", "tensorcore") if p.chance(6)]
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
