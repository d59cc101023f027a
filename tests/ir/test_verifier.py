"""A well-formed kernel passes; each way of breaking it is refused by name."""

import pytest

from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.verifier import VerifyError, verify

GOOD = """\
kernel @k target=sm_80 threads=128 index=64 (%X: mem<f32>[?x64, global] as [N, 64], %X.t: token,
    %Y: mem<f32>[?x64, global] as [N, 64], %Y.t: token, %s: f32, %N: index) {
  %0 = const {value = 0} : index
  %1 = const {value = 8} : index
  %go = const {value = true} : bool
  %t, %t.0 = alloc {name = t, stages = 1} : mem<f32>[8x64, shared], token @2
  %tv = view %t, %0, %0 {bounds = [none, none]} : view<f32>[8x64, shared] @3
  %end = for %0, %N, %1, %t.0 : token @3 (%i: index, %c: token) {
    %xv = view %X, %i, %0, %N {bounds = [upper, none]} : view<f32>[8x64, global] @4
    %x = load %xv, %X.t : tile<f32>[8x64] @4
    %c1 = store %tv, %x, %c : token @4
    %row = reduce %x {kind = max} : tile<f32>[8x1] @5
    %wide = broadcast %row : tile<f32>[8x64] @5
    %e = sub %x, %wide : tile<f32>[8x64] @5
    yield %c1 @3
  }
  %p = load_point %t, %0, %0, %end : f32 @6
  %y1 = if %go : token @7 {
    %yv = view %Y, %0, %0, %N {bounds = [upper, none]} : view<f32>[8x64, global] @7
    %v = load %tv, %end : tile<f32>[8x64] @7
    %y2 = store %yv, %v, %Y.t : token @7
    yield %y2 @7
  } {
    yield %Y.t @7
  }
  %y3 = store_point %Y, %0, %0, %p, %y1 : token @8
  %w = while %y3 : token @9 (%w0: token) {
    yield %go, %w0 @9
  } (%w1: token) {
    yield %w1 @9
  }
}
"""


def test_a_good_kernel_passes() -> None:
    verify(parse_kernel(GOOD))


BROKEN = {
    "an unknown attribute": ("reduce %x {kind = max}", "reduce %x {kind = max, odd = 1}", "reduce .*unknown"),
    "a missing attribute": ("stages = 1} : mem<f32>[8x64", "pitch = 1} : mem<f32>[8x64", "alloc .*lacks"),
    "element types that differ": ("%e = sub %x, %wide", "%e = sub %x, %s", "sub .*line 5.*one shape"),
    "a wrong reduced shape": ("{kind = max} : tile<f32>[8x1]", "{kind = sum} : tile<f32>[1x64]", "reduce"),
    "a value used outside its region": ("store_point %Y, %0, %0,", "store_point %Y, %0, %i,", "operand 2 .*not def"),
    "a bound without its operand": ("%i, %0, %N {bounds", "%i, %0 {bounds", "view .*bounds ask"),
    "an index too few": ("load_point %t, %0, %0, %end", "load_point %t, %0, %end", "load_point .*2 indices"),
    "a view of the wrong space": (
        "view<f32>[8x64, shared] @3",
        "view<f32>[8x64, global] @3",
        "view .*space",
    ),
    "a token of another buffer": ("load %xv, %X.t", "load %xv, %Y.t", "another buffer"),
    "a load of a superseded state": ("%v = load %tv, %end", "%v = load %tv, %t.0", "superseded"),
    "two stores to one state": ("%y3 = store_point %Y, %0, %0, %p, %y1", "%y3 = store_point %Y, %0, %0, %p, %Y.t",
                                "superseded"),
    "a store that the region keeps to itself": ("yield %c1", "yield %c", "superseded"),
    "a store whose chain is not carried": ("    yield %y2 @7", "    yield %Y.t @7", "superseded"),
    "a loop that carries another type": ("(%i: index, %c: token)", "(%i: index, %c: f32)", "region 0"),
    "a float step": ("for %0, %N, %1, %t.0", "for %0, %N, %s, %t.0", "three indices"),
    "a yield of another type": ("yield %go, %w0", "yield %w0, %go", "yields other types"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_fault_is_refused(what: str) -> None:
    old, new, message = BROKEN[what]
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    with pytest.raises(VerifyError, match=message):
        verify(parse_kernel(text))


P = "Patches(threads=64, tm=2, tn=4, rows=4, columns=16, vector=4)"
WIDE = "Patches(threads=64, tm=8, tn=1, rows=1, columns=64, vector=1)"
SCHEDULED = f"""\
kernel @k target=sm_80 threads=64 index=64 (%X: mem<f32>[8x64, global] as [8, 64], %X.t: token,
    %Y: mem<f32>[8x1, global] as [8, 1], %Y.t: token, %W: mem<f32>[64x64, global] as [64, 64], %W.t: token) {{
  %z = const {{value = 0}} : index
  %xv = view %X, %z, %z {{bounds = [none, none]}} : view<f32>[8x64, global] @1
  %yv = view %Y, %z, %z {{bounds = [none, none]}} : view<f32>[8x1, global] @1
  %wv = view %W, %z, %z {{bounds = [none, none]}} : view<f32>[64x64, global] @1
  %x = load %xv, %X.t : tile<f32>[8x64] @1
  %w = load %wv, %W.t : tile<f32>[64x64] @1
  %y = load %yv, %Y.t : tile<f32>[8x1] @1
  %s = hold %x {{schedule = PatchSweep(layout={P}, vector=4)}} : tile<f32>[8x64, patches<64, 2, 4, 4, 16, 4>] @2
  %m = reduce %s {{kind = max}} : tile<f32>[8x1] @3
  %top = hold %m {{schedule = RowFold(layout={P}, vector=2)}} : tile<f32>[8x1, rows<64, 2, 4, 16>] @3
  %r = hold %y {{schedule = RowSweep(layout=Rows(threads=64, tm=2, rows=4, columns=16))}} : tile<f32>[8x1, rows<64, 2, 4, 16>] @4
  %wide = broadcast %top : tile<f32>[8x64] @5
  %p = sub %s, %wide : tile<f32>[8x64] @5
  %d = dot %x, %w {{transposed = false}} : tile<f32>[8x64] @5
  %e = add %p, %d : tile<f32>[8x64] @5
  %acc = hold %e {{schedule = Contraction(tm=2, tn=4, rows=4, columns=16, use_dp4a=False, run=4)}} : tile<f32>[8x64, patches<64, 2, 4, 4, 16, 4>] @5
  %n = neg %acc : tile<f32>[8x64] @6
  %q = hold %n {{schedule = PatchSweep(layout={P}, vector=1)}} : tile<f32>[8x64, patches<64, 2, 4, 4, 16, 4>] @6
  %t, %t.0 = alloc {{name = t, stages = 1}} : mem<f32>[8x2, shared], token @7
  %tv = view %t, %z, %z {{bounds = [none, none]}} : view<f32>[8x2, shared] @7
  %f = reduce %x {{kind = sum, parts = 2}} : tile<f32>[8x2] @7
  %t.1 = store %tv, %f, %t.0 {{schedule = RowFold(layout={WIDE}, vector=1)}} : token @7
  %g = load %tv, %t.1 : tile<f32>[8x2] @8
  %h = reduce %g {{kind = sum}} : tile<f32>[8x1] @8
  %i = mul %h, %r : tile<f32>[8x1] @8
  %y2 = store %yv, %i, %Y.t {{schedule = RowSweep(layout=Rows(threads=64, tm=2, rows=4, columns=16))}} : token @8
}}
"""  # noqa: E501


def test_schedules_that_fit_pass() -> None:
    verify(parse_kernel(SCHEDULED))


SWEEP = "RowSweep(layout=Rows(threads=64, tm=2, rows=4, columns=16))"
ROWS = f"hold %y {{schedule = {SWEEP}}} : tile<f32>[8x1, rows<64, 2, 4, 16>]"
FOLD, PARTS = f"RowFold(layout={P}, vector=2)", f"RowFold(layout={WIDE}, vector=1)"
LAST = f"PatchSweep(layout={P}, vector=1)"
# What stands there, what is put in its place, and what is said of it.
MISFITS = {
    "another layout than the schedule's": (
        "tile<f32>[8x1, rows<64, 2, 4, 16>] @4",
        "tile<f32>[8x1, rows<64, 8, 1, 16>] @4",
        "line 4.*gives a tile in rows<64, 2, 4, 16>",
    ),
    "rows of a wide tile": (
        LAST + "} : tile<f32>[8x64, patches<64, 2, 4, 4, 16, 4>]",
        SWEEP + "} : tile<f32>[8x64, rows<64, 2, 4, 16>]",
        r"line 6.*rows of a tile \[R, 1\]",
    ),
    "rows that are too few": (ROWS, ROWS.replace("tm=2", "tm=1").replace("<64, 2", "<64, 1"), "line 4.*make up"),
    "patches that are too narrow": (LAST, LAST.replace("columns=16", "columns=15"), "line 6.*make up"),
    "runs that do not divide": (LAST, LAST.replace("tn=4", "tn=6"), "line 6.*divide"),
    "runs of rows that do not divide": (LAST, LAST.replace("vector=4)", "vector=4, height=4)"), "line 6.*divide"),
    "warps that are no blocks": (LAST, LAST.replace("vector=4)", "vector=4, across=4)"), "line 6.*blocks"),
    "a fold of rows that warps are blocks of": (
        FOLD,
        FOLD.replace("rows=4, columns=16", "rows=8, columns=16").replace("vector=4)", "vector=4, across=8)"),
        "line 3.*row by row",
    ),
    "other threads": (LAST, LAST.replace("threads=64", "threads=32"), "line 6.*32 threads"),
    "a fold of columns that are no power of two": (
        FOLD,
        FOLD.replace("columns=16", "columns=24"),
        "line 3.*power of two",
    ),
    "a fold of more columns than threads": (
        PARTS,
        PARTS.replace("columns=64", "columns=128"),
        "line 7.*divide the threads",
    ),
    "a wider access than a run": (FOLD, FOLD.replace("vector=2", "vector=8"), "line 3.*vector that divides"),
    "a fold with nothing to fold": ("hold %m {schedule = RowFold", "hold %y {schedule = RowFold", "line 3.*one reduce"),
    "a thread that folds patches alone": (
        "hold %y {schedule = RowSweep",
        "hold %m {schedule = RowSweep",
        "line 4.*%s in patches",
    ),
    "a sweep of an anchor": ("hold %n {", "hold %d {", "line 6.*no anchor but one"),
    "a contraction without one": ("hold %e {", "hold %p {", "line 5.*one dot"),
    "a fold that no lane knows": (FOLD, PARTS, "line 3.*wider than a warp"),
    "parts that no warps cut": (PARTS, FOLD, "line 7.*no warps cut"),
    "another number of parts": ("parts = 2} : tile<f32>[8x2] @7", "parts = 1} : tile<f32>[8x2] @7", "line 7.*R, parts"),
    "parts of an argmax": ("{kind = sum, parts = 2}", "{kind = argmax, parts = 2}", "line 7.*no parts of an argmax"),
    "a leaf in other patches": (
        "patches<64, 2, 4, 4, 16, 4>] @5",
        "patches<64, 4, 4, 2, 16, 4>] @5",
        "line 5.*gives a tile in",
    ),
    "a leaf of a fold in other patches": (FOLD, FOLD.replace("vector=4", "vector=2"), "line 3.*%s in patches"),
    "an operand of a contraction in registers": ("dot %x, %w", "dot %s, %w", "line 5.*%s in patches"),
    "a tile held a second time": ("hold %n {", "hold %acc {", "line 6.*virtual"),
    "what a reduction keeps": (
        f"hold %n {{schedule = {LAST}}}",
        "hold %n {schedule = Sweep(vector=1)}",
        "line 6.*holds no tile",
    ),
}


@pytest.mark.parametrize("what", MISFITS)
def test_a_schedule_that_does_not_fit_is_refused(what: str) -> None:
    old, new, message = MISFITS[what]
    assert SCHEDULED.count(old) == 1
    with pytest.raises(VerifyError, match=message):
        verify(parse_kernel(SCHEDULED.replace(old, new)))
