"""Per-thread ops: a well-formed kernel of them passes, and each way of breaking it is refused by name."""

import pytest

from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.verifier import VerifyError, verify

GOOD = """\
kernel @k target=sm_80 threads=64 index=64 (%X: mem<f32>[64x8, global] as [64, 8], %X.t: token,
    %Q: mem<i8>[64x8, global] as [64, 8], %Q.t: token, %C: mem<i32>[4, global] as [4], %C.t: token, %p: bool) {
  %0 = const {value = 0} : index
  %one = const {value = 1} : i32
  %f = const {value = 1.0} : f32
  %t = ctx {field = thread} : index
  %r = load_run %X, %t, %0, %X.t {axis = 1, vector = 4} : run<f32>[8] @2
  %e = run_element %r {position = 7} : f32 @2
  %b = load_run %Q, %t, %0, %Q.t {axis = 1} : run<i8>[8] @3
  %w = run_word %b {position = 1} : u32 @3
  %d = dp4a %w, %w, %one : i32 @4
  %pc = popcount %w : i32 @4
  %h = f16bits %d : f16 @4
  %x1 = store_run %X, %t, %0, %e, %f, %X.t {axis = 1, length = 2} : token @5
  %x2 = store_point %X, %t, %0, %e, %x1 {each = true} : token @5
  %x3, %c1 = sync %x2, %C.t : token, token @6
  %s = shuffle %e, %one {mode = xor, width = 32} : f32 @7
  %v = vote %p {kind = any} : bool @7
  %bal = ballot %p : u32 @7
  %m = redux %d {kind = sum} : i32 @7
  %old, %c2 = atomic_add %C, %0, %one, %c1 : i32, token @8
  %was, %c3 = atomic_cas %C, %0, %one, %d, %c2 : i32, token @8
  %flag, %c4 = load_acquire %C, %0, %c3 : i32, token @8
  %c5 = store_release %C, %0, %flag, %c4 : token @8
  %c6 = grid_sync %C, %t, %c5 : token @9
  %y = load_point %X, %t, %0, %x3 : f32 @10
}
"""


def test_a_good_kernel_passes() -> None:
    verify(parse_kernel(GOOD))


BROKEN = {
    "a run of another element": ("{axis = 1, vector = 4} : run<f32>[8]", "{axis = 1} : run<i8>[8]", "load_run .*run"),
    "accesses that are not whole": ("vector = 4}", "vector = 3}", "load_run .*whole accesses"),
    "wide accesses across the rows": ("{axis = 1, vector = 4}", "{axis = 0, vector = 4}", "load_run .*last axis"),
    "an axis that there is not": ("{axis = 1, length = 2}", "{axis = 2, length = 2}", "store_run .*axis"),
    "an element past the run": ("{position = 7}", "{position = 8}", "run_element .*inside"),
    "a word past the run": ("{position = 1} : u32", "{position = 2} : u32", "run_word .*inside"),
    "a word of floats": ("run_word %b", "run_word %r", "run_word .*bytes"),
    "a value too few": ("%e, %f, %X.t {axis = 1", "%e, %X.t {axis = 1", "store_run .*2 elements"),
    "a superseded state behind a barrier": ("%t, %0, %x3 : f32 @10", "%t, %0, %x2 : f32 @10", "superseded"),
    "a barrier without all its tokens": ("%c1 = sync %x2, %C.t : token, token", "%c1 = sync %x2 : token, token",
                                         "sync .*one for each"),
    "words of another type": ("dp4a %w, %w, %one", "dp4a %w, %t, %one", "dp4a .*words"),
    "a lane of another type": ("shuffle %e, %one", "shuffle %e, %t", "shuffle .*i32"),
    "a width that is no power of two": ("width = 32", "width = 12", "shuffle .*power of two"),
    "an unknown vote": ("vote %p {kind = any}", "vote %p {kind = most}", "vote .*all or any"),
    "a fold of floats": ("redux %d", "redux %e", "redux .*i32"),
    "an atomic of another type": ("atomic_add %C, %0, %one", "atomic_add %C, %0, %e", "atomic_add .*1 of"),
    "an atomic without its value": ("%was, %c3 = atomic_cas %C, %0, %one, %d", "%was, %c3 = atomic_cas %C, %0, %one",
                                    "atomic_cas .*2 of"),
    "counters of another type": ("grid_sync %C, %t, %c5", "grid_sync %X, %t, %x3", "grid_sync .*i32"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_fault_is_refused(what: str) -> None:
    old, new, message = BROKEN[what]
    assert GOOD.count(old) == 1
    with pytest.raises(VerifyError, match=message):
        verify(parse_kernel(GOOD.replace(old, new)))


def test_a_loop_runs_until_a_bool_that_it_carries() -> None:
    text = GOOD.replace(
        "  %y = load_point",
        "  %end = for %0, %t, %t, %p, %f {until = [1]} : bool, f32 @11 (%i: index, %l: bool, %g: f32) {\n"
        "    yield %l, %g\n  }\n  %y = load_point",
    )
    text = text.replace("%end = for", "%end, %last = for")
    verify(parse_kernel(text.replace("until = [1]", "until = [0]")))
    with pytest.raises(VerifyError, match="until a bool"):
        verify(parse_kernel(text))
