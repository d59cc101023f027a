"""The state of checking one kernel, and the few operations on it that every rule uses.

A rule is a function `(cx, node, at) -> program node or None`; None means that the mistake was reported already and
that nothing built on the value is worth another message. `RULES` of the modules beside this one are put together in
`kernel`, so that each module can check a sub-expression with `infer` and none imports the others for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.constraints import Constraint
from phobos_core.analysis.damage import UNDAMAGED, Damage
from phobos_core.analysis.functions import KnownFunction
from phobos_core.analysis.library import EVERY_NAME, Library
from phobos_core.analysis.places import diagnostic
from phobos_core.analysis.places import see as see
from phobos_core.analysis.scopes import Scope
from phobos_core.analysis.symbolic import Sym
from phobos_core.language.diagnostic import Diagnostic, Related, Severity
from phobos_core.language.records import dataclass
from phobos_core.language.types import ScalarType
from phobos_core.syntax import ast

Shape: TypeAlias = tuple[Sym, ...]
Rule: TypeAlias = Callable[["Context", Any, "Site"], "pg.Expr | None"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line fixes: `dims` binds dimensions and overrides `@autotune` names."""

    dims: Mapping[str, int]
    target: str
    index_bits: int


@dataclass(frozen=True, slots=True)
class Site:
    """Where an expression stands, as far as a rule depends on it.

    `shape` is that of the tile being assigned, which `iota` needs; `whole` marks its whole value (or a branch of a
    `where` that is), the only place of a tile `where`; `condition` marks the condition of a `where`, the only place
    of tile comparisons; `inside` names the built-in that computes this argument before the assignment's sweep, and
    `one_element` says that it reads tiles of one element type. `inferred` says that the assigned tile takes its shape
    from the value, and `lost` that what is assigned is in error. `runs` is there in the value that `sum(e)` adds up per
    element, and collects the runs that it reads.
    """

    shape: Shape | None = None
    whole: bool = False
    condition: bool = False
    inside: str | None = None
    one_element: bool = False
    inferred: bool = False
    lost: bool = False
    runs: list[pg.Place] | None = None

    @property
    def part(self) -> Site:
        """The site of an operand."""
        if not (self.whole or self.condition):
            return self
        return Site(self.shape, False, False, self.inside, self.one_element, self.inferred, self.lost, self.runs)


PLAIN = Site()
LOST = Site(whole=True, lost=True)


@dataclasses.dataclass(slots=True)
class Context:
    """Everything that grows while one kernel is checked."""

    options: Options
    # Those of the kernel's own text, or of the body of an inlined function.
    rules: Mapping[type, Rule]
    inlined_rules: Mapping[type, Rule]
    library: Library
    damage: Damage = UNDAMAGED
    scope: Scope = field(default_factory=Scope)
    search: dict[str, tuple[int, ...]] = field(default_factory=dict)
    dims: dict[str, pg.Symbol] = field(default_factory=dict)
    threads: int = 256
    persistent: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    requires: dict[str, pg.Requirement] = field(default_factory=dict)
    references: list[tuple[ast.Span, pg.Symbol]] = field(default_factory=list)
    symbols: list[pg.Symbol] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    out: list[pg.Stmt] = field(default_factory=list)
    # What an immutable scalar was bound to, and the extents that this gives.
    definitions: dict[pg.Symbol, pg.Expr] = field(default_factory=dict)
    values: dict[pg.Symbol, Sym] = field(default_factory=dict)
    # The memory that a view leads to.
    roots: dict[pg.Symbol, pg.Symbol] = field(default_factory=dict)
    # A view of a whole tile, or of its `flat`, and what it is of.
    aliases: dict[pg.Symbol, pg.Place] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    # Each call of a function.
    calls: list[tuple[ast.Span, str]] = field(default_factory=list)
    # Levels of the bodies around what is being checked, and all nodes that were inlined.
    inlined_height: int = 0
    inlined_size: int = 0
    # Each unknown name that was reported, with the inlined body that it stands in.
    unknown: set[tuple[str, ast.Frame | None]] = field(default_factory=set)
    loops: int = 0
    # Loops around the statement whose head has a syntax error, which may have swallowed the loop variable.
    lost_loops: int = 0
    # `if` and `while` around the statement, and where each tile was declared in them.
    branches: int = 0
    declared_at: dict[pg.Symbol, int] = field(default_factory=dict)
    # Every `var t: tile<T>[dims] = e`, which `@registers` may name.
    register_candidates: set[pg.Symbol] = field(default_factory=set)
    conditional_updates: dict[pg.Symbol, ast.Span] = field(default_factory=dict)
    # Whether anything may differ between threads, or is stored by each of them.
    per_thread: bool = False
    iota_met: bool = False

    def error(
        self,
        code: str,
        span: ast.Span,
        message: str,
        *,
        related: tuple[Related, ...] = (),
        help: str | None = None,
        severity: Severity = "error",
    ) -> None:
        """Reports, and returns None, the value of an expression that is in error."""
        self.diagnostics.append(diagnostic(code, severity, span, message, related, help))

    def function(self, name: str) -> KnownFunction | None:
        """The function of that name. That it was asked for is remembered: the result depends on the answer."""
        self.called.add(name)
        return self.library.known.get(name)

    def function_names(self) -> Iterable[str]:
        """The names of all functions, of which the result then depends."""
        self.called.add(EVERY_NAME)
        return self.library.known

    def lost_function(self, name: str) -> bool:
        """Whether a syntax error may have swallowed a function; depends on all of them too."""
        self.called.add(EVERY_NAME)
        return self.library.lost.may_hide(name)

    def symbol(
        self, name: ast.Name, kind: pg.SymbolKind, type_: pg.SymbolType, *, mutable: bool = False, hidden: bool = False
    ) -> pg.Symbol:
        """A new symbol with a key of its own; the caller binds it in a scope."""
        count = self.keys.get(name.text, 0)
        self.keys[name.text] = count + 1
        key = f"{name.text}#{count}" if count or hidden else name.text
        symbol = pg.Symbol(name.text, key, kind, type_, name.span, mutable)
        if not hidden:
            self.symbols.append(symbol)
            self.references.append((name.span, symbol))
        return symbol

    def bind(self, name: ast.Name, symbol: pg.Symbol | None) -> None:
        """Binds in the innermost scope; None binds the name to a mistake already reported."""
        previous = self.scope.declare(name, symbol)
        if previous is not None:
            earlier = previous.symbol
            what = f"`{name.text}`, {kind_text(earlier.kind)}," if earlier is not None else f"`{name.text}`"
            self.error(
                "duplicate-name",
                name.span,
                f"{what} is already declared in this scope",
                related=(see(previous.span, "declared here"),),
                help="choose another name",
            )


def infer(cx: Context, node: ast.Expr, at: Site = PLAIN) -> pg.Expr | None:
    """The checked form of an expression, or None where it is in error."""
    return cx.rules[type(node)](cx, node, at)


def declared_as(symbol: pg.Symbol | None) -> tuple[Related, ...]:
    """Where a symbol was declared, and with which type."""
    return () if symbol is None else (see(symbol.span, f"`{symbol.name}` is `{type_text(symbol.type)}`"),)


def element_of(type_: pg.ValueType) -> ScalarType:
    # Asked for every node; `type(..) is` is faster than isinstance, and does not narrow.
    return type_.element if type(type_) is pg.TileType else type_  # type: ignore[return-value]


def kind_text(kind: pg.SymbolKind) -> str:
    """`a tile`, `an @autotune name`: how a message speaks of a symbol."""
    return f"{'an' if kind is pg.SymbolKind.CONSTANT else 'a'} {kind.value}"


def shape_text(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


def type_text(type_: pg.SymbolType) -> str:
    match type_:
        case pg.TileType(element, shape):
            return f"tile<{element}>{shape_text(shape)}"
        case pg.TensorType(element, dims, _):
            return f"tensor<{element}>{shape_text(dims)}"
    return str(type_)
