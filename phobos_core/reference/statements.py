"""Statements of the checked program, run as generators: a CTA yields where it must wait for other CTAs.

A generator's return value says how the statements ended: normally (None) or by a jump that an outer loop or the
kernel takes up.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, TypeAlias

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.language.types import ScalarType
from phobos_core.reference import numerics
from phobos_core.reference.expressions import evaluate, index, point, window
from phobos_core.reference.frame import Frame
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array, dtype_of

Jump: TypeAlias = Literal["break", "continue", "return"] | None
Run: TypeAlias = Generator[None, None, Jump]


def run_block(body: tuple[p.Stmt, ...], frame: Frame) -> Run:
    for stmt in body:
        jump = yield from run(stmt, frame)
        if jump:
            return jump
    return None


def run(stmt: p.Stmt, frame: Frame) -> Run:
    match stmt:
        case p.BindScalar() | p.AssignScalar():
            _bind(stmt.symbol, evaluate(stmt.value, frame), frame)
        case p.BindView():
            frame.memory[stmt.symbol] = window(stmt.place, frame)
        case p.DeclareTile():
            _declare(stmt, frame)
        case p.StoreTile():
            _store(window(stmt.place, frame), stmt, frame)
        case p.StorePoint():
            _store(point(stmt.place, frame), stmt, frame)
        case p.If():
            return (yield from run_block(stmt.then if evaluate(stmt.condition, frame) else stmt.orelse, frame))
        case p.For():
            return (yield from _run_for(stmt, frame))
        case p.While():
            return (yield from _run_while(stmt, frame))
        case p.Jump():
            return stmt.kind
        case p.Eval():
            evaluate(stmt.value, frame)
        case _:
            raise AssertionError(f"the reference does not know {type(stmt).__name__}")
    return None


def _run_for(stmt: p.For, frame: Frame) -> Run:
    """The loop variable takes lo, lo + step, ... while below hi, in wrapping index arithmetic."""
    hi = index(stmt.hi, frame)
    step = evaluate(stmt.step, frame)
    value = evaluate(stmt.lo, frame)
    while int(value) < hi:
        _bind(stmt.symbol, value, frame)
        jump = yield from run_block(stmt.body, frame)
        if jump == "return":
            return "return"
        if jump == "break":
            break
        value = np.add(value, step)
    return None


def _run_while(stmt: p.While, frame: Frame) -> Run:
    while evaluate(stmt.condition, frame):
        jump = yield from run_block(stmt.body, frame)
        if jump == "return":
            return "return"
        if jump == "break":
            break
    return None


def _bind(symbol: p.Symbol, value: Array, frame: Frame) -> None:
    assert isinstance(symbol.type, ScalarType)
    frame.scalars[symbol] = value
    if symbol.type.is_integer and not symbol.mutable:
        frame.integers[symbol.key] = int(value)


def _declare(stmt: p.DeclareTile, frame: Frame) -> None:
    assert isinstance(stmt.symbol.type, p.TileType)
    dtype = dtype_of(stmt.symbol.type.element, frame.index_bits)
    shape = tuple(frame.extent(n) for n in stmt.symbol.type.shape)
    # What an uninitialised tile holds has no meaning: a pattern that stands out, not zeros.
    data = np.full(shape, np.nan if numerics.is_float(dtype) else 0x55, dtype)
    if stmt.value is not None:
        data[...] = numerics.convert(evaluate(stmt.value, frame), dtype)
    frame.memory[stmt.symbol] = Window.whole(data)


def _store(target: Window, stmt: p.StoreTile | p.StorePoint, frame: Frame) -> None:
    value = numerics.convert(evaluate(stmt.value, frame), target.data.dtype)
    if stmt.accumulate:
        value = np.add(target.read(), value)
    target.write(value)
