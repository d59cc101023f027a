"""Builds blocks of tile IR, op by op.

A `Builder` collects the ops of one block; each method appends one op and returns its result. The types of results are
derived here, so that a caller cannot give an op the wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.types import TOKEN, Layout, MemType, RunType, TileType, Type, ViewType, element_of, with_element
from phobos_core.language.types import BOOL, F32, F64, I32, INDEX, U32, ScalarType


class Builder:
    """`line` is stamped on each op appended; set it before building for a source line."""

    __slots__ = ("line", "ops")

    def __init__(self, line: int = 0) -> None:
        self.ops: list[Op] = []
        self.line = line

    def block(self, args: Sequence[Value] = ()) -> Block:
        """The ops so far as a block."""
        return Block(tuple(args), tuple(self.ops))

    def append(self, op: Op) -> Op:
        self.ops.append(op)
        return op

    def op(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Type] = (),
        attrs: Mapping[str, Any] | None = None,
        regions: Sequence[Block] = (),
        hint: str = "",
    ) -> Op:
        """Any op, with its result types given. The methods below are to be preferred."""
        values = tuple(Value(t, hint) for t in results)
        return self.append(Op(name, tuple(operands), values, attrs or {}, tuple(regions), self.line))

    # Scalars

    def const(self, value: int | float | bool, type: ScalarType) -> Value:
        return self.op("const", (), (type,), {"value": value}).result

    def index(self, value: int) -> Value:
        return self.const(value, INDEX)

    def ctx(self, field: str) -> Value:
        return self.op("ctx", (), (INDEX,), {"field": field}).result

    # Element-wise

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        return self.op(name, (lhs, rhs), (lhs.type,)).result

    def unary(self, name: str, operand: Value) -> Value:
        return self.op(name, (operand,), (operand.type,)).result

    def cmp(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        return self.op("cmp", (lhs, rhs), (with_element(lhs.type, BOOL),), {"predicate": predicate}).result

    def select(self, condition: Value, then: Value, orelse: Value) -> Value:
        return self.op("select", (condition, then, orelse), (then.type,)).result

    def convert(self, operand: Value, element: ScalarType) -> Value:
        """`operand` itself when it has that element type already."""
        if element_of(operand.type) == element:
            return operand
        return self.op("convert", (operand,), (with_element(operand.type, element),)).result

    def math(self, function: str, operand: Value) -> Value:
        return self.op("math", (operand,), (operand.type,), {"function": function}).result

    # Tiles

    def splat(self, scalar: Value, shape: tuple[int, ...]) -> Value:
        return self.op("splat", (scalar,), (TileType(element_of(scalar.type), shape),)).result

    def broadcast(self, tile: Value, shape: tuple[int, ...]) -> Value:
        """`tile` itself when it has that shape already."""
        assert isinstance(tile.type, TileType)
        if tile.type.shape == shape:
            return tile
        return self.op("broadcast", (tile,), (TileType(tile.type.element, shape),)).result

    def iota(self, axis: int, shape: tuple[int, ...]) -> Value:
        return self.op("iota", (), (TileType(I32, shape),), {"axis": axis}).result

    def transpose(self, tile: Value) -> Value:
        assert isinstance(tile.type, TileType)
        rows, columns = tile.type.shape
        return self.op("transpose", (tile,), (TileType(tile.type.element, (columns, rows)),)).result

    def tril(self, tile: Value) -> Value:
        return self.unary("tril", tile)

    def cumsum(self, tile: Value) -> Value:
        return self.unary("cumsum", tile)

    def reduce(self, kind: str, tile: Value) -> Value:
        assert isinstance(tile.type, TileType)
        element = I32 if kind == "argmax" else tile.type.element
        return self.op("reduce", (tile,), (TileType(element, (tile.type.shape[0], 1)),), {"kind": kind}).result

    def gather(
        self, table: Value, offsets: Sequence[Value], indices: Value, token: Value, *, partial: bool = False
    ) -> Value:
        result = with_element(indices.type, element_of(table.type))
        attrs = {"partial": True} if partial else {}
        return self.op("gather", (table, *offsets, indices, token), (result,), attrs).result

    def dot(self, lhs: Value, rhs: Value, *, transposed: bool) -> Value:
        assert isinstance(lhs.type, TileType)
        assert isinstance(rhs.type, TileType)
        element = lhs.type.element
        accumulator = F64 if element == F64 else F32 if element.is_float else I32
        shape = (lhs.type.shape[0], rhs.type.shape[0 if transposed else 1])
        return self.op("dot", (lhs, rhs), (TileType(accumulator, shape),), {"transposed": transposed}).result

    # Memory

    def alloc(self, name: str, element: ScalarType, shape: tuple[int, ...], stages: int = 1) -> tuple[Value, Value]:
        """The buffer and its first token. The report says `name`, which need not be a word."""
        attrs = {"name": name, "stages": stages}
        hint = re.sub(r"\W", "_", name)
        mem, token = self.op("alloc", (), (MemType(element, shape, "shared"), TOKEN), attrs, hint=hint).results
        return mem, token

    def flat(self, mem: Value) -> Value:
        assert isinstance(mem.type, MemType)
        rows, columns = mem.type.shape
        assert rows is not None
        assert columns is not None
        return self.op("flat", (mem,), (MemType(mem.type.element, (1, rows * columns), mem.type.space),)).result

    def view(
        self,
        mem: Value,
        offsets: Sequence[Value],
        shape: tuple[int, ...],
        bounds: Sequence[tuple[Value | None, Value | None]] | None = None,
        stage: Value | None = None,
    ) -> Value:
        """`bounds` has (lower, upper) per axis: (None, None) unmasked, (None, u) against 0 and u, else against both."""
        assert isinstance(mem.type, MemType)
        kinds: list[str] = []
        limits: list[Value] = []
        for lower, upper in bounds or [(None, None)] * len(shape):
            match lower, upper:
                case None, None:
                    kinds.append("none")
                case None, Value():
                    kinds.append("upper")
                    limits.append(upper)
                case Value(), Value():
                    kinds.append("both")
                    limits += [lower, upper]
                case _:
                    raise ValueError("a lower bound comes with an upper one")
        operands = [mem, *([stage] if stage else []), *offsets, *limits]
        type = ViewType(mem.type.element, shape, mem.type.space)
        return self.op("view", operands, (type,), {"bounds": tuple(kinds)}).result

    def whole(self, mem: Value, stage: Value | None = None) -> Value:
        """The view of all of a buffer of static shape."""
        assert isinstance(mem.type, MemType)
        shape = tuple(d for d in mem.type.shape if d is not None)
        assert len(shape) == len(mem.type.shape)
        return self.view(mem, [self.index(0)] * len(shape), shape, stage=stage)

    def load(self, view: Value, token: Value, layout: Layout | None = None, *, condition: Value | None = None) -> Value:
        assert isinstance(view.type, ViewType)
        operands = (view, token) if condition is None else (view, token, condition)
        return self.op("load", operands, (TileType(view.type.element, view.type.shape, layout),)).result

    def hold(self, tile: Value, layout: Layout) -> Value:
        assert isinstance(tile.type, TileType)
        return self.op("hold", (tile,), (TileType(tile.type.element, tile.type.shape, layout),)).result

    def store(self, view: Value, tile: Value, token: Value) -> Value:
        """The next token of the buffer."""
        return self.op("store", (view, tile, token), (TOKEN,)).result

    def load_point(self, mem: Value, indices: Sequence[Value], token: Value, stage: Value | None = None) -> Value:
        operands = [mem, *([stage] if stage else []), *indices, token]
        return self.op("load_point", operands, (element_of(mem.type),)).result

    def store_point(
        self, mem: Value, indices: Sequence[Value], value: Value, token: Value, *, each: bool = False
    ) -> Value:
        """By the first thread of the CTA, or by each thread."""
        attrs = {"each": True} if each else {}
        return self.op("store_point", [mem, *indices, value, token], (TOKEN,), attrs).result

    # A thread's own

    def load_run(self, mem: Value, indices: Sequence[Value], length: int, axis: int, token: Value) -> Value:
        type = RunType(element_of(mem.type), length)
        return self.op("load_run", [mem, *indices, token], (type,), {"axis": axis}).result

    def store_run(
        self, mem: Value, indices: Sequence[Value], values: Sequence[Value], axis: int, token: Value
    ) -> Value:
        attrs = {"axis": axis, "length": len(values)}
        return self.op("store_run", [mem, *indices, *values, token], (TOKEN,), attrs).result

    def run_element(self, run: Value, position: int) -> Value:
        return self.op("run_element", (run,), (element_of(run.type),), {"position": position}).result

    def run_word(self, run: Value, position: int) -> Value:
        return self.op("run_word", (run,), (U32,), {"position": position}).result

    def dp4a(self, a: Value, b: Value, acc: Value, unsigned: tuple[bool, bool] = (False, False)) -> Value:
        attrs = {"unsigned": unsigned} if any(unsigned) else {}
        return self.op("dp4a", (a, b, acc), (I32,), attrs).result

    def shuffle(self, mode: str, value: Value, lane: Value, width: int) -> Value:
        """`lane` is an i32."""
        return self.op("shuffle", (value, lane), (value.type,), {"mode": mode, "width": width}).result

    def sync(self, tokens: Sequence[Value]) -> tuple[Value, ...]:
        """The next token of each buffer."""
        return self.op("sync", tokens, [TOKEN] * len(tokens)).results

    def trap_if(self, condition: Value, message: str) -> None:
        self.op("trap_if", (condition,), (), {"message": message})

    # Control

    def for_(self, lo: Value, hi: Value, step: Value, carried: Sequence[Value], body: Block, **attrs: Any) -> Op:
        return self.op("for", (lo, hi, step, *carried), [v.type for v in carried], attrs, (body,))

    def while_(self, carried: Sequence[Value], condition: Block, body: Block) -> Op:
        return self.op("while", carried, [v.type for v in carried], {}, (condition, body))

    def if_(self, condition: Value, results: Sequence[Type], then: Block, orelse: Block) -> Op:
        return self.op("if", (condition,), results, {}, (then, orelse))

    def yield_(self, values: Sequence[Value]) -> None:
        self.op("yield", values)
