"""Per-thread code, collectives and atomics in the checked program. What is refused is on the pages of the spec."""

import pytest

from phobos_core.analysis import program as pg
from tests.analysis.support import codes, kernel_of, lines_of, type_of

PARAMS = (
    "A: tensor<f32>[64, 64], H: tensor<f16>[64, 64], D: tensor<f64>[64, 64], Q: tensor<i8>[64, 64],"
    " U: tensor<u8>[64, 64], I: tensor<i32>[4], F: tensor<f32>[4], n: i32, m: i64, s: f32"
)


def last(body: str) -> str:
    return lines_of(body, params=PARAMS)[-1]


def test_the_place_of_a_thread_is_an_index() -> None:
    assert last("let x = ctx.thread + ctx.warp * ctx.lane") == "x: index = (ctx.thread + (ctx.warp * ctx.lane))"


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("sum<over ctx.lane>(1)", "index"),
        ("sum<over ctx.lane>(H[0, 0])", "f16"),
        ("max<over ctx.thread>(D[0, 0])", "f64"),
        ("min<over ctx.lane, width 4>(n)", "i32"),
        ("argmax<over ctx.lane>(H[0, 0])", "index"),
        ("any<over ctx.thread>(n > 1)", "bool"),
        ("shfl<up 1>(m)", "i64"),
        ("shfl<from n>(n > 0)", "bool"),
        ("sum(C[0, 0 :+ 4])", "index"),
        ("sum(H[0, 0 :+ 4])", "f32"),
        ("sum(BF[0, 0 :+ 4] * H[0, 0 :+ 4])", "f32"),
        ("sum(D[0, 0 :+ 4])", "f64"),
        ("sum(D[0, 0 :+ 4] * C[0, 0 :+ 4])", "f64"),
        ("elem(H[0, 0 :+ 4], 0)", "f16"),
        ("elem(U[0, 0 :+ 4], 0)", "index"),
        ("word(C[0, 0 :+ 4])", "index"),
        ("popcount(n)", "index"),
        ("f16bits(n)", "f16"),
        ("atomic_add(R2, 0, 1)", "f32"),
        ("atomic_cas(J, 0, 1, 2)", "i32"),
        ("barrier()", "index"),
        ("store_release(J, 0, 1)", "index"),
    ],
)
def test_types(expression: str, type_: str) -> None:
    if "R2" in expression or "J" in expression:
        kernel = kernel_of(f"var x = {expression}", params="R2: tensor<f32>[4], J: tensor<i32>[4]")
        stmt = kernel.body[-1]
        assert isinstance(stmt, pg.BindScalar)
        assert str(stmt.symbol.type) == type_
    else:
        assert type_of(expression) == type_


def test_a_run_reads_a_whole_tile_whatever_it_is_called() -> None:
    body = "var t = Q[:, :]\nlet v = t\nlet f = flat(t)\nlet w = v\n"
    for name in ("t", "v", "w"):
        assert last(f"{body}let x = elem({name}[1, 0 :+ 4], 2)") == (
            "x: index = elem(t[1:index, 0:index :+ 4], 2):index"
        )
    for name in ("flat(t)", "f"):
        assert last(f"{body}let x = word({name}[0, 8 :+ 8], 1)") == "x: index = word(flat(t)[0:index, 8:index :+ 8], 1)"


def test_what_sum_adds_up_is_in_the_type_of_the_sum() -> None:
    assert last("let x = sum(i32(Q[0, n :+ 4]) * i32(Q[1, 0 :+ 4]))") == (
        "x: index = sum(index((i32(Q[0:index, index(n) :+ 4]:index) * i32(Q[1:index, 0:index :+ 4]:index))), 4):index"
    )
    assert last("let x = sum(H[0, 0 :+ 4] * s)") == "x: f32 = sum((f32(H[0:index, 0:index :+ 4]:f16) * s), 4):f32"
    assert last("let x = sum(H[0, 0 :+ 4])") == "x: f32 = sum(f32(H[0:index, 0:index :+ 4]:f16), 4):f32"


def test_words_are_indices() -> None:
    assert last("let x = dp4a(n, m, 3)") == "x: index = dp4a(index(n), index(m), 3:index):index"


def test_stored_values_are_in_the_element_type() -> None:
    assert last("store(H[0, 0 :+ 2], s, 1)") == "store(H[0:index, 0:index :+ 2], f16(s), 1.0:f16)"


def test_collectives() -> None:
    assert last("let x = sum<over ctx.lane>(s)") == "x: f32 = sum<lane, None>(s):f32"
    assert last("let x = argmax<over ctx.lane, width 2 * 4>(s)") == "x: index = argmax<lane, 8>(s):index"
    assert last("let x = max<over ctx.thread>(n)") == "x: i32 = max<thread, None>(n):i32"
    assert last("let x = shfl<xor n, width ctx.lanes>(s)") == "x: f32 = shfl<xor index(n), 32>(s):f32"


def test_atomics_convert_to_the_element() -> None:
    assert last("atomic_add(F, n, m)") == "atomic_add(F[index(n)], f32(m)):f32"
    assert last("atomic_cas(I, 0, m, n)") == "atomic_cas(I[0:index], i32(m), n):i32"
    assert last("let x = load_acquire(I, 0)") == "x: i32 = load_acquire(I[0:index]):i32"


def test_what_has_an_effect_is_a_statement() -> None:
    assert lines_of("barrier()\natomic_add(I, 0, 1) * 2 + 1", params=PARAMS) == [
        "barrier()",
        "((atomic_add(I[0:index], 1:i32):i32 * 2:i32) + 1:i32)",
    ]
    assert last("if n > 0 {\n  barrier()\n}") == "  barrier()"


@pytest.mark.parametrize("call", ["sum<over ctx.lane>(s)", "sum(A[0, 0 :+ 4])", "popcount(n)", "elem(A[0, 0 :+ 4], 1)"])
def test_a_value_alone_has_none(call: str) -> None:
    assert codes(call, params=PARAMS) == ["no-effect"]


def test_a_subscript_with_effects_is_bound_before_it_is_added_to() -> None:
    lines = lines_of("H[atomic_add(I, 0, 1), 0] += s", params=PARAMS)
    assert lines == [
        "index#0: index = index(atomic_add(I[0:index], 1:i32):i32)",
        "H[index#0, 0:index] = f16((f32(H[index#0, 0:index]) + s))",
    ]


def test_lengths_and_positions_may_be_searched() -> None:
    body = "let x = sum(A[0, 0 :+ T] * A[1, 0 :+ T])\nlet y = elem(A[0, 0 :+ T], T - 1)\nlet z = word(Q[0, 0 :+ T], 3)"
    assert codes(body, params=PARAMS) == []
    assert codes("let x = elem(A[0, 0 :+ T], 16)", params=PARAMS) == ["out-of-bounds"]


def test_counters_of_an_extent_that_the_launch_knows() -> None:
    params = "B: tensor<i32>[N], C: tensor<i32>[2, N]"
    kernel = kernel_of("grid_barrier(B)\ngrid_barrier(C)", attributes="@persistent\n", params=params)
    assert [r.text for r in kernel.requires] == ["2 <= N", "2 <= 2 * N"]
