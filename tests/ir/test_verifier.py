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
