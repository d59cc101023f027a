"""Builds the body of `for<unroll n>` n times a turn.

    for i in range(lo, hi, s) { body }
becomes
    for i in range(lo, hi - (n - 1) * s, n * s) { body at i; body at i + s; ... }
    for i in range(rest, hi, s) { body }                       with rest = lo + turns * n * s

In: loops with an `unroll` attribute and a constant step. Out: none with that attribute; what was unrolled says so in
`unrolled`, for messages. Each copy has its own tiles. A kernel that would become too large for what follows is an
error before a copy is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phobos_core.ir import intervals
from phobos_core.ir.builder import Builder
from phobos_core.ir.integers import Integers, of_kernel
from phobos_core.ir.intervals import Intervals
from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.rewrite import clone, rewrite, walk
from phobos_core.language.types import INDEX
from phobos_core.passes.errors import PassError

# Ops that a kernel may have after unrolling. Most become one or two instructions, so this is above what `large-code`
# warns of. LLVM's time grows with the square of the code: it takes about ten seconds here, minutes at a few times this.
MOST_OPS = 32_768


def unroll(kernel: Kernel) -> Kernel:
    facts, exact = of_kernel(kernel), intervals.of_kernel(kernel)
    total = _size(kernel.body)

    def visit(op: Op) -> Sequence[Op] | None:
        nonlocal total
        if op.name != "for" or "unroll" not in op.attrs:
            return None
        size = _size(op.regions[0])
        total += op.attrs["unroll"] * size
        if total > MOST_OPS:
            raise _too_large(kernel, op, size, total)
        return _unrolled(facts, exact, op)

    body = rewrite(kernel.body, visit)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _size(block: Block) -> int:
    return sum(1 for _ in walk(block))


def _too_large(kernel: Kernel, loop: Op, size: int, total: int) -> PassError:
    """The error at the loop with which the kernel passes the limit."""
    times = loop.attrs["unroll"]
    fitting = (MOST_OPS - (total - times * size)) // size
    return PassError(
        "unrolled-too-far",
        loop.line,
        f"`for<unroll {times}>` makes `{kernel.name}` too large to compile: {times:,} copies of the {size:,} "
        f"operations of this body, where a kernel may have {MOST_OPS:,} in all",
        f"unroll at most {fitting} times" if fitting > 1 else "make this loop a plain `for`, or unroll the others less",
    )


def _unrolled(facts: Integers, exact: Intervals, loop: Op) -> list[Op]:
    lo, hi, step = loop.operands[:3]
    times, by = loop.attrs["unroll"], facts.constant(step)
    assert by is not None, "the checker asks for a constant step"
    attrs = {name: value for name, value in loop.attrs.items() if name != "unroll"}
    build = Builder(loop.line)
    far = _may_wrap(exact, lo, hi, times * by)
    if far:
        hi = build.binary("max", hi, lo)
    end = build.binary("sub", hi, build.index((times - 1) * by))
    if far:
        end = build.select(build.cmp("gt", end, hi), lo, end)
    turn = build.index(times * by)
    results = tuple(Value(v.type, v.hint) for v in loop.results)
    body = _repeated(loop, times, step)
    whole = attrs | {"unrolled": times}
    build.append(Op("for", (lo, end, turn, *loop.operands[3:]), results, whole, (body,), loop.line))
    count = build.binary("div", build.binary("add", build.binary("sub", hi, lo), build.index(by - 1)), step)
    turns = build.binary("div", count, build.index(times))
    rest = build.binary("add", lo, build.binary("mul", turns, turn))
    if far:
        rest = build.select(build.cmp("lt", rest, lo), hi, rest)
    args = tuple(Value(v.type, v.hint) for v in loop.regions[0].args)
    single = clone(loop.regions[0], dict(zip(loop.regions[0].args, args, strict=True)))
    operands = (rest, hi, step, *results)
    build.append(Op("for", operands, loop.results, attrs, (Block(args, single.ops),), loop.line))
    return build.ops


def _may_wrap(exact: Intervals, lo: Value, hi: Value, turn: int) -> bool:
    """Whether the bounds may lie so far out that what is computed of them passes the least or the largest index."""
    (first, _), (least, most), (smallest, largest) = exact.of(lo), exact.of(hi), exact.of_type(INDEX)
    return least - turn < smallest or most + turn > largest or most - first + turn > largest


def _repeated(loop: Op, times: int, step: Value) -> Block:
    """The body, and copies of it that each take up where the one before ended."""
    block = loop.regions[0]
    variable, *_ = block.args
    build = Builder(loop.line)
    build.ops += block.ops[:-1]
    last = block.ops[-1]
    at = variable
    for _ in range(times - 1):
        at = build.binary("add", at, step)
        copy = clone(block, dict(zip(block.args, (at, *last.operands), strict=True)))
        build.ops += copy.ops[:-1]
        last = copy.ops[-1]
    build.append(last)
    return build.block(block.args)
