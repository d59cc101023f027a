"""Fetches the slices that a loop copies into tiles one iteration ahead, into a second copy of each tile.

In: a kernel whose staging copies are plain stores of loads (`copies.py`). Out: each eligible loop in one of two forms.

With `cp.async`, where the target has it and the runs are 4, 8 or 16 bytes at aligned addresses, unless contractions
with large patches read no more than a few words for each thread:

    copy the first slice to stage 0                         (if there is an iteration)
    for i ..., stage:
        wait for the copies; [barrier]; start copying the next slice to stage 1 - stage
        the body, on `stage`
    wait for the copies

Else through registers: the next slice is loaded before the body and stored to the other stage after it. The last
iteration reads no slice; what it stores nevertheless nothing reads.

Each loop's outcome is a decision; `@pipeline` with no loop pipelined is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.builder import Builder
from phobos_core.ir.divisors import Vectors, Width
from phobos_core.ir.module import Block, Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import Index, edit, indexed, rewrite, walk, with_attrs, with_body, without_unused
from phobos_core.ir.tree import buffer_of
from phobos_core.ir.types import TOKEN, Cyclic, Layout, ViewType
from phobos_core.language.targets import TARGETS
from phobos_core.language.types import INDEX
from phobos_core.passes.canonicalize import canonicalize
from phobos_core.passes.copies import Copy, can_be_pipelined, copies_of, name_of, reasons
from phobos_core.passes.errors import PassError
from phobos_core.passes.fitting import Pass, fits_after
from phobos_core.passes.pairs import Small, firsts
from phobos_core.passes.place_shared import limit, over_limit
from phobos_core.passes.promote import promote
from phobos_core.passes.thread_tiles import MOST_FETCHED, contractions_of, covers, words_a_thread
from phobos_core.passes.turned import copy_layout
from phobos_core.passes.unroll import unroll

_ASYNC_BYTES = (4, 8, 16)
# What decides how much memory the tiles take.
_FOLLOWING: tuple[Pass, ...] = (unroll, canonicalize, promote)


def pipeline(kernel: Kernel) -> Kernel:
    decisions: list[Decision] = []
    outcomes: list[_Outcome] = []
    for loop in [op for op in indexed(kernel.body).ops if op.name == "for"][::-1]:
        # Innermost first; the loop is looked up again, since what was rewritten inside made a new op of it.
        outcome = _loop(kernel, loop.regions[0].args[0])
        kernel = outcome.kernel
        decisions.insert(0, outcome.decision)
        outcomes.append(outcome)
    if kernel.pipeline and not any(o.pipelined for o in outcomes) and fits_after(kernel, _FOLLOWING):
        # A kernel that does not fit even so is told that first, when its tiles are placed.
        oversize = next((o.oversize for o in outcomes if o.oversize), None)
        raise _nothing(kernel, decisions) if oversize is None else over_limit(oversize)
    return replace(kernel, decisions=(*kernel.decisions, *decisions))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """`oversize` is the kernel with the loop pipelined where only the shared memory it would take speaks against it."""

    kernel: Kernel
    decision: Decision
    pipelined: bool
    oversize: Kernel | None = None


def _nothing(kernel: Kernel, decisions: Sequence[Decision]) -> PassError:
    outcomes = "; ".join(f"`{d.op}` on line {d.line}: {d.reason}" for d in decisions) or "it has no `for` loop"
    return PassError("nothing-pipelined", kernel.line, f"`@pipeline` on `{kernel.name}` pipelines nothing: {outcomes}")


def _loop(kernel: Kernel, variable: Value) -> _Outcome:
    index = indexed(kernel.body)
    loop = index.owner[variable]
    name = name_of(loop)
    found, refused = copies_of(index, loop)
    if found and not can_be_pipelined(kernel, loop):
        refused = ["its extent need not be a multiple of its step; `@pipeline` pipelines the whole tiles"]
        found = []
    kept = _fitting(kernel, index, loop, found)
    plan = _Plan(kernel, index, loop)
    if not kept:
        reason = reasons(refused) if not found else _too_large(kernel, found)
        oversize = plan.apply(found) if found else None
        return _Outcome(kernel, Decision(loop.line, name, "not pipelined", reason), pipelined=False, oversize=oversize)
    kernel = plan.apply(kept)
    tiles = ", ".join(f"`{c.alloc.attrs['name']}`" for c in kept)
    left = [f"`{c.alloc.attrs['name']}` does not fit twice" for c in found if c not in kept]
    reason = "; ".join([f"{tiles} {plan.how}", *left, *dict.fromkeys(refused)])
    return _Outcome(kernel, Decision(loop.line, name, "pipelined, two stages", reason), pipelined=True)


def _fitting(kernel: Kernel, index: Index, loop: Op, found: Sequence[Copy]) -> list[Copy]:
    """As many of the copies, in program order, as fit twice."""
    if not found or _fits(kernel, index, loop, found):
        return list(found)
    kept: list[Copy] = []
    for copy in found:
        if _fits(kernel, index, loop, [*kept, copy]):
            kept.append(copy)
    return kept


def _fits(kernel: Kernel, index: Index, loop: Op, copies: Sequence[Copy]) -> bool:
    return fits_after(_Plan(kernel, index, loop).apply(copies), _FOLLOWING)


def _too_large(kernel: Kernel, found: Sequence[Copy]) -> str:
    tiles = ", ".join(f"`{c.alloc.attrs['name']}`" for c in found)
    return f"a second copy of {tiles} does not fit the {limit(kernel) // 1024} KB of shared memory"


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A copy with what the new loop makes of it; `widest` is how wide it could be if few threads took part."""

    copy: Copy
    width: Width
    widest: Width
    layout: Layout
    alloc: Op
    argument: Value  # the buffer's token in the body

    @property
    def mem(self) -> Value:
        return self.alloc.results[0]


class _Plan:
    """The rewriting of one loop."""

    def __init__(self, kernel: Kernel, index: Index, loop: Op) -> None:
        self.kernel = kernel
        self.index = index
        self.loop = loop
        self.variable, *self.carried = loop.regions[0].args
        self.stage = Value(INDEX, "stage")
        self.how = ""

    def apply(self, copies: Sequence[Copy]) -> Kernel:
        vectors = Vectors(self.kernel, self.index)
        ahead = [self.ahead(copy, vectors) for copy in copies]
        barred = self.no_async(ahead)
        if barred:
            ahead = self.side_by_side(ahead)
            self.how = f"through registers, loaded before the body and stored after it: {barred}"
        else:
            bytes = sorted({a.width.vector * a.copy.mem.element.bytes for a in ahead})
            self.how = f"by cp.async, {' and '.join(map(str, bytes))} bytes at a time"
        replaced = self.replaced(ahead, use_async=not barred)
        kernel = with_body(self.kernel, edit(self.kernel.body, replaced={self.loop: replaced}).ops)
        relied = sorted({name for a in ahead for name in a.width.relies_on})
        more = [r for r in vectors.requirements(relied) if r not in kernel.requires]
        return replace(kernel, body=without_unused(kernel.body), requires=(*kernel.requires, *more))

    def ahead(self, copy: Copy, vectors: Vectors) -> _Ahead:
        rows, columns = (n or 1 for n in (1, *copy.mem.shape)[-2:])
        width = widest = vectors.widest([copy.source], rows if copy.turned else columns)
        if any(covers(self.kernel, dot) for dot in contractions_of(self.index, copy.alloc)):
            width = width.for_all(rows * columns, copy.mem.element.bytes, self.kernel.threads)
        layout: Layout = Cyclic(self.kernel.threads, width.vector)
        if copy.turned:
            pitch, size = copy.alloc.attrs.get("pitch", columns), copy.mem.element.bytes
            layout = copy_layout(self.kernel.threads, (rows, columns), width.vector, pitch, size)
        mem, token = copy.alloc.results
        alloc = with_attrs(replace(copy.alloc, results=(Value(mem.type, mem.hint), Value(TOKEN, token.hint))), stages=2)
        return _Ahead(copy, width, widest, layout, alloc, Value(TOKEN, token.hint))

    def side_by_side(self, ahead: Sequence[_Ahead]) -> list[_Ahead]:
        """With those beside each other that half of the threads can make each."""
        small = [None if a.copy.turned else Small(a.copy.mem, a.widest) for a in ahead]
        threads = self.kernel.threads
        return [
            a if first is None else replace(a, width=a.widest, layout=Cyclic(threads, a.widest.vector, first))
            for a, first in zip(ahead, firsts(self.kernel, small), strict=True)
        ]

    def no_async(self, ahead: Sequence[_Ahead]) -> str:
        """Why the copies cannot be `cp.async`; empty where they can."""
        if not TARGETS[self.kernel.target].has("cp_async"):
            return f"{self.kernel.target} has no cp.async"
        if self.kernel.index_bits != 64:
            return "cp.async takes 64-bit indices"
        words = sum(words_a_thread(self.kernel, a.copy.mem) for a in ahead)
        dots = [op for op in walk(self.loop.regions[0]) if op.name == "dot"]
        if words <= MOST_FETCHED and dots and all(covers(self.kernel, dot) for dot in dots):
            return f"{words} registers of a thread take them, which is fewer instructions than to wait for copies"
        for a in ahead:
            if a.copy.turned:
                return f"cp.async does not transpose, as `{a.copy.alloc.attrs['name']}` is"
            bytes = a.width.vector * a.copy.mem.element.bytes
            if bytes not in _ASYNC_BYTES:
                name = a.copy.alloc.attrs["name"]
                return f"cp.async takes at least 4 aligned bytes, and the rows of `{name}` give {bytes}"
        return ""

    def replaced(self, ahead: Sequence[_Ahead], *, use_async: bool) -> list[Op]:
        loop = self.loop
        lo, hi, step = loop.operands[:3]
        build = Builder(loop.line)
        build.ops += [a.alloc for a in ahead]
        first = self.first(build, ahead, lo, hi, use_async=use_async)
        body = self.body(ahead, hi, step, use_async=use_async)
        carried = [*loop.operands[3:], *first, build.index(0)]
        results = [*loop.results, *(Value(v.type) for v in carried[len(loop.results) :])]
        build.append(Op("for", (lo, hi, step, *carried), tuple(results), loop.attrs, (body,), loop.line))
        if use_async:
            # All copies are complete here, which the barriers are placed by.
            build.op("async_wait", (), (), {"pending": 0})
        return build.ops

    def first(self, build: Builder, ahead: Sequence[_Ahead], lo: Value, hi: Value, *, use_async: bool) -> list[Value]:
        """Fetches the first slices, if there is an iteration. Gives the tokens."""
        inner = Builder(build.line)
        zero, values = inner.index(0), {self.variable: lo}
        tokens = []
        for a in ahead:
            source = self.address(inner, a.copy, values)
            target = _stage_of(inner, a, zero)
            token = a.alloc.results[1]
            if use_async:
                tokens.append(_async_copy(inner, a, target, source, token))
            else:
                tokens.append(inner.store(target, self.loaded(inner, a, source), token))
        if use_async:
            inner.op("async_commit")
        inner.yield_(tokens)
        nothing = Builder(build.line)
        nothing.yield_([a.alloc.results[1] for a in ahead])
        some = build.cmp("lt", lo, hi)
        return list(build.if_(some, [TOKEN] * len(ahead), inner.block(), nothing.block()).results)

    def body(self, ahead: Sequence[_Ahead], hi: Value, step: Value, *, use_async: bool) -> Block:
        build = Builder(self.loop.line)
        if use_async:
            build.op("async_wait", (), (), {"pending": 0})
        after = build.binary("add", self.variable, step)
        more = build.cmp("lt", after, hi)
        other = build.binary("sub", build.index(1), self.stage)
        held: list[Value] = []
        tokens: list[Value] = []
        for a in ahead:
            # What is read to find the slice is there in each iteration, but not past the last.
            known = any(op.name == "load_point" for op in a.copy.address)
            following = build.select(more, after, self.variable) if known else after
            source = self.address(build, a.copy, {self.variable: following})
            if use_async:
                tokens.append(_async_copy(build, a, _stage_of(build, a, other), source, a.argument, more))
            else:
                held.append(self.held(build, a, source, more))
        if use_async:
            build.op("async_commit")
        now = tokens if use_async else [a.argument for a in ahead]
        build.ops += self.rest(ahead, now)
        last = build.ops.pop()
        if not use_async:
            for a, tile in zip(ahead, held, strict=True):
                tokens.append(build.store(_stage_of(build, a, other), tile, a.argument))
        build.append(replace(last, operands=(*last.operands, *tokens, other)))
        return build.block((self.variable, *self.carried, *(a.argument for a in ahead), self.stage))

    def loaded(self, build: Builder, ahead: _Ahead, source: Value, condition: Value | None = None) -> Value:
        """The slice as the tile has it."""
        loaded = build.load(source, ahead.copy.load.operands[1], condition=condition)
        return build.transpose(loaded) if ahead.copy.turned else loaded

    def held(self, build: Builder, ahead: _Ahead, source: Value, condition: Value) -> Value:
        """The slice in registers from here on."""
        if ahead.copy.turned:
            return build.hold(self.loaded(build, ahead, source, condition), ahead.layout)
        return build.load(source, ahead.copy.load.operands[1], ahead.layout, condition=condition)

    def rest(self, ahead: Sequence[_Ahead], now: Sequence[Value]) -> tuple[Op, ...]:
        """The body's own ops, on the current stage."""
        gone: dict[Op, Sequence[Op]] = {}
        values: dict[Value, Value] = {}
        for a, token in zip(ahead, now, strict=True):
            gone |= {a.copy.alloc: (), a.copy.store: ()}
            values |= {a.copy.alloc.results[0]: a.mem, a.copy.store.result: token}
        buffers = {a.copy.alloc.results[0] for a in ahead}

        def staged(op: Op) -> Sequence[Op] | None:
            if op.name in ("view", "load_point", "load_run") and buffer_of(self.index, op.operands[0]) in buffers:
                return [replace(op, operands=(op.operands[0], self.stage, *op.operands[1:]))]
            return None

        block = rewrite(self.loop.regions[0], lambda op: gone[op] if op in gone else staged(op))
        return edit(block, values=values).ops

    def address(self, build: Builder, copy: Copy, values: Mapping[Value, Value]) -> Value:
        """The view that the copy loads, computed for another value of the loop variable."""
        known = dict(values)
        for op in copy.address:
            results = tuple(Value(v.type, v.hint) for v in op.results)
            known |= dict(zip(op.results, results, strict=True))
            build.append(replace(op, operands=tuple(known.get(v, v) for v in op.operands), results=results))
        return known.get(copy.source, copy.source)


def _stage_of(build: Builder, ahead: _Ahead, stage: Value) -> Value:
    return build.whole(ahead.mem, stage)


def _async_copy(
    build: Builder, ahead: _Ahead, target: Value, source: Value, token: Value, condition: Value | None = None
) -> Value:
    assert isinstance(target.type, ViewType)
    operands = (target, source, token, ahead.copy.load.operands[1], *([condition] if condition else []))
    return build.op("async_copy", operands, (TOKEN,), {"vector": ahead.width.vector}).result
