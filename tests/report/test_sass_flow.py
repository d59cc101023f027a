"""Loops of machine code: their blocks, their nesting, and what is none."""

from phobos_core.report.sass.flow import basic_blocks, innermost, loops
from tests.report.sass_texts import listing


def found(*rows: str) -> dict[str, tuple[int, list[int]]]:
    """The depth of each loop and the numbers of its instructions."""
    blocks = basic_blocks(listing(*rows).instructions)
    return {
        loop.name: (loop.depth, sorted(each.address // 16 for n in loop.blocks for each in blocks[n].instructions))
        for loop in loops(blocks)
    }


def test_straight_code_has_none() -> None:
    assert found("NOP", "@P0 BRA .A", "NOP", ".A:", "EXIT") == {}
    assert found() == {}


def test_a_branch_back_makes_one() -> None:
    assert found("NOP", ".A:", "FADD R0, R0, R1", "@P0 BRA .A", "EXIT") == {"L1": (1, [1, 2])}


def test_a_block_that_is_all_of_a_loop() -> None:
    assert found(".A:", "@P0 BRA .A", "EXIT") == {"L1": (1, [0])}


def test_loops_in_loops_are_named_by_their_place() -> None:
    rows = (
        ".A:",
        "NOP",
        ".B:",
        "NOP",
        "@P0 BRA .B",
        ".C:",
        "NOP",
        "@P1 BRA .C",
        "@P2 BRA .A",
        ".D:",
        "@P3 BRA .D",
        "EXIT",
    )
    assert found(*rows) == {
        "L1": (1, [0, 1, 2, 3, 4, 5]),
        "L1.1": (2, [1, 2]),
        "L1.2": (2, [3, 4]),
        "L2": (1, [6]),
    }


def test_two_branches_to_one_header_are_one_loop() -> None:
    assert found(".A:", "NOP", "@P0 BRA .A", "NOP", "@P1 BRA .A", "EXIT") == {"L1": (1, [0, 1, 2, 3])}


def test_a_branch_that_leaves_is_in_the_loop_and_what_it_goes_to_is_not() -> None:
    assert found(".A:", "@P0 BRA .Z", "NOP", "BRA .A", ".Z:", "EXIT") == {"L1": (1, [0, 1, 2])}


def test_code_moved_out_of_line_belongs_to_its_loop() -> None:
    rows = (".A:", "@P0 BRA .C", ".B:", "@P1 BRA .A", "EXIT", ".C:", "NOP", "BRA .B")
    assert found(*rows) == {"L1": (1, [0, 1, 3, 4])}


def test_reconvergence_goes_to_the_place_that_was_named() -> None:
    """Threads that wait at BSYNC go on at the target of BSSY, over the code between."""
    rows = (".A:", "BSSY B0, .E", "@P0 BRA .S", "BSYNC B0", ".S:", "NOP", "EXIT", ".E:", "@P1 BRA .A", "EXIT")
    assert found(*rows) == {"L1": (1, [0, 1, 2, 5])}


def test_predicates_may_stand_among_the_operands() -> None:
    assert found(".A:", "NOP", "BRA.U UP0, .A", "EXIT") == {"L1": (1, [0, 1])}
    assert found(".A:", "@P0 BRA .B", "NOP", ".B:", "BRA.DIV UR4, .A", "NOP", "EXIT") == {"L1": (1, [0, 1, 2])}


def test_code_that_nothing_reaches_is_no_loop() -> None:
    assert found("EXIT", ".A:", "NOP", "BRA .A", "NOP") == {}


def test_a_subroutine_has_loops_of_its_own() -> None:
    rows = ("CALL.REL.NOINC .F", "EXIT", ".F:", "NOP", ".A:", "@P0 BRA .A", "RET.REL.NODEC R4")
    assert found(*rows) == {"L1": (1, [3])}


def test_a_call_of_what_does_not_return_is_a_jump() -> None:
    """ptxas leaves a long loop by `@P0 CALL.REL.NOINC`."""
    rows = (".A:", "NOP", ".B:", "NOP", "@P0 CALL.REL.NOINC .X", "BRA .B", ".X:", "@P1 BRA .A", "EXIT")
    assert found(*rows) == {"L1": (1, [0, 1, 2, 3, 4]), "L1.1": (2, [1, 2, 3])}


def test_a_way_into_the_middle_makes_no_natural_loop() -> None:
    assert found("@P0 BRA .B", ".A:", "NOP", ".B:", "@P1 BRA .A", "EXIT") == {}


def test_each_address_knows_its_innermost_loop() -> None:
    blocks = basic_blocks(listing("NOP", ".A:", "NOP", ".B:", "@P0 BRA .B", "@P1 BRA .A", "EXIT").instructions)
    assert list(innermost(blocks, loops(blocks)).values()) == ["", "L1", "L1.1", "L1", ""]
