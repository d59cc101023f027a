"""The ops of the tile IR, as a table: what each takes, gives and means.

The verifier, the printer's spelling and the passes' questions (does it write? is it element-wise?) read this table.

Element-wise ops serve scalars and tiles alike; all operands then have one shape (`splat` and `broadcast` make it so).
A tile value without a layout is virtual: it is evaluated, per element, by the op that consumes it. Three ops cannot be
evaluated per element at will, the *anchors* `dot`, `reduce` and `cumsum`: the passes see to it that the value tree of
each `store` holds at most one anchor and that the store's schedule is the one in which the anchor's elements arise.

A scalar may differ between the threads of the CTA: `divergence.py` says which do. Ops on tiles and `sync` are for all
threads together and take only scalars that do not; every other op runs in each thread on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class OpDef:
    """`effect`: "read" consumes a token; "write" consumes and produces one; "sync" orders or exchanges between threads
    and has no token; "fence" also supersedes the tokens that it takes, one result for each.

    `attrs` names every attribute the op must have; `optional` those it may have, set by passes.
    """

    name: str
    doc: str
    operands: str = ""
    results: str = ""
    attrs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regions: int = 0
    effect: Literal["none", "read", "write", "sync", "fence", "control"] = "none"
    elementwise: bool = False
    anchor: bool = False


def _scalar_source(name: str, doc: str, *attrs: str) -> OpDef:
    return OpDef(name, doc, results="scalar", attrs=attrs)


def _elementwise(name: str, operands: str, doc: str, *attrs: str) -> OpDef:
    return OpDef(name, doc, operands, "same shape", attrs, elementwise=True)


_TABLE = (
    # Scalars
    _scalar_source("const", "A constant of the result's type: int, float or bool.", "value"),
    _scalar_source("ctx", "`block.x`, `blocks.y`, `thread`, ... as the spec names the fields of ctx.", "field"),
    # Element-wise on scalars and on tiles
    _elementwise("add", "a, b", "a + b; integers wrap."),
    _elementwise("sub", "a, b", "a - b; integers wrap."),
    _elementwise("mul", "a, b", "a * b; integers wrap."),
    _elementwise("div", "a, b", "a / b: floats correctly rounded, integers truncate toward zero, any value for b = 0."),
    _elementwise("rem", "a, b", "a % b with the dividend's sign; any value for an integer b = 0."),
    _elementwise("min", "a, b", "The smaller; for floats the other operand when one is NaN."),
    _elementwise("max", "a, b", "The larger; for floats the other operand when one is NaN."),
    _elementwise("and", "a, b", "Bitwise on integers, logical on bools."),
    _elementwise("or", "a, b", "Bitwise on integers, logical on bools."),
    _elementwise("xor", "a, b", "Bitwise on integers, != on bools."),
    _elementwise("shl", "a, b", "a << b; 0 for an amount at or past the width (seen as unsigned)."),
    _elementwise("shr", "a, b", "Arithmetic a >> b; the sign for an amount at or past the width."),
    _elementwise("neg", "a", "0 - a for integers, the sign flipped for floats."),
    _elementwise("not", "a", "Bitwise complement; logical not of a bool."),
    _elementwise("cmp", "a, b", "eq ne lt le gt ge, signed; a NaN makes all but ne false. Gives bools.", "predicate"),
    _elementwise("select", "c, a, b", "c ? a : b."),
    _elementwise("convert", "a", "To the result's element type, as `analysis.program.Convert` says."),
    _elementwise("math", "a", "f32 exp log sqrt rsqrt tanh sin cos round floor ceil; abs of any type.", "function"),
    # Tiles
    OpDef("splat", "A tile of one scalar.", "scalar", "tile"),
    OpDef("broadcast", "Repeats axes of extent 1 to the result's shape (same rank).", "tile", "tile"),
    OpDef("iota", "i32 index along `axis`.", "", "tile<i32>", attrs=("axis",)),
    OpDef("transpose", "out[i, j] = a[j, i].", "tile [R, C]", "tile [C, R]"),
    OpDef("tril", "Keeps a[i, j] for j <= i, 0 elsewhere.", "tile [R, C]", "tile [R, C]"),
    OpDef(
        "gather",
        "out[i] = the element of the buffer at the offsets, indices[i] further along its last axis. Not masked, but "
        "with `partial` a negative index reads nothing and gives 0.",
        "mem, index offsets.., tile of integers, token",
        "tile",
        optional=("partial",),
        effect="read",
    ),
    OpDef(
        "dot",
        "[M, K] x [K, N], or x [N, K] when `transposed`. f16, bf16 and f32 give f32, f64 gives f64, i8 gives i32.",
        "tile, tile",
        "tile [M, N]",
        attrs=("transposed",),
        anchor=True,
    ),
    OpDef(
        "reduce",
        "[R, C] -> [R, 1]: `max` (NaN ignored), `sum` (in the element type; f16 and bf16 sum in f32 and round once), "
        "`argmax` (i32, the smallest index on a tie). With `parts`, [R, C] -> [R, parts]: the folds of that many "
        "parts of each row, cut as the schedule says (`max` and `sum`; not rounded yet: sums of f16 and bf16 are f32).",
        "tile",
        "tile",
        attrs=("kind",),
        optional=("parts",),
        anchor=True,
    ),
    OpDef("cumsum", "out[i, j] = sum of a[r, j] for r <= i.", "tile [R, C]", "tile [R, C]", anchor=True),
    # Memory
    OpDef(
        "alloc",
        "A shared buffer of the CTA, uninitialised, live from here to its last use. `stages` copies lie one after "
        "the other (pipelining); `pitch` is the row length in elements when padded; `offset` is set on placement. "
        "`temporary` marks one that is no tile of the source, `turned` one that holds such a tile transposed.",
        "",
        "mem shared, token",
        attrs=("name", "stages"),
        optional=("pitch", "offset", "temporary", "turned"),
    ),
    OpDef("flat", "The buffer [R, C] seen as [1, R * C]; same bytes, same token chain.", "mem", "mem"),
    OpDef(
        "view",
        "A window: element (i, ..) of the view is element (offset + i, ..) of the buffer. Operands: the buffer; the "
        "stage index when the buffer has more than one; one index offset per axis; then, per axis in order, the "
        "bounds that `bounds` asks for: 'none' has no operand, 'upper' one (valid iff 0 <= offset + i < upper), 'both' "
        "two (lower <= offset + i < upper). Reading outside gives 0, writing outside does nothing.",
        "mem, [stage], offsets.., bounds..",
        "view",
        attrs=("bounds",),
    ),
    OpDef(
        "load",
        "The tile of elements behind a view; with a layout on the result, held in registers from here. Where the bool "
        "does not hold, nothing is read and the elements may be any.",
        "view, token, [bool]",
        "tile",
        effect="read",
    ),
    OpDef(
        "hold",
        "Evaluates a virtual tile here into registers, in the result's layout. `schedule` as of a store.",
        "tile",
        "tile with a layout",
        optional=("schedule",),
    ),
    OpDef(
        "store",
        "Writes a tile of the view's shape and element type. `schedule` says which thread writes which element.",
        "view, tile, token",
        "token",
        optional=("schedule",),
        effect="write",
    ),
    OpDef("load_point", "One element; not masked.", "mem, [stage], indices.., token", "scalar", effect="read"),
    OpDef(
        "store_point",
        "One element, written once per CTA (by its first thread), or by `each` thread that comes here; not masked.",
        "mem, [stage], indices.., scalar, token",
        "token",
        optional=("each",),
        effect="write",
    ),
    OpDef(
        "load_run",
        "Each thread's own run of elements: from the element at the indices on, along `axis`. Not masked. `vector` "
        "elements an access, 1 where it is not set.",
        "mem, [stage], indices.., token",
        "run",
        attrs=("axis",),
        optional=("vector",),
        effect="read",
    ),
    OpDef(
        "store_run",
        "Each thread's own store of `length` elements, from the element at the indices on, along `axis`. Not masked.",
        "mem, indices.., scalars.., token",
        "token",
        attrs=("axis", "length"),
        optional=("vector",),
        effect="write",
    ),
    OpDef("run_element", "Element `position` of a run.", "run", "scalar", attrs=("position",)),
    OpDef(
        "run_word",
        "Bytes 4 * position to 4 * position + 3 of a run of bytes, as the little-endian word they pack.",
        "run",
        "u32",
        attrs=("position",),
    ),
    OpDef(
        "atomic_add",
        "Adds to an element, atomically on the device, and orders the thread's accesses. Gives what was there.",
        "mem, indices.., scalar, token",
        "scalar, token",
        effect="write",
    ),
    OpDef(
        "atomic_cas",
        "Stores the second scalar where the element equals the first, as `atomic_add` does. Gives what was there.",
        "mem, indices.., i32, i32, token",
        "i32, token",
        effect="write",
    ),
    OpDef(
        "load_acquire",
        "An element, read at system scope; what is read after it is at least as new.",
        "mem, indices.., token",
        "i32, token",
        effect="write",
    ),
    OpDef(
        "store_release",
        "An element, written at system scope; whoever acquires it sees what was written before.",
        "mem, indices.., i32, token",
        "token",
        effect="write",
    ),
    OpDef(
        "grid_sync",
        "One thread of each block waits for those of all `blocks` blocks, by the counters in the buffer: how many have "
        "come, and how often all have. Orders the accesses of all.",
        "mem of i32, index blocks, token",
        "token",
        effect="write",
    ),
    OpDef(
        "async_copy",
        "cp.async from a global view to a shared view of the same shape; outside elements become 0. `vector` elements "
        "at a time, spread as Cyclic(threads, vector). Visible to the issuing thread after the wait, to others after "
        "a barrier that follows it. Where the bool does not hold, nothing is copied.",
        "dst view, src view, dst token, src token, [bool]",
        "token",
        attrs=("vector",),
        effect="write",
    ),
    OpDef("async_commit", "Closes the group of the copies issued since the last.", effect="sync"),
    OpDef("async_wait", "Waits until at most `pending` groups are unfinished.", attrs=("pending",), effect="sync"),
    OpDef("barrier", "bar.sync 0 of the whole CTA. Placed by a pass only.", effect="sync"),
    OpDef(
        "sync",
        "The barrier of the source: all threads of the CTA meet, and see each other's accesses to the buffers whose "
        "tokens it takes. No pass moves an access to one of those across it.",
        "tokens..",
        "tokens..",
        effect="fence",
    ),
    OpDef(
        "shuffle",
        "The value of another lane of the piece of `width` lanes: by `mode`, lane `n` (`from`), lane ^ n (`xor`), lane "
        "+ n (`down`) or lane - n (`up`), with 0 <= n < width. A lane outside the piece gives the thread's own value. "
        "All lanes of the warp come here together.",
        "scalar, i32 n",
        "scalar",
        attrs=("mode", "width"),
        effect="sync",
    ),
    OpDef("vote", "`any` or `all` of a bool over the lanes of the warp.", "bool", "bool", ("kind",), effect="sync"),
    OpDef("ballot", "The lanes of the warp for which a bool holds, a bit for each.", "bool", "u32", effect="sync"),
    OpDef("redux", "`sum`, `min` or `max` over the lanes of the warp.", "i32", "i32", ("kind",), effect="sync"),
    OpDef(
        "uniform",
        "Its operand, which is the same in all threads of the CTA though it is made of values that are not.",
        "scalar",
        "scalar",
    ),
    OpDef("trap_if", "Traps when the scalar bool holds.", "bool", effect="sync", attrs=("message",)),
    # Packed words, of 32-bit integers of either sign
    OpDef(
        "dp4a",
        "acc + the sum of the four products of the bytes of a and of b, wrapping. `unsigned` says whether the bytes of "
        "a, and whether those of b, are.",
        "a, b, i32 acc",
        "i32",
        optional=("unsigned",),
    ),
    OpDef("byteperm", "Byte i is that of the eight bytes of a and b that nibble i of c says.", "a, b, c", "u32"),
    OpDef("popcount", "The number of set bits.", "a", "i32"),
    OpDef("f16bits", "The f16 whose bits are the low 16.", "a", "f16"),
    # Control. Carried values follow the fixed operands, are the block arguments (after the loop variable) and results.
    OpDef(
        "for",
        "for (i = lo; i < hi; i += step). Region: (i, carried..), yields carried. step is positive. `until` has "
        "numbers of carried bools: once one is true, the iterations left change nothing, and need not be run.",
        "lo, hi, step, carried..",
        "carried..",
        regions=1,
        optional=("unroll", "unrolled", "whole", "until"),
        effect="control",
    ),
    OpDef(
        "while",
        "Regions: condition (carried..) yields (bool, carried..); body (carried..) yields carried. Results are the "
        "carried values that the condition yields when it is false.",
        "carried..",
        "carried..",
        regions=2,
        effect="control",
    ),
    OpDef(
        "if",
        "Regions: then and else, no arguments, both yield the results. `remainder`: of a split loop, runs once.",
        "bool",
        "any..",
        optional=("remainder",),
        regions=2,
        effect="control",
    ),
    OpDef("yield", "Ends a region.", "any..", effect="control"),
)

OPS: Mapping[str, OpDef] = {op.name: op for op in _TABLE}
