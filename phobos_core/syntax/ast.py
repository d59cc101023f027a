"""The typed syntax tree: what the grammar of the spec means, one frozen node class per production.

Spans are UTF-8 byte offsets relative to the start of the top-level item (kernel or function) that the node
belongs to, so an item's tree depends on its own text alone and is shared by every file version that contains
that text. `SourceFile` places the items; only it holds absolute offsets.

A function is inlined at each of its calls: its body is copied for the call, with spans that name it (`Frame`).

Parentheses leave no node: the tree's shape says what they said. Where the text was broken, an `ErrorExpr` or
`ErrorStmt` stands in, for which the parser has already reported a diagnostic; later stages stay silent on it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from phobos_core.language.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One inlining of a function: its text, copied for the call at `call`. Compared by identity."""

    function: str
    call: Span


class Span(NamedTuple):
    """Half-open range of UTF-8 byte offsets.

    `frame` tells whose text it counts in: that of a function that was inlined, or, where it is None, of the item that
    is looked at. `stands` is where an expression stands that was written elsewhere: the parameter in a body that the
    argument came in place of, or the call that has the body's value. What is said of an operand is said there.
    """

    start: int
    end: int
    frame: Frame | None = None
    stands: Span | None = None

    def shifted(self, offset: int) -> Span:
        return Span(self.start + offset, self.end + offset)

    @property
    def item(self) -> str:
        """The name of the function whose text it is; empty for the item that is looked at."""
        return "" if self.frame is None else self.frame.function

    @property
    def own(self) -> Span:
        """The expression's own text."""
        start, end, frame, stands = self
        return self if stands is None else tuple.__new__(Span, (start, end, frame, None))

    @property
    def shown(self) -> Span:
        """The text that the operation around it has at this place."""
        return self.stands or self


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier, both where it is bound and where it is read as an expression."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class IntLit:
    span: Span
    value: int


@dataclass(frozen=True, slots=True)
class FloatLit:
    span: Span
    value: float


@dataclass(frozen=True, slots=True)
class BoolLit:
    span: Span
    value: bool


@dataclass(frozen=True, slots=True)
class CtxField:
    """`ctx.thread` has field "thread"; `ctx.block.x` has field "block.x"."""

    span: Span
    field: str


@dataclass(frozen=True, slots=True)
class Unary:
    span: Span
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    span: Span
    op: str
    op_span: Span
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True, slots=True)
class PointSub:
    """`A[i]`"""

    span: Span
    index: Expr


@dataclass(frozen=True, slots=True)
class RangeSub:
    """`A[s : e]`, `A[s :]`, `A[: e]`, `A[:]`"""

    span: Span
    start: Expr | None
    end: Expr | None


@dataclass(frozen=True, slots=True)
class SpanSub:
    """`A[s :+ n]`"""

    span: Span
    start: Expr
    length: Expr


Subscript: TypeAlias = PointSub | RangeSub | SpanSub


@dataclass(frozen=True, slots=True)
class Index:
    span: Span
    base: Expr
    subscripts: tuple[Subscript, ...]


@dataclass(frozen=True, slots=True)
class Call:
    span: Span
    callee: Expr
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """`sum<over ctx.lane, width 8>(x)` and `shfl<xor 1>(x)`.

    `mode` is the first word in the brackets; `operand` is what follows it (a `CtxField` for `over`).
    """

    span: Span
    op: Name
    mode: Literal["over", "from", "xor", "down", "up"]
    operand: Expr
    width: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ErrorExpr:
    span: Span


Expr: TypeAlias = Name | IntLit | FloatLit | BoolLit | CtxField | Unary | Binary | Index | Call | Collective | ErrorExpr


@dataclass(frozen=True, slots=True)
class ScalarTypeExpr:
    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class ShapedTypeExpr:
    """`tensor<T>[dims]` and `tile<T>[dims]`."""

    span: Span
    constructor: Literal["tensor", "tile"]
    element: ScalarTypeExpr
    dims: tuple[Name | IntLit, ...]


@dataclass(frozen=True, slots=True)
class ErrorTypeExpr:
    """An unknown type name or broken type, already reported."""

    span: Span


TypeExpr: TypeAlias = ScalarTypeExpr | ShapedTypeExpr | ErrorTypeExpr


@dataclass(frozen=True, slots=True)
class Block:
    span: Span
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Let:
    span: Span
    name: Name
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Var:
    span: Span
    name: Name
    type: TypeExpr | None
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assign:
    """`op` is "=", "+=" or another compound assignment as written."""

    span: Span
    target: Name | Index
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    span: Span
    unroll: Expr | None
    var: Name
    lo: Expr
    hi: Expr
    step: Expr | None
    body: Block


@dataclass(frozen=True, slots=True)
class While:
    span: Span
    condition: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class If:
    span: Span
    condition: Expr
    then: Block
    orelse: Block | If | None


@dataclass(frozen=True, slots=True)
class Jump:
    span: Span
    kind: Literal["break", "continue", "return"]


@dataclass(frozen=True, slots=True)
class ExprStmt:
    span: Span
    value: Expr


@dataclass(frozen=True, slots=True)
class ErrorStmt:
    span: Span


Stmt: TypeAlias = Let | Var | Assign | For | While | If | Jump | ExprStmt | ErrorStmt


@dataclass(frozen=True, slots=True)
class SearchArg:
    """`TILE_M in [64, 128]`"""

    span: Span
    name: Name
    choices: tuple[IntLit, ...]


@dataclass(frozen=True, slots=True)
class KeywordArg:
    """`M = TILE_M`"""

    span: Span
    name: Name
    value: Name | IntLit | FloatLit | BoolLit


@dataclass(frozen=True, slots=True)
class PositionalArg:
    """`256`, `wmma`"""

    span: Span
    value: Name | IntLit | FloatLit | BoolLit


AttrArg: TypeAlias = SearchArg | KeywordArg | PositionalArg


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name.span` covers the identifier without the `@`; `span` covers all of it."""

    span: Span
    name: Name
    args: tuple[AttrArg, ...]


@dataclass(frozen=True, slots=True)
class Param:
    span: Span
    name: Name
    type: TypeExpr


@dataclass(frozen=True, slots=True)
class Kernel:
    """`span` starts at 0: at the first attribute, or at `kernel`."""

    span: Span
    attributes: tuple[Attribute, ...]
    name: Name
    params: tuple[Param, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Function:
    span: Span
    name: Name
    params: tuple[Name, ...]
    body: Expr | Block


Item: TypeAlias = Kernel | Function


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """`offset` is where the item's first byte stands in the file, `text` what the item is in it."""

    offset: int
    item: Item
    text: bytes
