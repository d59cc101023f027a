"""The addresses of accesses, found without running anything, against the emulator, which runs the same PTX.

Generated code computes an address from the thread, the block, a parameter and the iterations of loops; whatever the
launch gives, what the emulator counts lies in the range that was said, and is it where the range is one number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from phobos_core import emulator
from phobos_core.report.accesses.code import read
from phobos_core.report.accesses.context import Context
from phobos_core.report.accesses.forms import Atom, known, one
from phobos_core.report.accesses.measure import Measured, Measurer
from phobos_core.report.accesses.operations import Need
from phobos_core.report.accesses.sites import sites

HEAD = ".version 8.6\n.target sm_100\n.address_size 64\n"
KINDS = {1: "b8", 2: "b16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}
BYTES = 1 << 15
STRIDE = 66
EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "150"))


def kernel(body: str) -> str:
    """One statement a line, as LLVM writes it."""
    lines = "\n".join(line if line.startswith("$") else f"\t{line}" for line in body.strip().splitlines())
    return (
        f"{HEAD}.visible .shared .align 16 .b8 s[{BYTES}];\n.visible .entry k(\n\t.param .u32 k_param_0\n)\n"
        ".maxntid 64\n{\n\t.reg .pred %p<64>;\n\t.reg .b16 %h<4>;\n\t.reg .b32 %r<256>;\n\t.reg .b64 %rd<64>;\n"
        f"{lines}\n\tret;\n}}\n"
    )


def measured(ptx: str, threads: int = 64, space: str = "shared") -> dict[int, Measured]:
    """Each access to shared or global memory by its line in the PTX."""
    code = read(ptx)
    forms = {
        "%tid.x": known(tuple(range(threads))),
        "%ctaid.x": one(Atom("given", "ctx.block.x")),
        "k_param_0": one(Atom("given", "P")),
        "s": known(0),
    }
    measurer = Measurer(Context(code, forms), threads)
    found = ((site.at.ptx_line, measurer.measure(site)) for site in sites(code) if site.space == space)
    return {line: each for line, each in found if each is not None}


def only(body: str, threads: int = 64, space: str = "shared") -> Measured:
    (found,) = measured(kernel(body), threads, space).values()
    return found


# The store of each thread to %r9, after %r1 has become the thread, %r2 the block and %r3 the parameter.
START = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nld.param.b32 %r3, [k_param_0];\n"
STORE = "st.shared.b32 [%r9], %r1;"


@pytest.mark.parametrize(
    ("address", "degree"),
    [
        ("shl.b32 %r9, %r1, 2;", (1, 1)),
        ("shl.b32 %r9, %r1, 3;", (2, 2)),
        ("shl.b32 %r9, %r1, 7;", (32, 32)),
        ("mul.lo.s32 %r9, %r1, 132;", (1, 1)),
        # What all threads add moves them alike.
        ("mad.lo.s32 %r9, %r1, 8, %r3;", (2, 2)),
        # A stride that the launch gives, in words: 0, odd, twice odd, .. or a multiple of 32.
        ("shl.b32 %r8, %r3, 2;\nmul.lo.s32 %r9, %r1, %r8;", (1, 32)),
        ("shl.b32 %r8, %r3, 4;\nadd.s32 %r7, %r8, 16;\nmul.lo.s32 %r9, %r1, %r7;", (4, 32)),
        ("shl.b32 %r8, %r3, 3;\nadd.s32 %r7, %r8, 4;\nmul.lo.s32 %r9, %r1, %r7;", (1, 1)),
        # A quotient of what is known in part: (4 P + t) / 4, eight words apart, for groups of four lanes.
        ("mad.lo.s32 %r8, %r3, 4, %r1;\nshr.u32 %r7, %r8, 2;\nshl.b32 %r9, %r7, 5;", (2, 2)),
        ("mad.lo.s32 %r8, %r3, 12, %r1;\ndiv.u32 %r7, %r8, 12;\nshl.b32 %r9, %r7, 7;", (4, 4)),
        # A column of words, each row's places xor-ed with a number of the row, as a swizzle does.
        ("and.b32 %r8, %r1, 31;\nxor.b32 %r7, %r8, %r3;\nshl.b32 %r6, %r8, 7;\nshl.b32 %r5, %r7, 2;\n"
         "and.b32 %r4, %r5, 124;\nor.b32 %r9, %r6, %r4;", (1, 1)),
        # The same without it.
        ("and.b32 %r8, %r1, 31;\nshl.b32 %r6, %r8, 7;\nshl.b32 %r5, %r3, 2;\nand.b32 %r4, %r5, 124;\n"
         "or.b32 %r9, %r6, %r4;", (32, 32)),
    ],
)  # fmt: skip
def test_addresses_by_hand(address: str, degree: tuple[int, int]) -> None:
    found = only(f"{START}{address}\n{STORE}")
    assert found.unknown is None
    assert found.banks is not None
    assert found.banks.degree == degree


def test_bytes_that_all_threads_add_matter_within_a_word() -> None:
    """Two bytes a thread, `STRIDE` apart: which words they lie in depends on where the first does in its word."""
    found = only(f"{START}shl.b32 %r8, %r3, 1;\nmad.lo.s32 %r9, %r1, {STRIDE}, %r8;\nst.shared.b16 [%r9], %h1;", 32)
    assert found.banks is not None
    words = [{(STRIDE * lane + shift) // 4 for lane in range(32)} for shift in (0, 2)]
    degrees = [max(sum(w % 32 == bank for w in each) for bank in range(32)) for each in words]
    assert degrees[0] != degrees[1]
    assert found.banks.degree == (min(degrees), max(degrees))


def test_a_loop_of_known_length_is_gone_through() -> None:
    """(8 n) xor the place of the lane in its group of 32 bytes: free of conflicts in every turn."""
    found = only(
        f"""{START}and.b32 %r4, %r1, 7;
shl.b32 %r5, %r4, 2;
shl.b32 %r6, %r1, 7;
mov.b32 %r7, 0;
$L__BB0_1:
xor.b32 %r8, %r7, %r5;
shl.b32 %r10, %r8, 2;
add.s32 %r9, %r6, %r10;
st.shared.v4.b32 [%r9], {{%r1, %r1, %r1, %r1}};
add.s32 %r7, %r7, 4;
setp.lt.u32 %p1, %r7, 64;
@%p1 bra $L__BB0_1;"""
    )
    assert found.banks is not None
    assert found.banks.degree == (1, 1)
    assert found.depends_on != ()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("ld.shared.b32 %r9, [%r1];\nst.shared.b32 [%r9], %r1;", "loads"),
        ("cvt.rn.f32.u32 %r4, %r1;\ncvt.rzi.u32.f32 %r9, %r4;\nst.shared.b32 [%r9], %r1;", "cvt"),
    ],
)
def test_what_the_data_decide_is_not_guessed(body: str, why: str) -> None:
    found = list(measured(kernel(START + body)).values())[-1]
    assert found.banks is None
    assert found.unknown is not None
    assert why in found.unknown


def test_lanes_that_a_branch_keeps_out_do_not_count() -> None:
    body = f"""{START}shl.b32 %r9, %r1, 7;
setp.gt.u32 %p1, %r1, 3;
@%p1 bra $L__BB0_1;
{STORE}
$L__BB0_1:"""
    found = only(body)
    assert found.banks is not None
    assert (found.lanes, found.masked, found.banks.degree) == (4, False, (4, 4))


@pytest.mark.parametrize(("guard", "degree"), [("", 4), ("!", 28)])
def test_which_way_a_thread_came_decides_what_it_brings(guard: str, degree: int) -> None:
    """The first four lanes jump, or all but them, with rows of all banks; the others have neighbouring words."""
    body = f"""{START}shl.b32 %r9, %r1, 7;
setp.lt.u32 %p1, %r1, 4;
@{guard}%p1 bra $L__BB0_1;
shl.b32 %r9, %r1, 2;
$L__BB0_1:
{STORE}"""
    found = only(body, 32)
    assert found.banks is not None
    rows = range(4) if not guard else range(4, 32)
    words = {32 * lane for lane in rows} | {lane for lane in range(32) if lane not in rows}
    expected = max(sum(word % 32 == bank for word in words) for bank in range(32))
    assert expected in (degree, degree + 1)
    assert found.banks.degree == (expected, expected)


def test_lanes_that_go_elsewhere_on_one_of_two_ways_are_said_to() -> None:
    """Of the first four lanes two leave; all others come."""
    body = f"""{START}shl.b32 %r9, %r1, 2;
setp.gt.u32 %p1, %r1, 3;
@%p1 bra $L__BB0_1;
setp.gt.u32 %p2, %r1, 1;
@%p2 bra $L__BB0_2;
$L__BB0_1:
{STORE}
$L__BB0_2:"""
    assert only(body).masked
    together = body.replace("setp.gt.u32 %p2, %r1, 1;", "setp.gt.u32 %p2, %r3, 1;")
    assert not only(together).masked


def test_lanes_that_the_launch_keeps_out_do() -> None:
    found = only(f"{START}shl.b32 %r9, %r1, 7;\nsetp.lt.u32 %p1, %r1, %r3;\n@%p1 {STORE}")
    assert found.banks is not None
    assert (found.lanes, found.masked, found.banks.degree) == (32, True, (32, 32))


def test_threads_that_left_a_loop_apart_are_not_taken_for_alike() -> None:
    body = f"""{START}mov.b32 %r4, 0;
$L__BB0_1:
add.s32 %r4, %r4, 4;
setp.lt.u32 %p1, %r4, %r1;
@%p1 bra $L__BB0_1;
shl.b32 %r9, %r4, 2;
{STORE}"""
    found = only(body)
    assert found.banks is None
    assert found.unknown is not None


def in_one_iteration(number: int, count: int, store: str) -> str:
    """Threads before the iteration's number access the element of their own, all others that of the iteration."""
    return f"""{START}mov.b32 %r4, 0;
$L__BB0_1:
min.u32 %r5, %r4, %r1;
shl.b32 %r9, %r5, 2;
cvt.u64.u32 %rd1, %r9;
shl.b32 %r6, %r4, 6;
add.s32 %r7, %r6, %r1;
setp.ge.u32 %p2, %r7, {64 * number};
setp.lt.u32 %p3, %r7, {64 * number + 64};
and.pred %p4, %p2, %p3;
@%p4 {store}
add.s32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, {count};
@%p1 bra $L__BB0_1;"""


@pytest.mark.parametrize("number", range(0, 60, 7))
def test_an_access_of_one_iteration_among_many_is_found(number: int) -> None:
    found = only(in_one_iteration(number, 60, "st.global.b32 [%rd1], %r1;"), space="global")
    assert found.sectors is not None
    most = max(len({min(number, thread) * 4 // 32 for thread in range(warp, warp + 32)}) for warp in (0, 32))
    assert found.sectors.touched == (most, most)


def test_one_that_is_not_found_is_not_denied() -> None:
    told = [only(in_one_iteration(number, 400, STORE)) for number in range(0, 400, 23)]
    assert {each.unknown for each in told if each.banks is None} == {"none of the cases that were tried makes it"}
    assert {each.banks.degree for each in told if each.banks is not None} == {(1, 1)}


def test_a_loop_that_starts_below_zero_to_tell_its_first_turn() -> None:
    """`i + 11 < i` holds without a sign where i is -11, which LLVM writes for `i + 11 < 11`."""
    found = only(f"""{START}mov.b32 %r4, -11;
$L__BB0_1:
add.s32 %r5, %r4, 11;
setp.lt.u32 %p2, %r5, %r4;
shl.b32 %r9, %r1, 3;
@%p2 {STORE}
setp.lt.u32 %p1, %r5, 33;
mov.b32 %r4, %r5;
@%p1 bra $L__BB0_1;""")
    assert found.banks is not None
    assert found.banks.degree == (2, 2)


# Generated code


@dataclass
class Writer:
    """`values` are registers with the most that each may hold; none is negative."""

    draw: Any
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, int]] = field(default_factory=list)
    registers: Iterator[int] = field(default_factory=lambda: iter(range(20, 256)))
    predicates: Iterator[int] = field(default_factory=lambda: iter(range(64)))
    labels: Iterator[int] = field(default_factory=lambda: iter(range(64)))

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def new(self, text: str, most: int) -> tuple[str, int]:
        register = f"%r{next(self.registers)}"
        self.lines.append(text.replace("%d", register))
        self.values.append((register, most))
        return register, most


def operation(w: Writer) -> None:
    (a, most_a), (b, most_b) = w.pick(w.values), w.pick(w.values)
    number, shift = w.pick([1, 2, 3, 4, 7, 8, 12, 16, 31, 33]), w.pick([1, 2, 3, 4])
    bits = (1 << max(most_a, most_b).bit_length()) - 1
    forms = [
        (f"add.s32 %d, {a}, {b};", most_a + most_b),
        (f"add.s32 %d, {a}, {number};", most_a + number),
        (f"mul.lo.s32 %d, {a}, {number};", most_a * number),
        (f"mad.lo.s32 %d, {a}, {number}, {b};", most_a * number + most_b),
        (f"mul.lo.s32 %d, {a}, {b};", most_a * most_b),
        (f"shl.b32 %d, {a}, {shift};", most_a << shift),
        (f"shr.u32 %d, {a}, {shift};", most_a >> shift),
        (f"and.b32 %d, {a}, {w.pick([1, 3, 6, 7, 12, 15, 28, 31, 240, -4, -8])};", most_a),
        (f"or.b32 %d, {a}, {b};", bits),
        (f"xor.b32 %d, {a}, {b};", bits),
        (f"xor.b32 %d, {a}, {number};", max(bits, 63)),
        (f"min.u32 %d, {a}, {b};", min(most_a, most_b)),
        (f"max.s32 %d, {a}, {b};", max(most_a, most_b)),
        (f"rem.u32 %d, {a}, {number};", number - 1),
        (f"div.u32 %d, {a}, {number};", most_a // number),
        (f"bfe.u32 %d, {a}, {shift}, 3;", 7),
    ]
    text, most = w.pick(forms)
    if most < 1 << 20:
        w.new(text, most)


def choice(w: Writer) -> None:
    (a, most_a), (b, most_b), (c, most_c) = (w.pick(w.values) for _ in range(3))
    predicate = f"%p{next(w.predicates)}"
    relation = w.pick(["lt.u32", "ge.s32", "eq.b32", "ne.b32"])
    w.lines.append(f"setp.{relation} {predicate}, {c}, {w.pick([0, 1, most_c // 2, most_c])};")
    if w.draw(st.booleans()):
        w.new(f"selp.b32 %d, {a}, {b}, {predicate};", max(most_a, most_b))
        return
    # The same by a branch: what both sides write meets below it.
    register, label = f"%r{next(w.registers)}", f"$L__BB0_{next(w.labels)}"
    w.lines += [f"mov.b32 {register}, {a};", f"@{predicate} bra {label};", f"mov.b32 {register}, {b};", f"{label}:"]
    w.values.append((register, max(most_a, most_b)))


def store(w: Writer) -> None:
    a, most = w.pick(w.values)
    size = w.pick([1, 2, 4, 8, 16])
    if most * size + size > BYTES:
        a, most = w.new(f"and.b32 %d, {a}, {BYTES // size // 2 - 1};", BYTES // size // 2 - 1)
    address = f"%r{next(w.registers)}"
    value = {1: "%h1", 2: "%h1", 4: "%r1", 8: "{%r1, %r1}", 16: "{%r1, %r1, %r1, %r1}"}[size]
    w.lines += [f"mul.lo.s32 {address}, {a}, {size};", f"st.shared.{KINDS[size]} [{address}], {value};"]


def loop(w: Writer) -> None:
    """Counted, with two registers that it moves; what is computed inside is gone after it."""
    turns, step, first = w.pick([1, 2, 5, 8]), w.pick([1, 3, 4, 8]), w.pick(w.values)
    counter, moved, label = f"%r{next(w.registers)}", f"%r{next(w.registers)}", f"$L__BB0_{next(w.labels)}"
    predicate = f"%p{next(w.predicates)}"
    by, most_by = w.pick([v for v in w.values if v[1] < 64] or [("4", 4)])
    w.lines += [f"mov.b32 {counter}, 0;", f"mov.b32 {moved}, {first[0]};", f"{label}:"]
    before = list(w.values)
    w.values += [(counter, turns * step), (moved, first[1] + turns * most_by)]
    for _ in range(w.draw(st.integers(1, 4))):
        w.pick([operation, operation, choice, store])(w)
    store(w)
    w.values = before
    w.lines += [
        f"add.s32 {counter}, {counter}, {step};",
        f"add.s32 {moved}, {moved}, {by};",
        f"setp.lt.u32 {predicate}, {counter}, {turns * step};",
        f"@{predicate} bra {label};",
    ]


@st.composite
def bodies(draw: Any) -> str:
    w = Writer(draw, values=[("%r1", 63), ("%r2", 3), ("%r3", 40)])
    for _ in range(draw(st.integers(2, 8))):
        w.pick([operation, operation, operation, choice, loop])(w)
    store(w)
    return START + "\n".join(w.lines)


@settings(max_examples=EXAMPLES, deadline=None)
@given(body=bodies(), parameter=st.integers(0, 40))
def test_generated_addresses_agree_with_the_emulator(body: str, parameter: int) -> None:
    ptx = kernel(body)
    note(ptx)
    found = measured(ptx)
    result = emulator.run(ptx, "k", (4, 1, 1), [np.uint32(parameter)], checks=False, profile=True)
    assert result.ok
    for seen in result.shared:
        said = found[seen.ptx_line]
        if said.unknown is not None or said.sampled:
            continue
        assert said.banks is not None
        least, most = said.banks.degree
        assert seen.degree <= most, said
        if not said.masked:
            assert seen.degree >= least, said
            if said.banks.passes[0] == said.banks.passes[1]:
                assert seen.passes * said.banks.phases == seen.phases * said.banks.passes[0], said


def test_most_generated_addresses_are_told() -> None:
    told: list[bool] = []

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(body=bodies())
    def count(body: str) -> None:
        told.extend(each.unknown is None and not each.sampled for each in measured(kernel(body)).values())

    count()
    assert sum(told) > 0.6 * len(told)


def test_an_access_that_depends_on_much_is_measured_in_some_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 choices one after another are 16 million cases."""
    code = read(kernel("st.shared.b32 [s], %r1;"))
    (site,) = sites(code)
    tried = 0

    def in_case(self: Measurer, site: Any, case: Any) -> None:
        nonlocal tried
        tried += 1
        assert tried < 10_000
        if len(case) < 24:
            raise Need(Atom("choice", f"c{len(case)}"), 0)

    monkeypatch.setattr(Measurer, "_in_case", in_case)
    found = Measurer(Context(code, {}), 64).measure(site)
    assert found is not None
    assert found.unknown == "none of the cases that were tried makes it"
    assert tried > 128
