"""The grid suggested from the slices that walk a tensor by `ctx.block`."""

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import sym
from phobos_core.language.types import F32, INDEX
from phobos_core.report.grid import suggested_grid
from tests.runtime import programs as make

A, C = make.tensor("A", "M", "K"), make.tensor("C", "M", "N")
TILE = sym("TILE")


def store(place: p.Place) -> p.StoreTile:
    return p.StoreTile(make.AT, place, p.Const(make.AT, F32, 0.0))


def test_one_block_for_each_tile_of_a_slice() -> None:
    kernel = make.kernel(C, body=(store(make.block_slice(C, "x", TILE)),), search={"TILE": (64,)})
    assert suggested_grid(kernel, {"TILE": 64}) == ("ceil(M / 64)",)
    assert suggested_grid(kernel, {"TILE": 64, "M": 200}) == ("4",)


def test_the_block_may_come_by_a_name() -> None:
    pm = p.Symbol("pm", "pm", p.SymbolKind.SCALAR, INDEX, make.AT)
    bind = p.BindScalar(make.AT, pm, p.CtxRead(make.AT, INDEX, "block.y"))
    kernel = make.kernel(C, body=(bind, store(make.block_slice(C, "y", sym(16), via=pm))))
    assert suggested_grid(kernel, {}) == ("1", "ceil(M / 16)")


def test_what_is_stored_decides_over_what_is_read() -> None:
    read = make.block_slice(A, "x", sym(32))
    body = (
        p.DeclareTile(
            make.AT,
            p.Symbol("t", "t", p.SymbolKind.TILE, p.TileType(F32, read.shape), make.AT),
            p.TileRead(make.AT, p.TileType(F32, read.shape), read),
        ),
        store(make.block_slice(C, "x", sym(8))),
    )
    assert suggested_grid(make.kernel(A, C, body=body), {}) == ("ceil(M / 8)",)


def test_a_single_row_for_each_block() -> None:
    kernel = make.kernel(C, body=(store(make.block_slice(C, "x", sym(1))),))
    assert suggested_grid(kernel, {}) == ("M",)


def test_an_axis_that_no_slice_shows_is_unknown() -> None:
    read = p.CtxRead(make.AT, INDEX, "block.z")
    kernel = make.kernel(C, body=(store(make.block_slice(C, "x", sym(8))), p.Eval(make.AT, read)))
    assert suggested_grid(kernel, {}) == ("ceil(M / 8)", "1", "?")


def test_a_kernel_that_reads_no_block_has_no_suggestion() -> None:
    assert suggested_grid(make.kernel(A, C, body=(make.copy(A, C),)), {}) == ()
