"""Runs tile IR on NumPy, to compare a kernel before and after a pass.

Elements are 64-bit integers that wrap, whatever the IR calls them, so that sums are exact in any order. Tile values are
evaluated where a store consumes them, as the IR says. An allocation without an offset has memory of its own; one with
an offset lies where it says, over others if the offsets say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.types import MemType, TileType

Array = npt.NDArray[Any]
ELEMENT = np.uint64
# What a load gives whose condition does not hold.
ANYTHING = ELEMENT(0xDEAD_BEEF_0BAD_F00D)
# Element addresses of memory that no pass has placed start here.
UNPLACED = 1 << 16


class Interpreter:
    """`tensors` by name, changed in place; `scalars` gives the other parameters."""

    def __init__(self, kernel: Kernel, tensors: dict[str, Array], scalars: dict[str, int]) -> None:
        self.kernel = kernel
        self.values: dict[Value, Any] = {}
        self.definition: dict[Value, Op] = {}
        self.shared: dict[int, Any] = {}
        self.bases: dict[Value, int] = {}
        self.free = UNPLACED
        for param in kernel.params:
            self.values[param.value] = tensors[param.name] if param.kind == "tensor" else scalars[param.name]

    def run(self) -> None:
        self.block(self.kernel.body)

    def block(self, block: Block) -> list[Any]:
        for op in block.ops:
            if op.name == "yield":
                return [self.values.get(v) for v in op.operands]
            self.op(op)
        return []

    def op(self, op: Op) -> None:
        for result in op.results:
            self.definition[result] = op
        match op.name:
            case "for":
                lo, hi, step, *carried = op.operands
                state = [self.values.get(v) for v in carried]
                for i in range(self.values[lo], self.values[hi], self.values[step]):
                    self.bind(op.regions[0].args, [i, *state])
                    state = self.block(op.regions[0])
                self.bind(op.results, state)
            case "if":
                self.bind(op.results, self.block(op.regions[0 if self.values[op.operands[0]] else 1]))
            case "alloc":
                self.place(op)
            case "store":
                view, tile, _ = op.operands
                new = np.broadcast_to(self.tile(tile), view.type.shape)
                for at, place in self.inside(view):
                    self.write(place, new[at])
            case "async_copy":
                target, source, _, _, *condition = op.operands
                if self.holds(condition):
                    new = self.window(source)
                    for at, place in self.inside(target):
                        self.write(place, new[at])
            case "load" if op.result.type.layout is not None:
                self.values[op.result] = self.loaded(op)
            case "hold":
                self.values[op.result] = np.array(self.tile(op.operands[0]))
            case "load_point":
                self.values[op.result] = self.read(self.point(op.operands[:-1]))
            case "store_point":
                self.write(self.point(op.operands[:-2]), self.values[op.operands[-2]])
            case _ if len(op.results) == 1 and not isinstance(op.result.type, TileType | MemType):
                scalar = self.scalar(op)
                if scalar is not None:
                    self.values[op.result] = scalar

    def bind(self, names: Any, values: list[Any]) -> None:
        self.values.update(zip(names, values, strict=True))

    def scalar(self, op: Op) -> Any:
        a, b, *_ = [*(self.values.get(v) for v in op.operands), None, None]
        match op.name:
            case "const":
                return op.attrs["value"]
            case "add":
                return a + b
            case "sub":
                return a - b
            case "mul":
                return a * b
            case "cmp":
                assert op.attrs["predicate"] == "lt"
                return a < b
            case "select":
                return self.values[op.operands[1 if a else 2]]
            case _:
                return None

    # Tiles

    def tile(self, value: Value) -> Array:
        if value in self.values:
            return np.asarray(self.values[value])
        op = self.definition[value]
        match op.name:
            case "load":
                return self.loaded(op)
            case "splat":
                return np.full(value.type.shape, self.values[op.operands[0]]).astype(ELEMENT)
            case "broadcast":
                return np.broadcast_to(self.tile(op.operands[0]), value.type.shape)
        operands = [self.tile(v) for v in op.operands]
        match op.name:
            case "transpose":
                return operands[0].T
            case "neg":
                return ELEMENT(0) - operands[0]
            case "add":
                return operands[0] + operands[1]
            case "cumsum":
                return np.cumsum(operands[0], axis=0, dtype=ELEMENT)
            case "reduce":
                return np.sum(operands[0], axis=1, keepdims=True, dtype=ELEMENT)
            case "dot":
                return operands[0] @ (operands[1].T if op.attrs["transposed"] else operands[1])
        raise AssertionError(op.name)

    def holds(self, condition: list[Value]) -> bool:
        return all(self.values[v] for v in condition)

    def loaded(self, op: Op) -> Array:
        view, _, *condition = op.operands
        return self.window(view) if self.holds(condition) else np.full(view.type.shape, ANYTHING)

    def window(self, view: Value) -> Array:
        out = np.zeros(view.type.shape, ELEMENT)
        for at, place in self.inside(view):
            out[at] = self.read(place)
        return out

    def inside(self, view: Value) -> Any:
        """(index in the view, place) of the elements inside the bounds."""
        op = self.definition[view]
        mem, *rest = op.operands
        numbers = [self.values[v] for v in rest]
        stage = numbers.pop(0) if self.stages(mem) > 1 else 0
        rank = len(op.attrs["bounds"])
        offsets, limits = numbers[:rank], numbers[rank:]
        for at in np.ndindex(*view.type.shape):
            element = tuple(o + i for o, i in zip(offsets, at, strict=True))
            left, kept = list(limits), True
            for kind, e in zip(op.attrs["bounds"], element, strict=True):
                lower = left.pop(0) if kind == "both" else 0
                kept &= kind == "none" or lower <= e < left.pop(0)
            if kept:
                yield at, (mem, stage, element)

    def point(self, operands: Any) -> Any:
        mem, *rest = operands
        numbers = [self.values[v] for v in rest]
        stage = numbers.pop(0) if self.stages(mem) > 1 else 0
        return mem, stage, tuple(numbers)

    # Memory

    def stages(self, mem: Value) -> int:
        return self.definition[mem].attrs["stages"] if mem in self.definition else 1

    def place(self, op: Op) -> None:
        mem = op.results[0]
        if "offset" in op.attrs:
            self.bases[mem] = op.attrs["offset"] // 4
        else:
            self.bases[mem] = self.free
            self.free += int(np.prod(mem.type.shape)) * op.attrs["stages"]

    def address(self, place: Any) -> int:
        mem, stage, element = place
        rows, columns = mem.type.shape
        assert 0 <= element[0] < rows
        assert 0 <= element[1] < columns
        pitch = self.definition[mem].attrs.get("pitch", columns)
        return self.bases[mem] + (stage * rows + element[0]) * pitch + element[1]

    def read(self, place: Any) -> Any:
        mem, _, element = place
        if mem in self.bases:
            return self.shared[self.address(place)]
        return self.values[mem][element]

    def write(self, place: Any, value: Any) -> None:
        mem, _, element = place
        if mem in self.bases:
            self.shared[self.address(place)] = value
        else:
            self.values[mem][element] = value
