"""The text of nvdisasm as instructions: what it prints is in NVIDIA's documentation of its binary utilities."""

from phobos_core.report.sass.listing import parse
from tests.report.sass_texts import listing, sass

TWO_KERNELS = """\
	.section	.text.first,"ax",@progbits
first:
.text.first:
	//## File "a.ph", line 3
        /*0000*/                   EXIT ;
	.section	.text.second,"ax",@progbits
second:
.text.second:
        /*0000*/              @!P0 LDS.U.128 R4, [R2.X4+0x10] ;
	//## File "a.ph", line 9
        /*0010*/              @UP1 UMOV UR4, 0x3 ;
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0030*/                   EXIT ;
"""

LIVE = """\
	.section	.text.k,"ax",@progbits
                                                   // +-------+--------+
                                                   // | GPR   | PRED   |
                                                   // |   #   |   #    |
k:                                                 // |       |        |
        /*0000*/                   MOV R1, R2 ;    // |   2   |        |
        /*0010*/                   EXIT ;          // |       |   1    |
"""


def test_an_instruction_has_guard_opcode_operands_and_line() -> None:
    load, move, barrier, leave = parse("second", TWO_KERNELS).instructions
    assert (load.address, load.guard, load.opcode, load.base) == (0, "@!P0", "LDS.U.128", "LDS")
    assert load.operands == "R4, [R2.X4+0x10]"
    # Lines are those of this kernel: none is carried over from the one before.
    assert [each.line for each in (load, move, barrier, leave)] == [None, 9, 9, 9]
    assert (move.guard, barrier.operands, leave.operands) == ("@UP1", "0x0", "")
    assert str(load) == "@!P0 LDS.U.128 R4, [R2.X4+0x10]"


def test_other_kernels_of_the_file_are_left_out() -> None:
    assert [each.opcode for each in parse("first", TWO_KERNELS).instructions] == ["EXIT"]
    assert parse("third", TWO_KERNELS).instructions == ()


def test_a_label_is_the_address_of_what_follows() -> None:
    branch = listing("NOP", ".A:", "#4", "FADD R0, R1, R2", "@P0 BRA .A", "EXIT").instructions[2]
    assert branch.targets == (0x10,)
    assert branch.operands == "0x10"


def test_an_indirect_branch_names_all_its_targets() -> None:
    text = sass(".A:", "NOP", ".B:", "NOP") + '        /*0020*/ BRX R4 -0x30 (*"BRANCH_TARGETS .L_A,.L_B"*) ;\n'
    assert parse("k", text).instructions[-1].targets == (0, 0x10)


def test_padding_is_no_code() -> None:
    assert [each.opcode for each in listing("EXIT", ".A:", "BRA .A", "NOP", "NOP").instructions] == ["EXIT"]


def test_a_loop_for_ever_that_can_be_reached_is_kept() -> None:
    assert len(listing("NOP", ".A:", "@P0 BRA .A", "NOP").instructions) == 2


def test_live_registers_are_those_of_the_first_column() -> None:
    code = parse("k", sass("MOV R1, R2", "EXIT"), LIVE)
    assert [each.live for each in code.instructions] == [2, 0]
    assert [each.live for each in listing("EXIT").instructions] == [None]


def test_line_zero_is_no_line() -> None:
    assert [each.line for each in listing("#5", "NOP", "#0", "EXIT").instructions] == [5, None]
