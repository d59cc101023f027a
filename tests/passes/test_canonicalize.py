"""What canonicalize folds, merges and drops, and what it must keep."""

import pytest

from phobos_core.ir.module import Kernel, Op
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.rewrite import walk
from phobos_core.ir.verifier import verify
from phobos_core.passes.canonicalize import canonicalize

HEAD = """\
kernel @k target=sm_80 threads=128 index=64 (%X: mem<f32>[?x64, global] as [N, 64], %X.t: token,
    %Y: mem<i32>[?, global] as [N], %Y.t: token, %s: f32, %go: bool, %N: index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c7 = const {value = 7} : index
  %m2 = const {value = -2} : index
  %yes = const {value = true} : bool
  %no = const {value = false} : bool
"""


def run(body: str) -> Kernel:
    kernel = parse_kernel(HEAD + body + "}\n")
    verify(kernel)
    result = canonicalize(kernel)
    verify(result)
    # Nothing is left to do, and what was found out of the body holds of it still.
    assert canonicalize(result).body is result.body
    return result


def ops(kernel: Kernel, name: str) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == name]


def stored(type: str, value: str) -> Op | str:
    """What defines the value stored by the canonical form of a kernel that computes `value`."""
    body = f"{value}\n  %i = convert %v : i32\n  %end = store_point %Y, %c0, %i, %Y.t : token\n"
    if type == "i32":
        body = f"{value}\n  %end = store_point %Y, %c0, %v, %Y.t : token\n"
    kernel = run(body)
    (store,) = ops(kernel, "store_point")
    operand = store.operands[2]
    return next((op for op in walk(kernel.body) if operand in op.results), operand.hint)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("add %c7, %c1", 8),
        ("div %m2, %c7", 0),
        ("rem %m2, %c7", -2),
        ("xor %c7, %m2", -7),
        ("min %c7, %m2", -2),
        ("neg %c7", -7),
        ("not %c7", -8),
        ("select %no, %c1, %c7", 7),
    ],
)
def test_integers_fold(expression: str, expected: int) -> None:
    op = stored("index", f"  %v = {expression} : index")
    assert isinstance(op, Op)
    assert (op.name, op.attrs) == ("const", {"value": expected})


def test_narrow_integers_wrap() -> None:
    source = "  %a = const {value = 2147483647} : i32\n  %b = const {value = 1} : i32\n  %v = add %a, %b : i32"
    op = stored("i32", source)
    assert isinstance(op, Op)
    assert op.attrs == {"value": -(2**31)}


def test_a_division_by_zero_stays() -> None:
    op = stored("index", "  %v = div %c7, %c0 : index")
    assert isinstance(op, Op)
    assert op.operands[0] is not None
    assert op.name == "convert"


def test_neutral_elements_vanish() -> None:
    source = "  %a = add %N, %c0 : index\n  %b = mul %c1, %a : index\n  %v = sub %b, %c0 : index"
    op = stored("index", source)
    assert isinstance(op, Op)
    assert op.operands[0].hint == "N"


def test_a_float_is_not_folded_but_an_exact_conversion_is() -> None:
    kernel = run("""\
  %a = convert %c7 : f32
  %b = add %a, %a : f32
  %big = const {value = 16777217} : index
  %c = convert %big : f32
  %d = add %b, %c : f32
  %v = convert %d : i32
  %end = store_point %Y, %c0, %v, %Y.t : token
""")
    assert [op.attrs["value"] for op in ops(kernel, "const")] == [0, 7.0, 16777217]
    assert len(ops(kernel, "add")) == 2


def test_equal_scalars_are_merged_within_a_scope_only() -> None:
    kernel = run("""\
  %a = add %N, %c7 : index
  %1 = for %c0, %N, %c1, %Y.t : token (%i: index, %y: token) {
    %b = add %N, %c7 : index
    %d = mul %i, %b : index
    %e = convert %d : i32
    %2 = store_point %Y, %i, %e, %y : token
    yield %2
  }
  %3 = for %c0, %a, %c1, %1 : token (%j: index, %z: token) {
    %d2 = mul %j, %a : index
    %e2 = convert %d2 : i32
    %4 = store_point %Y, %j, %e2, %z : token
    yield %4
  }
""")
    assert len(ops(kernel, "add")) == 1
    assert len(ops(kernel, "mul")) == 2


def test_a_load_is_merged_until_a_store() -> None:
    kernel = run("""\
  %a = load_point %Y, %c0, %Y.t : i32
  %b = load_point %Y, %c0, %Y.t : i32
  %s1 = add %a, %b : i32
  %1 = store_point %Y, %c1, %s1, %Y.t : token
  %d = load_point %Y, %c0, %1 : i32
  %s2 = add %a, %d : i32
  %2 = store_point %Y, %c7, %s2, %1 : token
""")
    assert len(ops(kernel, "load_point")) == 2


def test_constant_branches_go() -> None:
    kernel = run("""\
  %c = and %go, %no : bool
  %n = not %c : bool
  %1 = if %n : token {
    %v = const {value = 3} : i32
    %2 = store_point %Y, %c0, %v, %Y.t : token
    yield %2
  } {
    %w = const {value = 4} : i32
    %3 = store_point %Y, %c0, %w, %Y.t : token
    yield %3
  }
  %4 = for %c7, %c1, %c1, %1 : token (%i: index, %t: token) {
    %x = const {value = 5} : i32
    %5 = store_point %Y, %c0, %x, %t : token
    yield %5
  }
  %6 = convert %N : i32
  %7 = store_point %Y, %c1, %6, %4 : token
""")
    assert not ops(kernel, "if")
    assert not ops(kernel, "for")
    assert [op.attrs["value"] for op in ops(kernel, "const")] == [0, 1, 3]


def test_what_nothing_uses_goes_and_what_has_an_effect_stays() -> None:
    kernel = run("""\
  %t, %t.0 = alloc {name = t, stages = 1} : mem<f32>[8x64, shared], token
  %a = mul %N, %c7 : index
  %b = load_point %X, %c0, %c1, %X.t : f32
  if %go {
    %r = add %N, %c7 : index
    yield
  } {
    yield
  }
  if %go {
    trap_if %go {message = stop}
    yield
  } {
    yield
  }
  %rest = rem %N, %c7 : index
  %bad = cmp %rest, %c0 {predicate = ne} : bool
  trap_if %bad {message = ragged}
""")
    assert [op.name for op in walk(kernel.body)] == [
        "const", "const", "if", "trap_if", "yield", "yield", "rem", "cmp", "trap_if"
    ]  # fmt: skip
