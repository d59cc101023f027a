"""Random tile kernels, well-typed by construction, with arguments whose results are exact in any order of evaluation.

Every value is a small integer: the generator carries a bound of the magnitude of each tile and only combines them while
the bound stays below what the element type holds exactly. Reference and emulator must then agree bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
}
# The largest magnitude below which sums of integers are exact (floats) or do not wrap (integers).
EXACT = {"f32": 2**24, "f16": 2**11, "bf16": 2**8, "f64": 2**50, "i32": 2**30, "i8": 127}
INPUT_BOUND = 2
EXTENTS = [1, 2, 3, 4, 5, 8, 12, 16, 20]
OUT_ROWS = 16


@dataclass(frozen=True)
class Tile:
    name: str
    element: str
    shape: tuple[int, int]
    bound: int
    mutable: bool = True
    declared: bool = True  # a tile of its own, not a view


@dataclass(frozen=True)
class Generated:
    """`arrays` in parameter order; each launch takes copies."""

    source: str
    arrays: dict[str, NDArray[Any]]
    grid: int


@dataclass
class Builder:
    draw: Any
    element: str
    lines: list[str] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    depth: int = 1
    names: int = 0
    row_offset: str = "0"  # what an extra row offset into an input may be: a loop variable inside loops
    in_loop: bool = False

    def pick(self, choices: list[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    # Expressions: (text, bound)

    def literal(self, element: str) -> tuple[str, int]:
        value = self.integer(-3, 3)
        return (f"{value}.0" if element not in ("i32", "i8") else str(value)), abs(value)

    def input_slice(self, shape: tuple[int, int]) -> str:
        row, column = self.integer(0, 9), self.integer(0, 9)
        start = self.pick([str(row), f"{self.row_offset} + {row}", f"{self.row_offset}"])
        return f"{self.pick(['A', 'B'])}[{start} :+ {shape[0]}, {column} :+ {shape[1]}]"

    def leaf(self, element: str, shape: tuple[int, int]) -> tuple[str, int]:
        fitting = [
            t
            for t in self.tiles
            if t.element == element and all(a in (b, 1) for a, b in zip(t.shape, shape, strict=True))
        ]
        kind = self.pick(["tile", "tile", "input", "literal", "flipped"])
        if kind == "tile" and fitting:
            tile = self.pick(fitting)
            return tile.name, tile.bound
        if kind == "flipped" and element == self.element:
            flipped = [t for t in self.tiles if t.element == element and t.shape == shape[::-1]]
            if flipped:
                tile = self.pick(flipped)
                return f"transpose({tile.name})", tile.bound
        if kind == "literal" or element != self.element:
            return self.literal(element)
        return self.input_slice(shape), INPUT_BOUND

    def expression(self, element: str, shape: tuple[int, int], depth: int) -> tuple[str, int]:
        if depth == 0:
            return self.leaf(element, shape)
        op = self.pick(["leaf", "+", "-", "*", "min", "max", "abs", "neg"])
        a, bound_a = self.expression(element, shape, depth - 1)
        if op == "leaf":
            return a, bound_a
        if op in ("abs", "neg"):
            return (f"abs({a})" if op == "abs" else f"-({a})"), bound_a
        b, bound_b = self.expression(element, shape, depth - 1)
        text, bound = {
            "+": (f"({a} + {b})", bound_a + bound_b),
            "-": (f"({a} - {b})", bound_a + bound_b),
            "*": (f"({a}) * ({b})", bound_a * bound_b),
            "min": (f"min({a}, {b})", max(bound_a, bound_b)),
            "max": (f"max({a}, {b})", max(bound_a, bound_b)),
        }[op]
        return (text, bound) if bound < EXACT[element] // 8 else (a, bound_a)

    def tile_expression(self, element: str, shape: tuple[int, int]) -> tuple[str, int]:
        """An expression that reads at least one tile or slice, so that it has the element type asked for."""
        text, bound = self.expression(element, shape, self.integer(1, 2))
        anchor = f"{self.input_slice(shape)}" if element == self.element else None
        if anchor is None:
            tile = self.pick([t for t in self.tiles if t.element == element and t.shape == shape] or [None])
            if tile is None:
                return self.literal(element)
            return f"({text} + {tile.name})", bound + tile.bound
        return f"({text} + {anchor})", bound + INPUT_BOUND

    # Statements

    def shape(self) -> tuple[int, int]:
        return self.pick(EXTENTS), self.pick(EXTENTS)

    def add(self, tile: Tile, value: str) -> None:
        rows, columns = tile.shape
        self.emit(f"var {tile.name}: tile<{tile.element}>[{rows}, {columns}] = {value}")
        self.tiles.append(tile)

    def declare_copy(self) -> None:
        shape = self.shape()
        name = self.fresh("t")
        self.emit(f"var {name} = {self.input_slice(shape)}")
        self.tiles.append(Tile(name, self.element, shape, INPUT_BOUND))

    def declare_view(self) -> None:
        shape = self.shape()
        name = self.fresh("v")
        self.emit(f"let {name} = {self.input_slice(shape)}")
        self.tiles.append(Tile(name, self.element, shape, INPUT_BOUND, mutable=False, declared=False))

    def declare_computed(self) -> None:
        shape = self.shape()
        text, bound = self.tile_expression(self.element, shape)
        self.add(Tile(self.fresh("t"), self.element, shape, bound), text)

    def declare_reduction(self) -> None:
        sources = [t for t in self.tiles if t.element == self.element]
        if not sources:
            return self.declare_copy()
        tile = self.pick(sources)
        op = self.pick(["rowmax", "rowsum", "rowargmax"])
        argument = self.pick([tile.name, f"abs({tile.name})", f"{tile.name} + {tile.name}"])
        bound = 2 * tile.bound if "+" in argument else tile.bound
        if op == "rowsum":
            bound *= tile.shape[1]
        if bound >= EXACT[self.element] // 8:
            return self.declare_copy()
        element = "i32" if op == "rowargmax" else self.element
        bound = tile.shape[1] if op == "rowargmax" else bound
        return self.add(Tile(self.fresh("r"), element, (tile.shape[0], 1), bound), f"{op}({argument})")

    def declare_shaped(self) -> None:
        sources = [t for t in self.tiles if t.element == self.element]
        if not sources:
            return self.declare_view()
        tile = self.pick(sources)
        integer = self.element in ("i32", "i8")
        op = self.pick(["transpose"] if integer else ["transpose", "tril", "cumsum"])
        shape = tile.shape[::-1] if op == "transpose" else tile.shape
        bound = tile.bound * (tile.shape[0] if op == "cumsum" else 1)
        if bound >= EXACT[self.element] // 8:
            return self.declare_view()
        return self.add(Tile(self.fresh("s"), self.element, shape, bound), f"{op}({tile.name})")

    def declare_contraction(self) -> None:
        if self.element == "i32":
            return self.declare_computed()
        m, k, n = self.pick(EXTENTS), self.pick(EXTENTS), self.pick(EXTENTS)
        transposed = self.element == "i8" or self.chance()
        lhs = self.operand((m, k))
        rhs = self.operand((n, k) if transposed else (k, n))
        bound = lhs[1] * rhs[1] * k
        element = {"i8": "i32", "f64": "f64"}.get(self.element, "f32")
        if bound >= EXACT[element] // 8:
            return self.declare_copy()
        text = f"{'dot_t' if transposed else 'dot'}({lhs[0]}, {rhs[0]})"
        tile = Tile(self.fresh("d"), element, (m, n), bound)
        self.add(tile, text)
        if self.chance():
            scale = self.integer(1, 3)
            self.emit(f"{tile.name} = {tile.name} * {scale}{'' if element == 'i32' else '.0'}")
            self.tiles[-1] = replace(tile, bound=bound * scale)
        return None

    def operand(self, shape: tuple[int, int]) -> tuple[str, int]:
        fitting = [t for t in self.tiles if t.element == self.element and t.shape == shape]
        if fitting and self.chance():
            tile = self.pick(fitting)
            return tile.name, tile.bound
        return self.input_slice(shape), INPUT_BOUND

    def assign(self) -> None:
        targets = [t for t in self.tiles if t.mutable and t.element == self.element]
        if not targets or self.in_loop:
            return self.declare_computed()
        tile = self.pick(targets)
        if self.chance():
            text, bound = self.tile_expression(tile.element, tile.shape)
            operator = self.pick(["=", "+="])
            bound = bound + tile.bound if operator == "+=" else bound
            if bound >= EXACT[tile.element] // 8:
                return None
            self.emit(f"{tile.name} {operator} {text}")
        else:
            rows, columns = self.integer(1, tile.shape[0]), self.integer(1, tile.shape[1])
            row, column = self.integer(0, tile.shape[0] - rows), self.integer(0, tile.shape[1] - columns)
            text, bound = self.tile_expression(tile.element, (rows, columns))
            bound = max(bound, tile.bound)
            self.emit(f"{tile.name}[{row} :+ {rows}, {column} :+ {columns}] = {text}")
        self.tiles[self.tiles.index(tile)] = replace(tile, bound=bound)
        return None

    def assign_where(self) -> None:
        targets = [t for t in self.tiles if t.mutable and t.element == self.element]
        if not targets or self.in_loop:
            return self.declare_computed()
        tile = self.pick(targets)
        axis = self.integer(0, 1)
        limit = self.integer(0, tile.shape[axis])
        condition = self.pick(
            [
                f"iota({axis}) < {limit}",
                f"iota({axis}) >= {limit} && {tile.name} > {self.literal(tile.element)[0]}",
                f"iota(0) == iota(1) || {tile.name} == {self.literal(tile.element)[0]}",
            ]
        )
        other, bound = self.literal(tile.element)
        self.emit(f"{tile.name} = where({condition}, {tile.name}, {other})")
        self.tiles[self.tiles.index(tile)] = replace(tile, bound=max(bound, tile.bound))
        return None

    def point(self) -> None:
        targets = [t for t in self.tiles if t.mutable and t.element == self.element]
        if not targets or self.in_loop:
            return self.declare_copy()
        tile = self.pick(targets)
        if tile.bound + 1 >= EXACT[tile.element] // 8:
            return None
        row, column = self.integer(0, tile.shape[0] - 1), self.integer(0, tile.shape[1] - 1)
        one = "1" if tile.element in ("i32", "i8") else "1.0"
        self.emit(f"{tile.name}[{row}, {column}] += {one}")
        self.tiles[self.tiles.index(tile)] = replace(tile, bound=tile.bound + 1)
        return None

    def loop(self) -> None:
        if self.in_loop:
            return self.declare_computed()
        shape = self.shape()
        total = Tile(self.fresh("sum"), self.element, shape, 0)
        step = self.pick([shape[0], 4, 7])
        trips = 64 // step + 1
        self.add(total, "0" if self.element in ("i32", "i8") else "0.0")
        self.tiles.pop()
        variable = self.fresh("i")
        extent = self.pick(["M", "24", "M - 3"])
        self.emit(f"for {variable} in range(0, {extent}, {step}) {{")
        outer = list(self.tiles)
        self.depth, self.in_loop, self.row_offset = self.depth + 1, True, variable
        if self.chance() and extent != "24":
            self.emit(f"if {variable} == {step} {{ {self.pick(['continue', 'break'])} }}")
        for _ in range(self.integer(0, 2)):
            self.statement()
        text, bound = self.tile_expression(self.element, shape)
        fits = bound * trips < EXACT[self.element] // 8
        value = text if fits else self.input_slice(shape)
        bound = (bound if fits else INPUT_BOUND) * trips
        self.emit(f"{total.name} {'+=' if bound < EXACT[self.element] // 8 else '='} {value}")
        self.depth, self.in_loop, self.row_offset = self.depth - 1, False, "0"
        self.emit("}")
        self.tiles = outer
        self.tiles.append(replace(total, bound=bound))
        return None

    def branch(self) -> None:
        targets = [t for t in self.tiles if t.mutable and t.element == self.element]
        if not targets or self.in_loop:
            return self.declare_copy()
        tile = self.pick(targets)
        text, bound = self.tile_expression(tile.element, tile.shape)
        self.emit(f"if ctx.block.x == {self.integer(0, 1)} {{")
        self.emit(f"  {tile.name} = {text}")
        if self.chance():
            other, other_bound = self.tile_expression(tile.element, tile.shape)
            bound = max(bound, other_bound)
            self.emit("} else {")
            self.emit(f"  {tile.name} = {other}")
        self.emit("}")
        self.tiles[self.tiles.index(tile)] = replace(tile, bound=max(bound, tile.bound))
        return None

    def statement(self) -> None:
        self.pick(
            [
                self.declare_copy,
                self.declare_view,
                self.declare_computed,
                self.declare_reduction,
                self.declare_shaped,
                self.declare_contraction,
                self.assign,
                self.assign_where,
                self.point,
                self.loop,
                self.branch,
            ]
        )()

    def store_results(self) -> None:
        """Each tile into its own columns of this CTA's rows of the output of its element type."""
        for tile in self.tiles[-4:]:
            rows, columns = min(tile.shape[0], OUT_ROWS), tile.shape[1]
            row, column = self.integer(0, OUT_ROWS - rows), self.integer(0, 20)
            value = tile.name if rows == tile.shape[0] else f"{tile.name}[0 :+ {rows}, 0 :+ {columns}]"
            out = {self.element: "o", "i32": "oi", "f32": "of"}[tile.element]
            self.emit(f"{out}[{row} :+ {rows}, {column} :+ {columns}] = {value}")


@st.composite
def tile_kernels(draw: Any) -> Generated:
    element = draw(st.sampled_from(list(DTYPES)))
    builder = Builder(draw, element)
    threads = draw(st.sampled_from([32, 64, 128, 256, 96, 48, 1]))
    for name, out in (("o", "O"), ("oi", "OI"), ("of", "OF")):
        builder.emit(f"let {name} = {out}[ctx.block.x * {OUT_ROWS} :+ {OUT_ROWS}, :]")
    for _ in range(draw(st.integers(1, 6))):
        builder.statement()
    builder.store_results()
    static = draw(st.booleans())
    rows, columns = draw(st.sampled_from([4, 12, 20, 32, 36])), draw(st.sampled_from([4, 8, 20, 32]))
    width = draw(st.sampled_from([20, 32, 44]))
    m, n, w = (str(rows), str(columns), str(width)) if static else ("M", "N", "W")
    if static:
        builder.lines = [line.replace("range(0, M", f"range(0, {rows}") for line in builder.lines]
    params = (
        f"A: tensor<{element}>[{m}, {n}], B: tensor<{element}>[{m}, {n}], "
        f"O: tensor<{element}>[P, {w}], OI: tensor<i32>[P, {w}], OF: tensor<f32>[P, {w}]"
    )
    body = "\n".join(builder.lines)
    source = f"@launch({threads})\nkernel k({params}) {{\n{body}\n}}\n"
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    grid = 2
    total = OUT_ROWS * grid - draw(st.sampled_from([0, 4]))

    def values() -> NDArray[Any]:
        return rng.integers(-INPUT_BOUND, INPUT_BOUND + 1, (rows, columns)).astype(DTYPES[element])

    arrays = {
        "A": values(),
        "B": values(),
        "O": np.zeros((total, width), DTYPES[element]),
        "OI": np.zeros((total, width), np.int32),
        "OF": np.zeros((total, width), np.float32),
    }
    return Generated(source, arrays, grid)
