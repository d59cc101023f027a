"""The checked program: what `analysis` hands to `reference` and `lower`.

Every name is resolved to a `Symbol`, every implicit conversion is an explicit `Convert`, every built-in is a node of
its own, functions are inlined, and shapes are symbolic (`Sym`): the program is generic in the `@autotune` names and
in the dynamic dimensions. Nothing here depends on how the kernel will be compiled.

Element-wise nodes serve scalars and tiles alike: the type of a node is a `ScalarType`, or a `TileType` whose shape is
the NumPy-style broadcast of its operands. A scalar operand of a tile node keeps its scalar type and broadcasts.
The operands of one arithmetic node have one element type. `TileType(BOOL, ...)` occurs inside `Select` conditions only.

Spans are relative to the kernel item; those of an inlined body are relative to the function's, and name the call (see
`syntax.ast`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias

from phobos_core.analysis.symbolic import Sym
from phobos_core.language.context import Variation
from phobos_core.language.records import dataclass
from phobos_core.language.types import ScalarType
from phobos_core.syntax.ast import Span


@dataclass(frozen=True, slots=True)
class TileType:
    element: ScalarType
    shape: tuple[Sym, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """`names` has each dimension as the source names it, None for a literal: `-D` makes a constant of its `dims` entry,
    but what `@aligned` promises of it holds on."""

    element: ScalarType
    dims: tuple[Sym, ...]
    names: tuple[str | None, ...] = ()


ValueType: TypeAlias = ScalarType | TileType
SymbolType: TypeAlias = ScalarType | TileType | TensorType


class SymbolKind(Enum):
    TENSOR = "tensor parameter"
    SCALAR_PARAM = "scalar parameter"
    DIM = "dimension"  # dynamic: bound at launch or by -D
    CONSTANT = "@autotune name"
    SCALAR = "scalar"  # let or var
    LOOP = "loop variable"
    TILE = "tile"  # var, or a let with a value of its own: read-only
    VIEW = "view"  # let of a slice or of a bare tile: an alias


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """One binding. Compared by identity. `key` is unique in the kernel and names the symbol in `Sym`s."""

    name: str
    key: str
    kind: SymbolKind
    type: SymbolType
    span: Span
    mutable: bool = False


# Expressions. `type` is a ScalarType unless said otherwise.


@dataclass(frozen=True, slots=True)
class Const:
    """A literal or folded constant, already in its type: int, float or bool.

    `exact` is a float literal as it was written, where its type rounds it."""

    span: Span
    type: ScalarType
    value: int | float | bool
    exact: float | None = None


@dataclass(frozen=True, slots=True)
class SymConst:
    """A name or expression over dimensions and `@autotune` names only, as an index."""

    span: Span
    type: ScalarType
    value: Sym


@dataclass(frozen=True, slots=True)
class ScalarRead:
    span: Span
    type: ScalarType
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class CtxRead:
    """`ctx.<field>`, with field as in `syntax.ast.CtxField`."""

    span: Span
    type: ScalarType
    field: str


@dataclass(frozen=True, slots=True)
class Axis:
    """One subscript, resolved: the elements start <= i < start + extent of the axis of the place below.

    `point` is `A[i]` (extent 1). `unmasked` marks `A[s:]` and `A[:]`, which cannot pass the end. `extent` is over
    dimensions, `@autotune` names and keys of immutable scalars; in a tile expression it is static. `length` is there
    where it is not: the length or the end that the source gives, of which `extent` is made.
    """

    start: Expr
    extent: Sym
    point: bool
    unmasked: bool
    length: Expr | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Memory named in the source: all of `root`, or the part that `axes` select.

    `root` is a tensor parameter, a tile, or a view (whose own place was bound by `BindView`; its offsets were
    evaluated there). `flat` reads a tile [R, C] as [1, R * C] before `axes` apply.
    """

    span: Span
    root: Symbol
    element: ScalarType
    shape: tuple[Sym, ...]
    axes: tuple[Axis, ...] | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """One element (all axes of `place` are points). An integer element of any width widens to `type` = index."""

    span: Span
    type: ScalarType
    place: Place


@dataclass(frozen=True, slots=True)
class TileRead:
    """The tile of elements at `place`; `type` is a TileType of the element type as stored."""

    span: Span
    type: TileType
    place: Place


@dataclass(frozen=True, slots=True)
class Convert:
    """To the element type of `type`: float rounding to nearest even, float to integer truncating and saturating
    (NaN to 0), integers wrapping, unsigned storage zero-extending."""

    span: Span
    type: ValueType
    operand: Expr


UnaryOp: TypeAlias = Literal["-", "!", "~"]
BinaryOp: TypeAlias = Literal["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max", "&&", "||"]
CompareOp: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
MathOp: TypeAlias = Literal["exp", "log", "pow", "sqrt", "rsqrt", "tanh", "sin", "cos", "round", "floor", "ceil", "abs"]


@dataclass(frozen=True, slots=True)
class Unary:
    span: Span
    type: ValueType
    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic in the element type of `type`, which both operands have; `tmax` is "max"."""

    span: Span
    type: ValueType
    op: BinaryOp
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """`type` is BOOL or a TileType of BOOL; both operands have one element type."""

    span: Span
    type: ValueType
    op: CompareOp
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`where(c, a, b)`, and `argsel(va, vb, ia, ib)` as `va >= vb ? ia : ib` (its NaN rule: the second)."""

    span: Span
    type: ValueType
    condition: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Math:
    """Computed in f32 and rounded to the element type, except "abs", which stays in its own type."""

    span: Span
    type: ValueType
    op: MathOp
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Iota:
    """The element's index along `axis` of the tile assigned; `type` is TileType(I32, shape of that tile)."""

    span: Span
    type: TileType
    axis: int


@dataclass(frozen=True, slots=True)
class Reduce:
    """[R, C] -> [R, 1] over the element-wise expression `operand`; "rowargmax" gives I32."""

    span: Span
    type: TileType
    op: Literal["rowmax", "rowsum", "rowargmax"]
    operand: Expr


@dataclass(frozen=True, slots=True)
class Shape:
    """`cumsum`, `tril` and `transpose` of a rank-2 tile expression."""

    span: Span
    type: TileType
    op: Literal["cumsum", "tril", "transpose"]
    operand: Expr


@dataclass(frozen=True, slots=True)
class Gather:
    """out[i] = table[idx[i]]; `table` has shape [n] or [1, n]; `indices` is an integer tile expression."""

    span: Span
    type: TileType
    table: Place
    indices: Expr


@dataclass(frozen=True, slots=True)
class Contract:
    """`dot` ([M, K] x [K, N]) and `dot_t` ([M, K] x [N, K]); the K extents may be dynamic.

    Operands have one element type: f16, bf16, f32 or f64, or i8 for `dot_t`. The sum is in f32 for f16, bf16 and
    f32 (f64 for f64, i32 for i8); `type` has that accumulator as its element, and a `Convert` around the node rounds
    once where the destination is narrower.
    """

    span: Span
    type: TileType
    op: Literal["dot", "dot_t"]
    lhs: Expr
    rhs: Expr


# What each thread computes on its own, and what it exchanges with others.


@dataclass(frozen=True, slots=True)
class RunElement:
    """In the operand of a `RunSum`: the element of a thread's own run at the position being summed.

    One axis of `place` is the run, of constant extent; the others are points. `place` is a tensor, a whole shared tile
    or its flat view. Widened as a `Load` is; not masked."""

    span: Span
    type: ScalarType
    place: Place


@dataclass(frozen=True, slots=True)
class RunSum:
    """`sum(e)`: the sum over the `length` positions of the runs in `operand`, integers as index, floats in f32 (f64
    in f64)."""

    span: Span
    type: ScalarType
    operand: Expr
    length: Sym


@dataclass(frozen=True, slots=True)
class Elem:
    """`elem(run, i)`: one element of a thread's run, widened as a `Load` is."""

    span: Span
    type: ScalarType
    place: Place
    position: Sym


@dataclass(frozen=True, slots=True)
class Word:
    """`word(run, t)`: bytes 4t .. 4t + 3 of a run of i8 as the little-endian word they pack, unsigned, as an index."""

    span: Span
    type: ScalarType
    place: Place
    position: Sym


BitsOp: TypeAlias = Literal["dp4a", "byteperm", "popcount", "f16bits"]


@dataclass(frozen=True, slots=True)
class Bits:
    """Operations on packed words. Arguments are index scalars; "f16bits" gives f16, the others an index."""

    span: Span
    type: ScalarType
    op: BitsOp
    args: tuple[Expr, ...]


CollectiveOp: TypeAlias = Literal["sum", "max", "min", "any", "all", "argmax", "reduce"]
Group: TypeAlias = Literal["lane", "thread"]


@dataclass(frozen=True, slots=True)
class Combine:
    """The function of a `reduce<over ..>`, its parameters bound to two scalars of the folded type."""

    first: Symbol
    second: Symbol
    value: Expr


@dataclass(frozen=True, slots=True)
class Collective:
    """The fold of one scalar per thread over the warp (or each `width`-lane piece of it), or over the CTA.

    `combine` is there for "reduce" only; "argmax" gives the lane within the piece, or the thread, as an index."""

    span: Span
    type: ScalarType
    op: CollectiveOp
    group: Group
    value: Expr
    width: Sym | None = None
    combine: Combine | None = None


ShuffleMode: TypeAlias = Literal["from", "xor", "down", "up"]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """`value` of another lane of the warp, or of the `width`-lane piece; a source outside reads the lane's own."""

    span: Span
    type: ScalarType
    mode: ShuffleMode
    value: Expr
    source: Expr
    width: Sym | None = None


AtomicOp: TypeAlias = Literal["atomic_add", "atomic_cas", "load_acquire", "store_release"]


@dataclass(frozen=True, slots=True)
class Atomic:
    """Once per block, every thread getting the result. `place` is a point of a tensor parameter; `args` what follows
    it in the call, in the element type. Has effects: happens where it stands, operands left to right."""

    span: Span
    type: ScalarType
    op: AtomicOp
    place: Place
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """`barrier()` of the CTA, or `grid_barrier(bar)` of the grid, whose i32 counter tensor is `bar`. Gives index 0."""

    span: Span
    type: ScalarType
    op: Literal["barrier", "grid_barrier"]
    bar: Place | None = None


@dataclass(frozen=True, slots=True)
class WarpPartial:
    """One decode step of attention, each warp on its share of the keys `lo` .. `hi`. Gives index 0.

    `q` [QG, D] is a tile; `keys` and `values` f16 tensors [NK, KW]; `maxima` and `sums` f32 tiles [QG, W],
    `accumulators` [QG * W, D], with W the warps of the CTA."""

    span: Span
    type: ScalarType
    q: Place
    keys: Place
    values: Place
    lo: Expr
    hi: Expr
    col: Expr
    maxima: Place
    sums: Place
    accumulators: Place
    scale: Expr


Expr: TypeAlias = (
    Const
    | SymConst
    | ScalarRead
    | CtxRead
    | Load
    | TileRead
    | Convert
    | Unary
    | Binary
    | Compare
    | Select
    | Math
    | Iota
    | Reduce
    | Shape
    | Gather
    | Contract
    | RunElement
    | RunSum
    | Elem
    | Word
    | Bits
    | Collective
    | Shuffle
    | Atomic
    | Sync
    | WarpPartial
)


# Statements.


@dataclass(frozen=True, slots=True)
class BindScalar:
    """`let` or `var` of a scalar."""

    span: Span
    symbol: Symbol
    value: Expr


@dataclass(frozen=True, slots=True)
class AssignScalar:
    span: Span
    symbol: Symbol
    value: Expr


@dataclass(frozen=True, slots=True)
class BindView:
    """`let` of a slice or a bare tile: offsets are evaluated here, elements at each read.

    The inner one of two slices in a row is bound too, to a view that the source does not name."""

    span: Span
    symbol: Symbol
    place: Place

    @property
    def is_named(self) -> bool:
        return self.span != self.symbol.span


@dataclass(frozen=True, slots=True)
class DeclareTile:
    """A tile of its own; `value` None leaves it uninitialised. A scalar value broadcasts."""

    span: Span
    symbol: Symbol
    value: Expr | None


@dataclass(frozen=True, slots=True)
class StoreTile:
    """`place = value`, in the element type of the place; a value of extent 1 on an axis, or a scalar, broadcasts.

    The value is evaluated whole before anything is stored. With `accumulate`, the place's offsets are evaluated
    once and `place + value` is stored. (`x op= e` for other operators arrives as a plain store that reads x again.)
    """

    span: Span
    place: Place
    value: Expr
    accumulate: bool = False


@dataclass(frozen=True, slots=True)
class StorePoint:
    """One element, in the element type of the place. With `accumulate`, `place + value` is stored.

    `per_thread`: by each thread that comes here for itself, since index, value or control differs between threads; else
    once per CTA. Written by `uniformity`."""

    span: Span
    place: Place
    value: Expr
    accumulate: bool = False
    per_thread: bool = False


@dataclass(frozen=True, slots=True)
class StoreRun:
    """`store(run, v0, ..)`: a thread's own store of a value to each element of its run, in the element type."""

    span: Span
    place: Place
    values: tuple[Expr, ...]


# `control` of an `if` or loop says how far the control of its blocks, where they begin, differs between threads: by
# what is around it, its own condition or bounds, and who has left the loop. Written by `uniformity`.


@dataclass(frozen=True, slots=True)
class If:
    span: Span
    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    control: Variation = Variation.UNIFORM


@dataclass(frozen=True, slots=True)
class For:
    """Bounds are index expressions, evaluated once. `unroll` is a symbolic constant, 1 for a plain loop."""

    span: Span
    symbol: Symbol
    lo: Expr
    hi: Expr
    step: Expr
    unroll: Sym
    body: tuple[Stmt, ...]
    control: Variation = Variation.UNIFORM


@dataclass(frozen=True, slots=True)
class While:
    span: Span
    condition: Expr
    body: tuple[Stmt, ...]
    control: Variation = Variation.UNIFORM


@dataclass(frozen=True, slots=True)
class Jump:
    span: Span
    kind: Literal["break", "continue", "return"]


@dataclass(frozen=True, slots=True)
class Eval:
    """An expression statement."""

    span: Span
    value: Expr


Stmt: TypeAlias = (
    BindScalar
    | AssignScalar
    | BindView
    | DeclareTile
    | StoreTile
    | StorePoint
    | StoreRun
    | If
    | For
    | While
    | Jump
    | Eval
)


@dataclass(frozen=True, slots=True)
class Launch:
    threads: int = 256
    min_blocks: int | None = None
    max_registers: int | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A relation that only the launch can check; `text` as the report prints it (`KB == K / 32`)."""

    lhs: Sym
    op: Literal["==", "<=", "multiple of"]
    rhs: Sym
    text: str


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """`dims` are the dynamic dimensions in order of first appearance: one index parameter each after `params`.

    `search` gives the choices of each `@autotune` name, in declaration order; a configuration binds each to one.
    `aligned` maps a dimension, dynamic or bound, to the extent it is promised to be a multiple of.
    """

    name: str
    span: Span
    name_span: Span
    params: tuple[Symbol, ...]
    dims: tuple[str, ...]
    search: Mapping[str, tuple[int, ...]]
    cluster: Mapping[str, tuple[int, ...]]
    launch: Launch
    aligned: Mapping[str, Sym]
    tensorcore: Literal["auto", "wmma", "sync"] | None
    pipeline: bool
    padstage: bool
    dynshared: bool
    persistent: bool
    registers: tuple[Symbol, ...]
    body: tuple[Stmt, ...]
    requires: tuple[Requirement, ...] = ()
    notes: tuple[str, ...] = field(default=())
