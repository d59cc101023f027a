"""Which values differ between threads, by the definition of the language's uniformity."""

from __future__ import annotations

from phobos_core.ir.divergence import divergence
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.rewrite import Index, walk

HEAD = (
    "kernel @k target=sm_80 threads=64 index=64 (%X: mem<i32>[64, global] as [64], %X.t: token, "
    "%Y: mem<i32>[64, global] as [64], %Y.t: token, %n: index, %p: bool) {\n"
    "  %zero = const {value = 0} : index\n  %one = const {value = 1} : index\n"
    "  %t = ctx {field = thread} : index\n  %b = ctx {field = block.x} : index\n"
)


def differing(body: str) -> set[str]:
    kernel = parse_kernel(HEAD + body + "}\n")
    return {value.hint for value in divergence(kernel.body).values}


def splitting(body: str) -> list[int]:
    """The lines of the loops and branches that not all threads take alike."""
    kernel = parse_kernel(HEAD + body + "}\n")
    return sorted(op.line for op in divergence(kernel.body).splits)


def test_what_is_made_of_the_threads_number_differs() -> None:
    body = "%a = add %t, %b : index\n%c = add %b, %one : index\n%d = cmp %a, %c {predicate = lt} : bool\n"
    assert differing(body) == {"t", "a", "d"}


def test_a_load_differs_with_its_index() -> None:
    assert differing(
        "%a = load_point %X, %t, %X.t : i32\n%c = load_point %X, %b, %X.t : i32\n"
        "%r = load_run %X, %t, %X.t {axis = 0} : run<i32>[4]\n%e = run_element %r {position = 1} : i32\n"
    ) == {"t", "a", "r", "e"}


def test_an_exchange_of_lanes_differs() -> None:
    assert differing(
        "%i = const {value = 1} : i32\n%v = load_point %X, %b, %X.t : i32\n"
        "%s = shuffle %v, %i {mode = xor, width = 32} : i32\n%w = vote %p {kind = any} : bool\n"
    ) == {"t", "s", "w"}


def test_what_is_said_to_be_the_same_does_not() -> None:
    body = "%i = convert %t : i32\n%r = redux %i {kind = max} : i32\n%u = uniform %r : i32\n%c = add %u, %u : i32\n"
    assert differing(body) == {"t", "i", "r"}


def test_what_a_branch_gives_differs_with_its_condition_if_its_sides_differ() -> None:
    body = (
        "%c = cmp %t, %one {predicate = lt} : bool\n"
        "%u, %v, %w = if %c : index, index, index @1 {\n yield %one, %b, %zero\n} {\n yield %zero, %b, %n\n}\n"
        "%x = if %p : index @2 {\n yield %one\n} {\n yield %zero\n}\n"
    )
    assert differing(body) == {"t", "c", "u", "w"}
    assert splitting(body) == [1]


def test_a_loop_with_bounds_that_differ() -> None:
    body = (
        "%s, %k = for %t, %n, %one, %zero, %b : index, index @1 (%i: index, %a: index, %q: index) {\n"
        "  %m = add %a, %one : index\n  yield %m, %q\n}\n"
    )
    # How often a thread goes round differs; what no iteration changes does not.
    assert differing(body) == {"t", "i", "s"}
    assert splitting(body) == [1]


def test_through_iterations_to_a_fixpoint() -> None:
    """What differs reaches the first of three carried values in the third iteration."""
    body = (
        "%x, %y, %w = for %zero, %n, %one, %b, %b, %b : index, index, index @1 "
        "(%i: index, %a: index, %c: index, %d: index) {\n  yield %c, %d, %t\n}\n"
    )
    assert differing(body) == {"t", "a", "c", "d", "x", "y", "w"}
    assert splitting(body) == []


def test_a_flag_set_where_threads_differ_splits_what_follows() -> None:
    body = (
        "%no = const {value = false} : bool\n%yes = const {value = true} : bool\n"
        "%c = cmp %t, %one {predicate = lt} : bool\n"
        "%end = for %zero, %n, %one, %no : bool @1 (%i: index, %left: bool) {\n"
        "  %on = not %left : bool\n"
        "  %next = if %on : bool @2 {\n"
        "    %set = if %c : bool @3 {\n yield %yes\n} {\n yield %left\n}\n    yield %set\n"
        "  } {\n yield %left\n}\n"
        "  yield %next\n}\n"
    )
    assert differing(body) == {"t", "c", "left", "on", "next", "set", "end"}
    assert splitting(body) == [2, 3]


def test_a_while_whose_condition_differs() -> None:
    body = (
        "%r = while %t : index @1 (%a: index) {\n  %c = cmp %a, %n {predicate = lt} : bool\n  yield %c, %a\n}"
        " (%d: index) {\n  %e = add %d, %one : index\n  yield %e\n}\n"
    )
    assert splitting(body) == [1]
    assert {"r", "c", "e"} <= differing(body)


def test_where_threads_were_last_together() -> None:
    body = (
        "%c = cmp %t, %one {predicate = lt} : bool\n"
        "if %p @1 {\n  if %c @2 {\n    if %p @3 {\n      trap_if %p {message = x} @4\n      yield\n    } {\n yield\n}\n"
        "    yield\n  } {\n yield\n}\n  yield\n} {\n yield\n}\n"
    )
    kernel = parse_kernel(HEAD + body + "}\n")
    (trap,) = [op for op in walk(kernel.body) if op.name == "trap_if"]
    index = Index(kernel.body)
    outermost = divergence(kernel.body).around(index, trap)
    assert outermost is not None
    assert outermost.line == 2


def test_nothing_differs_without_a_thread() -> None:
    kernel = parse_kernel("kernel @k target=sm_80 threads=64 index=64 (%n: index) {\n  %a = add %n, %n : index\n}\n")
    assert divergence(kernel.body).values == frozenset()


def test_a_loop_that_threads_leave_at_different_times() -> None:
    body = (
        "%no = const {value = false} : bool\n%c = cmp %t, %one {predicate = lt} : bool\n"
        "%end = for %zero, %n, %one, %no {until = [0]} : bool @1 (%i: index, %left: bool) {\n  yield %c\n}\n"
        "%all = for %zero, %n, %one, %no {until = [0]} : bool @2 (%j: index, %gone: bool) {\n  yield %p\n}\n"
    )
    assert splitting(body) == [1]
