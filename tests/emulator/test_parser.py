"""PTX text to data: every part of the grammar, and an error with its line for what is not PTX."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from phobos_core.emulator import EmulatorFault, LaunchError, PtxError, run
from phobos_core.emulator.parser import parse
from phobos_core.emulator.ptx import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

Kernel = Callable[..., str]


def instructions(kernel: Kernel, body: str) -> tuple[Instruction, ...]:
    """The body's own instructions, without the two that load parameters and the three that find addresses."""
    parsed = parse(kernel(body)).kernels["k"].instructions
    assert [each.opcode for each in parsed[:4]] == ["ld", "mov", "mul", "add"]
    return parsed[4:]


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r1", Register("%r1")),
        ("%tid.x", Register("%tid.x")),
        ("_", Register("_")),
        ("42", Immediate(42, "int")),
        ("-7", Immediate(-7, "int")),
        ("0x1F", Immediate(31, "int")),
        ("0xFFU", Immediate(255, "int")),
        ("0b101", Immediate(5, "int")),
        ("017", Immediate(15, "int")),
        ("0f3F800000", Immediate(0x3F800000, "f32")),
        ("0dBFF0000000000000", Immediate(0xBFF0000000000000, "f64")),
        ("1.0", Immediate(0x3FF0000000000000, "f64")),
        ("table", Symbol("table")),
        ("table+16", Symbol("table", 16)),
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+-8]", Address(Register("%rd1"), -8)),
        ("[ %rd1 + 0x10 ]", Address(Register("%rd1"), 16)),
        ("[table+4]", Address(Symbol("table"), 4)),
        ("[64]", Address(Immediate(64, "int"))),
        ("{%r1, %r2}", Vector((Register("%r1"), Register("%r2")))),
        ("{%r1,1,_}", Vector((Register("%r1"), Immediate(1, "int"), Register("_")))),
        ("%p1|%p2", Pair(Register("%p1"), Register("%p2"))),
        ("!%p1", Not(Register("%p1"))),
    ],
)
def test_operands(kernel: Kernel, text: str, operand: Operand) -> None:
    (found,) = instructions(kernel, f"op.b32 %r9, {text};")
    assert found.operands == (Register("%r9"), operand)


def test_modifiers_guards_and_lines(kernel: Kernel) -> None:
    body = "@!%p1 ld.global.L2::128B.v2.b32 {%r1, %r2}, [%rd1]; // a comment; with a statement\n\n.loc 1 9 2\nret;"
    load, end = instructions(kernel, body)
    assert (load.opcode, load.modifiers) == ("ld", ("global", "L2::128B", "v2", "b32"))
    assert load.name == "ld.global.L2::128B.v2.b32"
    assert load.guard == Guard(Register("%p1"), True)
    assert (load.line, end.line) == (None, 9)
    assert end.ptx_line == load.ptx_line + 3


def test_line_zero_is_no_line(kernel: Kernel) -> None:
    first, second = instructions(kernel, ".loc 1 9 2\nret;\n.loc 1 0 2\nret;")
    assert (first.line, second.line) == (9, None)


def test_inlined_locations(kernel: Kernel) -> None:
    (only,) = instructions(kernel, ".loc 1 9 2, function_name $L__info_string0, inlined_at 1 3 5\nret;")
    assert only.line == 9


def test_blocks_have_registers_of_their_own(kernel: Kernel) -> None:
    body = "mov.u32 %r1, 1; { .reg .b32 %r1; .reg .pred q; mov.u32 %r1, 2; } mov.u32 %r2, %r1; ret;"
    outer, inner, after, _ = instructions(kernel, body)
    assert outer.operands[0] == after.operands[1] == Register("%r1")
    assert inner.operands[0] != outer.operands[0]


def test_a_module() -> None:
    module = parse("""
// a comment with /* and "
.version 8.6
.target sm_90a, debug
.address_size 64
/* two
lines */
.file 1 "/a//b/x.ph"
.global .align 4 .u32 counters[2][3];
.const .align 8 .b8 text[4] = {65, 0x42, 67};
.extern .shared .align 16 .b8 dynamic[];
.weak .global .f32 half = 0f3F000000;
.visible .entry first()
{ ret; }
.entry second(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[24], .param .f32 x)
.reqntid 8, 4
.minnctapersm 2
{
    .shared .align 16 .b8 tile[256];
    .local .align 8 .b8 __local_depot0[64];
    .pragma "nounroll";
    $L__a: ret;
}
\t.section\t.debug_macinfo\t{\t}
""")
    assert (module.version, module.target) == ("8.6", "sm_90a")
    assert module.files == {1: "/a//b/x.ph"}
    assert [(v.name, v.space, v.size) for v in module.variables] == [
        ("counters", "global", 24),
        ("text", "const", 4),
        ("dynamic", "shared", None),
        ("half", "global", 4),
    ]
    assert module.variables[1].data == b"ABC"
    assert module.variables[3].data == np.float32(0.5).tobytes()
    assert set(module.kernels) == {"first", "second"}
    second = module.kernels["second"]
    assert [(p.name, p.type, p.size) for p in second.parameters] == [("a", "u64", 8), ("s", "b8", 24), ("x", "f32", 4)]
    assert second.directives == {"reqntid": (8, 4), "minnctapersm": (2,)}
    assert [(v.space, v.size, v.align) for v in second.variables] == [("shared", 256, 16), ("local", 64, 8)]
    assert second.labels == {"$L__a": 0}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("frobnicate.b32 %r1, %r2;", r"instruction `frobnicate\.b32` with 2 operands is not supported .*source line 5"),
        ("add.rz.s32 %r1, %r2, %r3;", r"instruction `add\.rz\.s32` with 3 operands is not supported"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %r1, %r2;", "`mma.sync.* is not supported"),
        ("add.s32 %r1, %r2;", r"`add\.s32` with 2 operands is not supported"),
        ("add.s32 %r1, %r2, %r3, %r4;", r"`add\.s32` with 4 operands is not supported"),
        ("cp.async.wait_group;", r"`cp\.async\.wait_group` with 0 operands is not supported"),
        ("add.s32 %r1, %r2, %undeclared;", "`%undeclared` is not declared"),
        ("add.s64 %rd1, %r2, %rd3;", r"`%r2` is too narrow for `add\.s64`"),
        ("add.s32 5, %r2, %r3;", r"`add\.s32` needs a register as its destination"),
        ("bra NOWHERE;", "label `NOWHERE` is not defined"),
        ("ld.global.u32 %r1, %rd1;", "needs an address in brackets"),
        ("mov.u64 %rd1, nothing;", "`nothing` in `mov.u64` is not defined"),
        ("ld.param.u64 %rd1, [p9];", "`p9` is not a parameter"),
        ("ld.param.u64 %rd1, [p0+4];", "reads past parameter `p0`"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 4;", "cannot copy 4 bytes"),
        ("!!;", "statement not understood"),
    ],
)
def test_errors_say_what_and_where(kernel: Kernel, body: str, message: str) -> None:
    ptx = kernel(f"\n.loc 1 5 1\n{body}\nret;")
    with pytest.raises(PtxError, match=message) as caught:
        run(ptx, "k", (1, 1, 1), [np.zeros(4, np.uint32)])
    assert caught.value.ptx_line == ptx[: ptx.index(body)].count("\n") + 1


def test_device_functions_are_refused() -> None:
    with pytest.raises(PtxError, match=r"device functions \(\.func\) are not supported \(PTX line 4\)"):
        parse(".version 8.0\n.target sm_80\n.address_size 64\n.func helper() { ret; }")


@pytest.mark.parametrize("text", ["", "hello", "\0\1", "}", ".visible .entry k(", ".entry k() {", ".entry k() { add"])
def test_what_is_not_ptx(text: str) -> None:
    with pytest.raises((PtxError, LaunchError)):
        run(text, "k", (1, 1, 1), [])


def test_mutated_text_gives_an_answer_or_an_error_of_ours(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0; mov.u32 %r9, s;
    LOOP: mad.lo.s32 %r2, %r1, 3, %t; shl.b32 %r3, %t, 2; add.u32 %r4, %r9, %r3;
    st.shared.b32 [%r4], %r2; bar.sync 0; ld.shared.b32 %r5, [%r4]; setp.lt.s32 %p1, %r1, 3;
    add.s32 %r1, %r1, 1; @%p1 bra LOOP;
    cvt.rn.f32.s32 %r6, %r5; fma.rn.f32 %r6, %r6, 0f40000000, %r6; st.global.b32 [%q], %r6; ret;"""
    text = kernel(body, declarations=".shared .align 4 .b8 s[256];")
    source = random.Random(50)
    answers = set()
    for _ in range(300):
        letters = list(text)
        for _ in range(source.randint(1, 3)):
            at = source.randrange(len(letters))
            letters[at] = source.choice(["", letters[at] * 2, source.choice('{}[];,%@.0x9!|()"+-rf:')])
        try:
            run("".join(letters), "k", (1, 1, 1), [np.zeros(64, np.uint32)], max_steps=500)
            answers.add("result")
        except (PtxError, LaunchError, EmulatorFault) as error:
            answers.add(type(error).__name__)
    assert {"result", "PtxError"} <= answers
