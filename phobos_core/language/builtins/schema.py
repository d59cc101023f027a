"""What an entry of the built-in table carries.

In: nothing. Out: the record types `Builtin`, `Form`, `Param`, `Result`, `Bracket`, and short constructors for
them. They exist so that one entry can be read by the checker, the uniformity rules, hover, completion,
signature help, the reference pages and the backends, none of which keeps a list of names of its own. They are
named tuples, which take a tenth of a dataclass's time to define: this package is part of every start.

Shapes are tuples of extents in order. An extent is a symbol (`M`), a number (`128`), or a chain of symbols
and numbers joined by `*` and `/`, read from left to right (`K/256*50`). A symbol means one extent throughout
a form: its first appearance binds it, later ones must agree. An element type is a `ScalarType`, or a type
variable (`T`) with the same rule, or `join(T, U)`, the join of two variables.
"""

from enum import Enum
from typing import NamedTuple

from phobos_core.language.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    INDEX,
    U8,
    U16,
    U32,
    ScalarType,
)

FLOATS = (F16, BF16, F32, F64)
SIGNED = (I8, I32, I64)
UNSIGNED = (U8, U16, U32)
NUMBERS = FLOATS + SIGNED
STORED = NUMBERS + UNSIGNED
INTEGERS = (*SIGNED, INDEX)
SCALARS = (*FLOATS, *SIGNED, INDEX)


class OperandKind(Enum):
    """What may stand as an argument. The value is how messages and pages call it."""

    SCALAR = "a scalar"
    TILE = "a tile"  # a declared tile, a statically shaped slice, or an elementwise expression over them
    NAMED_TILE = "a declared tile"
    SLICE = "a slice"
    TENSOR = "a tensor parameter"
    RUN = "a run of elements"  # a slice whose one `:+` span has a constant length, read by one thread
    PER_ELEMENT = "a per-element expression over runs"
    CONSTANT = "a constant"
    CONDITION = "a condition"
    FUNCTION = "an expression function"


class Scope(Enum):
    """Who must reach a call together: each thread alone, every lane of a warp, or every thread of the CTA."""

    THREAD = "thread"
    WARP = "warp"
    CTA = "cta"


class Use(Enum):
    VALUE = "a value"
    STATEMENT = "a statement"
    EITHER = "a statement or a value"


class Section(Enum):
    """The section of the spec, in its order, that defines a built-in."""

    OPERATORS = "Operators and conversions"
    COLLECTIVES = "Collectives and shuffles"
    SYNCHRONIZATION = "Indexing and synchronization"
    ELEMENTWISE = "Elementwise"
    REDUCTIONS = "Reductions and shape"
    CONTRACTION = "Dense contraction"
    ATTENTION = "Attention"
    QUANTIZED = "Quantized built-ins"


class Param(NamedTuple):
    """One parameter. `elements` are the element types allowed; `variable` names the type it binds."""

    name: str
    accepts: tuple[OperandKind, ...]
    doc: str
    elements: tuple[ScalarType, ...] = ()
    variable: str = ""
    shape: tuple[str, ...] | None = None
    uniform: bool = False
    optional: bool = False
    variadic: bool = False

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)


class Result(NamedTuple):
    """`shape` is `None` for a scalar, and for a tile whose shape `doc` gives in words."""

    doc: str
    element: ScalarType | str
    tile: bool = False
    shape: tuple[str, ...] | None = None


class Form(NamedTuple):
    """One way to call a built-in.

    `scope` is `CTA` for a form that runs once per CTA. `dynamic` lists the symbols whose extent need not be
    static; `multiples` the symbols that must be a multiple of a number. An `assigned_only` form stands only inside
    the value assigned to a tile.
    """

    params: tuple[Param, ...]
    result: Result
    scope: Scope = Scope.THREAD
    dynamic: tuple[str, ...] = ()
    multiples: tuple[tuple[str, int], ...] = ()
    assigned_only: bool = False

    @property
    def shape_text(self) -> str:
        """`[M, K] x [K, N] -> [M, N]`, or nothing where the shapes are not symbolic."""
        if self.result.shape is None:
            return ""
        sides = [bracketed(p.shape) for p in self.params if p.shape is not None]
        return f"{' x '.join(sides)} -> {bracketed(self.result.shape)}"

    @property
    def least_arguments(self) -> int:
        return sum(not (p.optional or p.variadic) for p in self.params)

    @property
    def most_arguments(self) -> int | None:
        """`None` where there is no limit."""
        return None if any(p.variadic for p in self.params) else len(self.params)


class Bracket(NamedTuple):
    """One choice for the angle brackets of a collective or shuffle.

    `operand` is what follows the word: a `ctx` field as written, or `index` for any index expression.
    """

    word: str
    operand: str
    scope: Scope
    width: bool
    doc: str


class Builtin(NamedTuple):
    """`min_target` is the least `sm_` number (0: every target); `threads` the CTA size it insists on.

    `supported` says whether the compiler builds it today; a call of any other is the diagnostic
    `not-supported-yet`.
    """

    name: str
    section: Section
    forms: tuple[Form, ...]
    summary: str
    example: str
    notes: tuple[str, ...] = ()
    use: Use = Use.VALUE
    brackets: tuple[Bracket, ...] = ()
    min_target: int = 0
    min_index_bits: int = 32
    threads: int | None = None
    supported: bool = True

    @property
    def once_per_cta(self) -> bool:
        """True where every form runs once per CTA."""
        return all(form.scope is Scope.CTA for form in self.forms)

    @property
    def uniform_operands(self) -> frozenset[str]:
        return frozenset(p.name for form in self.forms for p in form.params if p.uniform)

    def signature(self, form: Form) -> str:
        """The call as the spec writes it: `dot_t(a, b)`, `sum<over ctx.lane>(x)`."""
        bracket = f"<{self.brackets[0].word} {self.brackets[0].operand}>" if self.brackets else ""
        return f"{self.name}{bracket}({', '.join(parameter_text(p) for p in form.params)})"


def bracketed(shape: tuple[str, ...]) -> str:
    return f"[{', '.join(shape)}]"


def parameter_text(param: Param) -> str:
    text = f"{param.name}.." if param.variadic else param.name
    return f"[{text}]" if param.optional else text


def extents(shape: str) -> tuple[str, ...]:
    """`"M, K/32"` as a shape."""
    return tuple(shape.split(", "))


def scalar(name: str, doc: str, elements: tuple[ScalarType, ...], variable: str = "") -> Param:
    return Param(name, (OperandKind.SCALAR,), doc, elements, variable)


def uniform_scalar(name: str, doc: str, elements: tuple[ScalarType, ...]) -> Param:
    return Param(name, (OperandKind.SCALAR,), doc, elements, uniform=True)


def tile(name: str, doc: str, elements: tuple[ScalarType, ...], variable: str = "", shape: str | None = None) -> Param:
    return Param(name, (OperandKind.TILE,), doc, elements, variable, extents(shape) if shape else None)


def scalar_or_tile(name: str, doc: str, elements: tuple[ScalarType, ...], variable: str = "") -> Param:
    return Param(name, (OperandKind.TILE, OperandKind.SCALAR), doc, elements, variable)


def scalar_result(doc: str, element: ScalarType | str) -> Result:
    return Result(doc, element)


def tile_result(doc: str, element: ScalarType | str, shape: str | None = None) -> Result:
    return Result(doc, element, True, extents(shape) if shape else None)
