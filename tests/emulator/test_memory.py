"""Loads, stores, atomics and asynchronous copies in every state space and width."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from phobos_core.emulator import launch

Array = npt.NDArray[Any]
Kernel = Callable[..., str]
Apply = Callable[..., Array]

SHARED = ".shared .align 16 .b8 s[4096];"


@pytest.mark.parametrize("kind", ["u8", "s8", "u16", "s16", "u32", "s32"])
def test_narrow_loads_extend_into_wider_registers(kernel: Kernel, kind: str) -> None:
    dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")
    source = np.arange(64).astype(dtype) - dtype.type(32)
    out = np.zeros(64, np.int64)
    body = (
        f"mul.wide.u32 %rd1, %t, {dtype.itemsize}; add.s64 %rd1, %rd1, %g1; ld.global.{kind} %rd2, [%rd1];"
        "shl.b64 %rd3, %o, 1; add.s64 %rd3, %rd3, %g0; st.global.u64 [%rd3], %rd2; ret;"
    )
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, source.astype(np.int64))


def test_narrow_stores_keep_the_low_part(kernel: Kernel) -> None:
    out = np.full(64, 0xAAAA, np.uint16)
    body = "mad.lo.u32 %r1, %t, 1000, 5; shr.u64 %rd1, %o, 1; add.s64 %rd1, %rd1, %g0;st.global.u8 [%rd1], %r1; ret;"
    launch(kernel(body), "k", (1, 1, 1), [out])
    expected = 0xAA00 | ((np.arange(64) * 1000 + 5) & 0xFF)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_vectors(kernel: Kernel, space: str) -> None:
    out = np.zeros(64 * 8, np.uint32)
    base = {"global": "%g0", "shared": "s", "local": "l"}[space]
    start = f"mov.b64 %rd1, {base};"
    step = "" if space == "local" else "shl.b64 %rd2, %o, 3; add.s64 %rd1, %rd1, %rd2;"
    body = (
        f"{start} {step} add.u32 %r1, %t, 1; add.u32 %r2, %t, 2; add.u32 %r3, %t, 3;"
        f"st.{space}.v4.b32 [%rd1], {{%t, %r1, %r2, %r3}}; st.{space}.v2.b64 [%rd1+16], {{%o, %rd2}};"
        f"ld.{space}.v2.b32 {{%r5, %r6}}, [%rd1+8]; ld.{space}.v2.u64 {{%rd4, %rd5}}, [%rd1+16];"
        "shl.b64 %rd2, %o, 3; add.s64 %rd3, %rd2, %g0; add.u64 %rd4, %rd4, %rd5; cvt.u32.u64 %r7, %rd4;"
        "st.global.v4.b32 [%rd3], {%r5, %r6, %r7, 9}; ret;"
    )
    declarations = ".shared .align 16 .b8 s[4096]; .local .align 16 .b8 l[32];"
    launch(kernel(body.replace("%o, %rd2}", "%o, %o}"), declarations=declarations), "k", (1, 1, 1), [out])
    t = np.arange(64)
    rows = out.reshape(64, 8)
    np.testing.assert_array_equal(rows[:, 0], t + 2)
    np.testing.assert_array_equal(rows[:, 1], t + 3)
    np.testing.assert_array_equal(rows[:, 2], 8 * t)


def test_eight_element_vectors(kernel: Kernel) -> None:
    source, out = np.arange(64 * 8, dtype=np.uint32), np.zeros(64 * 8, np.uint32)
    names = ", ".join(f"%r{i}" for i in range(1, 9))
    body = (
        "shl.b64 %rd1, %o, 3; add.s64 %rd2, %rd1, %g1; add.s64 %rd3, %rd1, %g0;"
        f"ld.global.nc.v8.b32 {{{names}}}, [%rd2]; st.global.v8.b32 [%rd3], {{{names}}}; ret;"
    )
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, source)


def test_cache_operators_and_ordering_do_not_change_values(kernel: Kernel) -> None:
    source, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    for load in (
        "ld.global.ca",
        "ld.global.cg",
        "ld.volatile.global",
        "ld.relaxed.gpu.global",
        "ld.global.nc.L1::no_allocate",
    ):
        for store in ("st.global.wt", "st.release.gpu.global", "st.volatile.global", "st.relaxed.sys.global"):
            out[:] = 0
            body = f"add.s64 %rd1, %o, %g1; {load}.u32 %r1, [%rd1]; {store}.u32 [%q], %r1; ret;"
            launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, source])
            np.testing.assert_array_equal(out, source)


def test_constant_arrays(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    body = (
        "and.b32 %r1, %t, 3; mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.s64 %rd1, %rd1, %rd2;"
        "ld.const.u32 %r2, [%rd1]; ld.const.u32 %r3, [table+4]; add.u32 %r2, %r2, %r3;"
        "st.global.u32 [%q], %r2; ret;"
    )
    ptx = kernel(body)
    entry = ptx.index(".visible")
    ptx = ptx[:entry] + ".const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0, 4};\n" + ptx[entry:]
    launch(ptx, "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, np.resize(np.array([1, 2, 259, 4]) + 2, 64))


def test_generic_addresses_reach_every_space(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    body = """
    mov.u64 %rd1, s; add.s64 %rd1, %rd1, %o; cvta.shared.u64 %rd1, %rd1;
    mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; cvta.global.u64 %rd3, %q;
    st.u32 [%rd1], %t; st.u32 [%rd2], 7; ld.u32 %r1, [%rd1]; ld.u32 %r2, [%rd2];
    isspacep.shared %p1, %rd1; isspacep.shared %p2, %rd2; isspacep.global %p3, %rd3;
    selp.b32 %r3, 1000, 0, %p1; selp.b32 %r4, 5000, 0, %p2; selp.b32 %r5, 2000, 0, %p3;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
    cvta.to.shared.u64 %rd4, %rd1; st.shared.u32 [%rd4], %r1; ld.shared.u32 %r6, [%rd4];
    st.u32 [%rd3], %r6; ret;"""
    launch(kernel(body, declarations=SHARED + ".local .align 4 .b8 l[4];"), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, np.arange(64) + 3007)


def test_one_access_may_reach_different_tensors(kernel: Kernel) -> None:
    first, second = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    body = (
        "add.s64 %rd1, %o, %g1; and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %rd2, %q, %rd1, %p1;"
        "st.global.u32 [%rd2], %t; ret;"
    )
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [first, second])
    t = np.arange(64)
    np.testing.assert_array_equal(first, np.where(t % 2 == 0, t, 0))
    np.testing.assert_array_equal(second, np.where(t % 2 == 1, t, 0))


def test_dynamic_shared_memory_follows_the_static_part(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    body = (
        "mov.u32 %r1, dyn; mov.u32 %r3, s; sub.u32 %r2, %r1, %r3; mov.u32 %r4, %dynamic_smem_size;"
        "add.u32 %r1, %r1, %r4; st.shared.u32 [%r1+-4], %r2; bar.sync 0; ld.shared.u32 %r2, [%r1+-4];"
        "st.global.u32 [%q], %r2; ret;"
    )
    ptx = kernel(body, threads=64, declarations=".shared .align 4 .b8 s[20];")
    entry = ptx.index(".visible")
    ptx = ptx[:entry] + ".extern .shared .align 16 .b8 dyn[];\n" + ptx[entry:]
    launch(ptx, "k", (1, 1, 1), [out], dynamic_shared=64)
    np.testing.assert_array_equal(out, 32)


def test_arrays_may_be_views_of_any_element_type(kernel: Kernel) -> None:
    whole = np.zeros((64, 4), ml_dtypes.bfloat16)
    view = whole[:, ::2]
    body = "cvt.rn.bf16.u32 %h1, %t; st.global.v2.b16 [%q], {%h1, %h1}; ret;"
    launch(kernel(body), "k", (1, 1, 1), [view])
    np.testing.assert_array_equal(whole[:, 0].astype(np.float32), np.arange(64))
    np.testing.assert_array_equal(whole[:, 1].astype(np.float32), 0)


def test_scalars_of_each_type() -> None:
    out = np.zeros(5, np.float64)
    ptx = """.version 8.6
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .f32 a, .param .f64 b, .param .u8 c, .param .s32 d, .param .b32 e)
{ .reg .b32 %r<4>; .reg .b64 %rd<9>; .reg .b16 %h;
ld.param.u64 %rd1, [o];
ld.param.f32 %r1, [a]; cvt.f64.f32 %rd2, %r1; st.global.f64 [%rd1], %rd2;
ld.param.f64 %rd3, [b]; st.global.f64 [%rd1+8], %rd3;
ld.param.u8 %h, [c]; cvt.rn.f64.u16 %rd4, %h; st.global.f64 [%rd1+16], %rd4;
ld.param.s32 %r2, [d]; cvt.rn.f64.s32 %rd5, %r2; st.global.f64 [%rd1+24], %rd5;
ld.param.b32 %r3, [e]; cvt.f64.f32 %rd6, %r3; st.global.f64 [%rd1+32], %rd6; ret; }"""
    launch(ptx, "k", (1, 1, 1), [out, np.float32(1.5), 2.25, True, -3, 0.5], block=1)
    np.testing.assert_array_equal(out, [1.5, 2.25, 1, -3, 0.5])


# Atomics

ATOMICS: dict[str, tuple[Any, Callable[[list[int]], int]]] = {
    "add.u32": ("u4", sum),
    "add.u64": ("u8", sum),
    "min.s32": ("i4", min),
    "max.s32": ("i4", max),
    "max.u32": ("u4", max),
    "and.b32": ("u4", lambda rows: int(np.bitwise_and.reduce(rows))),
    "or.b32": ("u4", lambda rows: int(np.bitwise_or.reduce(rows))),
    "xor.b32": ("u4", lambda rows: int(np.bitwise_xor.reduce(rows))),
}


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_reductions_into_one_word(kernel: Kernel, name: str, space: str) -> None:
    dtype, function = ATOMICS[name]
    out = np.full(1, 77, dtype)
    kind = name.split(".")[1]
    bits = kind[1:]
    register = "%rd1" if bits == "64" else "%r1"
    convert = f"cvt.u{bits}.u32 {register}, %t;"
    inner = "setp.ne.u32 %p1, %t, 0;"
    if space == "shared":
        body = (
            f"{inner} {convert} @%p1 bra A; ld.global.b{bits} %rd3, [%g0]; st.shared.b{bits} [s], %rd3;"
            f"A: bar.sync 0; red.shared.{name} [s], {register}; bar.sync 0; @%p1 bra B;"
            f"ld.shared.b{bits} %rd3, [s]; st.global.b{bits} [%g0], %rd3; B: ret;"
        )
    else:
        body = f"{convert} red.global.{name} [%g0], {register}; ret;"
    launch(kernel(body, declarations=SHARED), "k", (1, 1, 1), [out])
    assert out[0] == function([77, *range(64)])


def test_atomics_return_what_was_there(kernel: Kernel) -> None:
    out, cell = np.zeros(64, np.uint32), np.full(1, 5, np.uint32)
    body = "atom.global.add.u32 %r1, [%g1], 2; st.global.u32 [%q], %r1; ret;"
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, cell])
    assert cell[0] == 5 + 128
    assert sorted(out.tolist()) == [5 + 2 * i for i in range(64)]


def test_many_threads_add_to_few_words(kernel: Kernel) -> None:
    # Thread t adds t + 1 to word t % 3.
    out, cells = np.zeros(64, np.uint32), np.array([10, 20, 0xFFFFFFF0], np.uint32)
    body = (
        "rem.u32 %r1, %t, 3; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd1, %g1;"
        "add.u32 %r3, %t, 1; atom.global.add.u32 %r2, [%rd1], %r3; st.global.u32 [%q], %r2; ret;"
    )
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, cells])
    for word, start in enumerate([10, 20, 0xFFFFFFF0]):
        threads = range(word, 64, 3)
        assert cells[word] == (start + sum(t + 1 for t in threads)) % (1 << 32)
        # In some order, each found the word as the one before it left it.
        found = {int(out[t]): t + 1 for t in threads}
        value = start
        for _ in threads:
            value = (value + found[value]) % (1 << 32)
        assert value == cells[word]


def test_exchange_loses_nothing(kernel: Kernel) -> None:
    out, cell = np.zeros(64, np.uint32), np.full(1, 1000, np.uint32)
    body = "atom.global.exch.b32 %r1, [%g1], %t; st.global.u32 [%q], %r1; ret;"
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, cell])
    assert sorted([*out.tolist(), int(cell[0])]) == [*range(64), 1000]


def test_compare_and_swap_has_one_winner(kernel: Kernel) -> None:
    out, cell = np.zeros(64, np.uint32), np.full(1, 99, np.uint32)
    body = "atom.global.cas.b32 %r1, [%g1], 99, %t; st.global.u32 [%q], %r1; ret;"
    launch(kernel(body, parameters=2), "k", (1, 1, 1), [out, cell])
    winner = int(cell[0])
    assert out[winner] == 99
    assert (np.delete(out, winner) == winner).all()


def test_increment_and_decrement_wrap_at_their_limit(kernel: Kernel) -> None:
    cell = np.zeros(2, np.uint32)
    body = "red.global.inc.u32 [%g0], 9; red.global.dec.u32 [%g0+4], 9; ret;"
    launch(kernel(body), "k", (1, 1, 1), [cell])
    np.testing.assert_array_equal(cell, [64 % 10, -64 % 10])


@pytest.mark.parametrize(("kind", "dtype"), [("f32", "f4"), ("f64", "f8"), ("noftz.f16", "f2")])
def test_float_addition(kernel: Kernel, kind: str, dtype: str) -> None:
    cell = np.zeros(1, dtype)
    register, width = {"f4": ("%r1", "32"), "f8": ("%rd1", "64"), "f2": ("%h1", "16")}[dtype]
    body = f"cvt.rn.f{width}.u32 {register}, %t; red.global.add.{kind} [%g0], {register}; ret;"
    launch(kernel(body), "k", (1, 1, 1), [cell])
    assert cell[0] == sum(range(64))


def test_packed_addition(kernel: Kernel) -> None:
    cell = np.zeros(2, np.float16)
    body = (
        "cvt.rn.f16.u32 %h1, %t; mov.b16 %h2, 0x3C00; mov.b32 %r1, {%h1, %h2};"
        "red.global.add.noftz.f16x2 [%g0], %r1; ret;"
    )
    launch(kernel(body), "k", (1, 1, 1), [cell])
    np.testing.assert_array_equal(cell, [sum(range(64)), 64])


# Asynchronous copies


@pytest.mark.parametrize("size", [4, 8, 16])
def test_asynchronous_copy(kernel: Kernel, size: int) -> None:
    words = size // 4
    source, out = np.arange(64 * words, dtype=np.uint32), np.zeros(64 * words, np.uint32)
    form = "cg" if size == 16 else "ca"
    names = ", ".join(f"%r{i}" for i in range(1, words + 1))
    vector = f".v{words}" if words > 1 else ""
    braces = f"{{{names}}}" if words > 1 else names
    body = (
        f"mul.lo.u64 %rd1, %o, {words}; add.s64 %rd2, %rd1, %g1; mov.u64 %rd3, s; add.s64 %rd3, %rd3, %rd1;"
        f"cp.async.{form}.shared.global [%rd3], [%rd2], {size}; cp.async.commit_group; cp.async.wait_group 0;"
        f"ld.shared{vector}.b32 {braces}, [%rd3]; add.s64 %rd4, %rd1, %g0;"
        f"st.global{vector}.b32 [%rd4], {braces}; ret;"
    )
    launch(kernel(body, parameters=2, declarations=SHARED), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, source)


def test_bytes_past_the_source_size_are_zero_and_not_read(kernel: Kernel) -> None:
    # 61 words: the last lanes take fewer bytes than they copy, or none, and touch nothing past the end.
    source, out = np.arange(1, 62, dtype=np.uint32), np.full(64, 9, np.uint32)
    body = (
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra END;"
        "shl.b32 %r1, %t, 4; sub.u32 %r2, 244, %r1; min.u32 %r2, %r2, 16;"
        "mul.wide.u32 %rd1, %t, 16; add.s64 %rd2, %rd1, %g1; mov.u64 %rd3, s; add.s64 %rd3, %rd3, %rd1;"
        "cp.async.cg.shared.global [%rd3], [%rd2], 16, %r2; cp.async.wait_all;"
        "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%rd3]; add.s64 %rd4, %rd1, %g0;"
        "st.global.v4.b32 [%rd4], {%r3, %r4, %r5, %r6}; END: ret;"
    )
    launch(kernel(body, parameters=2, declarations=SHARED), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, [*range(1, 62), 0, 0, 0])


def test_a_guarded_copy_leaves_its_destination_alone(kernel: Kernel) -> None:
    source, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    body = (
        "mov.u64 %rd3, s; add.s64 %rd3, %rd3, %o; add.s64 %rd2, %o, %g1; st.shared.u32 [%rd3], 500;"
        "setp.lt.u32 %p1, %t, 10; @%p1 cp.async.ca.shared.global [%rd3], [%rd2], 4; cp.async.wait_all;"
        "ld.shared.u32 %r1, [%rd3]; st.global.u32 [%q], %r1; ret;"
    )
    launch(kernel(body, parameters=2, declarations=SHARED), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, [*range(10), *[500] * 54])


def test_groups_land_in_order(kernel: Kernel) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(64, np.uint32)
    body = (
        "mov.u64 %rd3, s; add.s64 %rd3, %rd3, %o; add.s64 %rd2, %o, %g1;"
        "cp.async.ca.shared.global [%rd3], [%rd2], 4; cp.async.commit_group;"
        "cp.async.ca.shared.global [%rd3+256], [%rd2+256], 4; cp.async.commit_group;"
        "cp.async.wait_group 1; ld.shared.u32 %r1, [%rd3];"
        "cp.async.wait_group 0; ld.shared.u32 %r2, [%rd3+256]; add.u32 %r1, %r1, %r2;"
        "st.global.u32 [%q], %r1; ret;"
    )
    launch(kernel(body, parameters=2, declarations=SHARED), "k", (1, 1, 1), [out, source])
    np.testing.assert_array_equal(out, 2 * np.arange(64) + 64)
