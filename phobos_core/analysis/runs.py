"""A thread's own runs of elements: `sum(e)`, `elem`, `word` and `store`.

A run is a slice with one span of a constant length, `W[col, k :+ 16]`, and points beside it, of a tensor, of a whole
tile, or of a tile's `flat()` view. It is no tile: each thread has its own. Inside `sum(e)`, where `Site.runs` is there,
such a slice stands for its element at the position that is being summed, and everything else is a scalar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from phobos_core.analysis import program as pg
from phobos_core.analysis import subscripts
from phobos_core.analysis.arguments import count_fits
from phobos_core.analysis.constants import is_static, value_of
from phobos_core.analysis.context import PLAIN, Context, Rule, Site, infer, see, type_text
from phobos_core.analysis.convert import convert
from phobos_core.analysis.declarations import fitted_scalar
from phobos_core.analysis.names import lookup
from phobos_core.analysis.shapes import constrain
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.language.builtins import BUILTINS, Builtin, Use
from phobos_core.language.types import BOOL, F32, F64, I8, INDEX
from phobos_core.syntax import ast

SHAPE = "a run is a slice with one span of a constant length, and single indices beside it"
EXAMPLE = "as in `X[i, k :+ 16]`"


def read(cx: Context, node: ast.Index, at: Site) -> pg.Expr | None:
    """A subscripted name: in the value of `sum(e)` a slice is the element of a run."""
    if at.runs is None or all(isinstance(subscript, ast.PointSub) for subscript in node.subscripts):
        return subscripts.read(cx, node, at)
    place = _run(cx, node, "sum")
    if place is None:
        return None
    at.runs.append(place)
    return pg.RunElement(node.span, subscripts.loaded(place.element), place)


def _run(cx: Context, node: ast.Expr, user: str) -> pg.Place | None:
    """The run that an argument names."""
    if not isinstance(node, ast.Index):
        known = lookup(cx, node) if isinstance(node, ast.Name) else infer(cx, node)
        if known is not None:
            cx.error("run-operand", node.span, f"`{user}` takes a thread's run of elements: {SHAPE}, {EXAMPLE}")
        return None
    if isinstance(node.base, ast.Index):
        _not_whole(cx, node.base.span, user, "this is a slice of one")
        return None
    place = subscripts.place_of(cx, node)
    if place is None:
        return None
    spans = [subscript for subscript in node.subscripts if not isinstance(subscript, ast.PointSub)]
    if len(spans) != 1 or not isinstance(spans[0], ast.SpanSub):
        wrong = spans[-1].span if spans else node.span
        cx.error("run-operand", wrong, f"`{user}` takes a thread's run of elements: {SHAPE}", help=EXAMPLE)
        return None
    length = _length(place)
    if not is_static(cx, length):
        message = f"the length of a run folds to a constant, and `{length}` is known only at run time"
        cx.error("run-operand", spans[0].length.span, message)
        return None
    place = _of_whole(cx, place, user)
    if place is not None:
        _within(cx, spans[0].span, place)
    return place


def _of_whole(cx: Context, place: pg.Place, user: str) -> pg.Place | None:
    """The same run of the tile that a `let` without subscripts gives another name; a slice is refused."""
    root = place.root
    if root.kind is not pg.SymbolKind.VIEW:
        return place
    alias = cx.aliases.get(root)
    if alias is not None:
        return replace(place, root=alias.root, flat=alias.flat)
    _not_whole(cx, place.span, user, f"`{root.name}` is a slice bound by `let`", root)
    return None


def _not_whole(cx: Context, span: ast.Span, user: str, what: str, symbol: pg.Symbol | None = None) -> None:
    cx.error(
        "run-operand",
        span,
        f"`{user}` takes its run from a tensor, a whole tile or its `flat()` view, and {what}",
        related=(see(symbol.span, "declared here"),) if symbol else (),
        help="add the slice's start to the subscripts, and take the run from what it is a slice of",
    )


def _length(place: pg.Place) -> Sym:
    return next(axis.extent for axis in place.axes or () if not axis.point)


def _within(cx: Context, span: ast.Span, place: pg.Place) -> None:
    """A run that a constant start takes past a constant extent: like a point, it is not masked."""
    below = _shape_below(place)
    for axis, extent in zip(place.axes or (), below, strict=True):
        start = None if axis.point else value_of(cx, axis.start)
        first = None if start is None else start.constant
        if first is None:
            continue
        end = axis.extent + first
        last, bound = end.constant, extent.constant
        if first < 0 or (last is not None and bound is not None and last > bound):
            cx.error(
                "out-of-bounds",
                span,
                f"elements {first} to {end - 1} are not all within the axis, whose extent is {extent}: a run is never"
                " masked",
                related=(see(place.root.span, f"`{place.root.name}` is `{type_text(place.root.type)}`"),),
            )


def _shape_below(place: pg.Place) -> tuple[Sym, ...]:
    shape = subscripts.whole(place.root, place.span).shape
    if not place.flat:
        return shape
    rows, columns = shape
    return sym(1), rows * columns


# The built-ins.


def run_sum(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    runs: list[pg.Place] = []
    value = infer(cx, node.args[0], Site(inside="sum", runs=runs))
    if value is None:
        return None
    if isinstance(value.type, pg.TileType):
        message = f"`sum` adds up a value per element of a thread's runs, and this is `{type_text(value.type)}`"
        cx.error("run-operand", value.span, message, help=f"{SHAPE}, {EXAMPLE}")
        return None
    if not runs:
        cx.error(
            "run-operand",
            value.span,
            f"`sum` adds up a value per element of a thread's runs, and there is no run here: {SHAPE}, {EXAMPLE}",
            help="across threads it is `sum<over ctx.lane>(x)`",
        )
        return None
    if value.type == BOOL:
        help_ = "choose what to add with `where(c, a, b)`"
        cx.error("element-type", value.span, "`sum` adds up numbers, and this is `bool`", help=help_)
        return None
    length = _length(runs[0])
    for other in runs[1:]:
        _same_length(cx, other.span, length, _length(other), runs[0])
    type_ = INDEX if value.type.is_integer else F64 if value.type == F64 else F32
    return pg.RunSum(node.span, type_, convert(cx, value, type_), length)


def _same_length(cx: Context, span: ast.Span, a: Sym, b: Sym, first: pg.Place) -> None:
    if a != b:
        message = f"the runs of one `sum` are of one length, and these are of `{a}` and `{b}`"
        related = (see(first.span, "the first run"),)
        constrain(
            cx, "run-length", span, message, (a, b), lambda env: a.evaluate(env) == b.evaluate(env), related=related
        )


def elem(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    place, position = _run(cx, node.args[0], "elem"), _position(cx, node.args[1], "elem")
    if place is None or position is None:
        return None
    if not _inside(cx, node.args[1].span, position, _length(place), "element"):
        return None
    return pg.Elem(node.span, subscripts.loaded(place.element), place, position)


def word(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    place = _run(cx, node.args[0], "word")
    position = _position(cx, node.args[1], "word") if len(node.args) > 1 else sym(0)
    if place is None or position is None:
        return None
    if place.element != I8:
        message = f"`word` packs bytes, a run of `i8`, and this is `{place.element}`"
        root = place.root
        related = (see(root.span, f"`{root.name}` is `{type_text(root.type)}`"),)
        cx.error("element-type", node.args[0].span, message, related=related)
        return None
    length = _length(place)
    span = node.args[0].span
    if length.constant is None or length.constant % 4:
        message = f"`word` takes a run of whole words, four bytes each, and this one has `{length}` bytes"
        constrain(cx, "run-length", span, message, (length,), lambda env: length.evaluate(env) % 4 == 0)
    at_span = node.args[1].span if len(node.args) > 1 else span
    # The last byte of the word lies in the run.
    if not _inside(cx, at_span, position * 4 + 3, length, "byte"):
        return None
    return pg.Word(node.span, INDEX, place, position)


def _position(cx: Context, node: ast.Expr, user: str) -> Sym | None:
    value = subscripts.index_value(cx, node, f"the position of `{user}`")
    if value is None:
        return None
    position = value_of(cx, value)
    if position is None or not is_static(cx, position):
        cx.error("not-constant", node.span, f"the position of `{user}` is a constant: a literal or an `@autotune` name")
        return None
    return position


def _inside(cx: Context, span: ast.Span, position: Sym, length: Sym, what: str) -> bool:
    """Whether a position lies in a run; one that a configuration decides is checked for each."""
    at, count = position.constant, length.constant
    if at is not None and count is not None and 0 <= at < count:
        return True
    message = f"{what} {position} is outside the run, whose length is {length}"
    if at is not None and count is not None:
        cx.error("out-of-bounds", span, message)
        return False
    constrain(
        cx,
        "out-of-bounds",
        span,
        message,
        (position, length),
        lambda env: 0 <= position.evaluate(env) < length.evaluate(env),
    )
    return True


def store_value(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    """`store` where a value is wanted."""
    cx.error("not-a-value", node.span, f"`{builtin.name}` is a statement, called for its effect: it has no value")
    return None


def is_statement(node: ast.Expr) -> bool:
    """Whether an expression statement is a built-in that is no value."""
    if not isinstance(node, ast.Call) or not isinstance(node.callee, ast.Name):
        return False
    builtin = BUILTINS.get(node.callee.text)
    return builtin is not None and builtin.use is Use.STATEMENT


def store(cx: Context, span: ast.Span, node: ast.Call) -> pg.StoreRun | None:
    """`store(run, v0, ..)`, the only one of them."""
    if not count_fits(cx, node, BUILTINS["store"]):
        return None
    place = _run(cx, node.args[0], "store")
    values = [infer(cx, arg, PLAIN) for arg in node.args[1:]]
    if place is None:
        return None
    fitted = []
    for arg, value in zip(node.args[1:], values, strict=True):
        if value is not None:
            name = f"an element of `{place.root.name}`"
            fitted.append(fitted_scalar(cx, arg, value, place.element, name, place.root))
    length, count = _length(place), sym(len(values))
    if length != count:
        given = f"{len(values)} {'value is' if len(values) == 1 else 'values are'} given"
        message = f"`store` takes a value for each of the `{length}` elements of the run, and {given}"
        constrain(cx, "run-length", node.span, message, (length,), lambda env: length.evaluate(env) == len(values))
    cx.per_thread = True
    known = tuple(value for value in fitted if value is not None)
    return pg.StoreRun(span, place, known) if len(known) == len(values) else None


def outside_sum(cx: Context, node: ast.Call | ast.Collective, name: str, at: Site) -> bool:
    """Whether a call that is not done per element stands outside `sum(e)`; reports where not."""
    if at.runs is None:
        return True
    cx.error(
        "run-operand",
        node.span,
        f"`{name}` is not done for each element of a run, so it does not stand inside `sum`",
        help="bind its value with `let` first",
    )
    return False


RULES: Mapping[type, Rule] = {ast.Index: read}
