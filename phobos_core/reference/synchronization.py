"""What a CTA does once, together with others: barriers, atomics, flags; and how blocks wait for each other.

`settled` does the effects of a statement's own expressions, operands left to right, each where it stands, and gives the
statement with a `Known` in place of each. It is a generator: it yields where the block lets others go on, at an
acquire load and, until every block has come, at a grid barrier.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import walk
from phobos_core.reference import attention
from phobos_core.reference.expressions import Known, evaluate, located
from phobos_core.reference.frame import Frame, ReferenceFault
from phobos_core.reference.numerics import Array
from phobos_core.syntax.ast import Span


@dataclass(frozen=True, slots=True)
class Wait:
    """Where a block lets the others go on, and for what."""

    span: Span
    reason: Literal["grid barrier", "flag", "loop"]


Node = TypeVar("Node")
Steps: TypeAlias = Generator[Wait, None, Node]

EFFECTS = (p.Atomic, p.Sync, p.WarpPartial)
_EXPRESSIONS = get_args(p.Expr)
# What a statement evaluates itself; the statements inside it are none of that.
_OWN = (*_EXPRESSIONS, p.Place, p.Axis)


def nodes_with_effects(body: Sequence[p.Stmt]) -> frozenset[int]:
    """The identity of each node of the program that an effect stands in, statements without those inside them."""
    found: set[int] = set()

    def mark(node: Any) -> bool:
        inside = [mark(child) for child in _parts(node)]
        if isinstance(node, EFFECTS) or any(inside):
            found.add(id(node))
        return id(node) in found

    for node in walk(body):
        if isinstance(node, get_args(p.Stmt)):
            mark(node)
    return frozenset(found)


def _parts(node: Any) -> Iterator[Any]:
    for field in fields(node):
        value = getattr(node, field.name)
        yield from (item for item in (value if type(value) is tuple else (value,)) if isinstance(item, _OWN))


def settled(node: Node, frame: Frame) -> Steps[Node]:
    """The node with its effects done; one without any is given back as it is."""
    if id(node) not in frame.effectful:
        return node
    changed: dict[str, Any] = {}
    for name in _in_source_order(node):
        value = getattr(node, name)
        if type(value) is tuple:
            parts = []
            for item in value:
                parts.append((yield from _operand(item, frame)))
            changed[name] = tuple(parts)
        else:
            changed[name] = yield from _operand(value, frame)
    made: Any = replace(cast(Any, node), **changed)
    if isinstance(node, EFFECTS):
        made = Known(node, (yield from _effect(made, frame)))
    return cast(Node, made)


def _in_source_order(node: Any) -> list[str]:
    names = [field.name for field in fields(node)]
    # The source of a shuffle stands in the brackets, before the value.
    return sorted(names, key=lambda name: name == "value") if isinstance(node, p.Shuffle) else names


def _operand(value: Any, frame: Frame) -> Steps[Any]:
    """An operand beside an effect is evaluated before what stands after it."""
    if id(value) in frame.effectful:
        return (yield from settled(value, frame))
    if isinstance(value, p.Place) and value.axes is not None:
        return replace(value, axes=tuple(_with_start(axis, frame) for axis in value.axes))
    if isinstance(value, p.Axis):
        return _with_start(value, frame)
    return Known(cast(p.Expr, value), evaluate(value, frame)) if isinstance(value, _EXPRESSIONS) else value


def _with_start(axis: p.Axis, frame: Frame) -> p.Axis:
    return replace(axis, start=cast(p.Expr, Known(axis.start, evaluate(axis.start, frame))))


def _effect(node: p.Atomic | p.Sync | p.WarpPartial, frame: Frame) -> Steps[Array]:
    if frame.active is not None and not frame.active.all():
        name = node.op if not isinstance(node, p.WarpPartial) else "warp_partial"
        raise ReferenceFault(f"`{name}` that some threads do not reach", node.span, "divergent-barrier")
    zero = np.zeros((), np.int64 if frame.index_bits == 64 else np.int32)
    match node:
        case p.Atomic():
            return (yield from _atomic(node, frame))
        case p.Sync(op="grid_barrier", bar=bar):
            assert bar is not None
            yield from _all_blocks(bar.root, node.span, frame)
        case p.WarpPartial():
            attention.warp_partial(node, frame)
    return zero


def _all_blocks(bar: p.Symbol, span: Span, frame: Frame) -> Steps[None]:
    grid = frame.grid
    grid.arrived[bar] = grid.arrived.get(bar, 0) + 1
    if grid.arrived[bar] == grid.blocks:
        grid.arrived[bar] = 0
        grid.rounds[bar] = grid.rounds.get(bar, 0) + 1
        grid.changes += 1
        return
    round = grid.rounds.get(bar, 0)
    while grid.rounds.get(bar, 0) == round:
        yield Wait(span, "grid barrier")


def _atomic(node: p.Atomic, frame: Frame) -> Steps[Array]:
    if node.op == "load_acquire":
        yield Wait(node.span, "flag")
    base, at = located(node.place, frame)
    where = tuple(int(frame.uniform(index)) for index in at)
    args = [frame.uniform(evaluate(arg, frame)) for arg in node.args]
    old = np.asarray(base.data[where]).copy()
    match node.op:
        case "atomic_add":
            new = np.add(old, args[0])
        case "atomic_cas":
            new = args[1] if old == args[0] else old
        case "load_acquire":
            new = old
        case "store_release":
            new = args[0]
    base.data[where] = new
    if np.asarray(new).tobytes() != old.tobytes():
        frame.grid.changes += 1
    if node.op == "store_release":
        return np.zeros((), np.int64 if frame.index_bits == 64 else np.int32)
    return old
