"""What ptxas prints, read. The texts are those of CUDA 12.9 and 13.5 releases."""

from phobos_core.toolchain.messages import Message, Resources, parse_messages, parse_resources, source_line

BEFORE_SM_90 = """\
ptxas info    : 0 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    24 bytes stack frame, 40 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 49152 bytes smem, \
368 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 6.607 ms
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 356 bytes cmem[0]
"""

FROM_SM_90 = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for helper
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 4096 bytes smem
"""

PTX = """\
.version 7.0
.target sm_80
.visible .entry first()
{
\t.loc\t1 5 7
\tret;
}
.visible .entry second()
{
\t.loc\t1 0 0
\tmov.u32 %r1, %tid.x;
\t.loc\t1 9 3
\tbarx.sync 0;
\t.loc\t1 0 0
\tret;
}
"""


def test_each_entry_gets_its_own_numbers() -> None:
    assert parse_resources(BEFORE_SM_90) == {
        "first": Resources(255, 49152, 24, 40, 56, 376, 1),
        "second": Resources(8, 0, 0, 0, 0, 356, 0),
    }


def test_constant_bytes_are_unknown_where_ptxas_does_not_say_them() -> None:
    assert parse_resources(FROM_SM_90) == {"k": Resources(10, 4096, 0, 0, 0, None, 1)}


def test_a_message_leads_to_its_source_line() -> None:
    text = "ptxas /tmp/k.ptx, line 13; error   : Not a name of any known instruction: 'barx'\n"
    text += "ptxas fatal   : Ptx assembly aborted due to errors\n"
    assert parse_messages(text, PTX) == (Message("error", "Not a name of any known instruction: 'barx'", 13, 9),)


def test_a_message_of_the_whole_module_has_no_line() -> None:
    text = "ptxas error   : Entry function 'k' uses too much shared data (0x493e0 bytes, 0xc000 max)\n"
    [message] = parse_messages(text, PTX)
    assert (message.severity, message.ptx_line, message.source_line) == ("error", None, None)


def test_warnings_are_kept_and_information_is_not() -> None:
    text = "ptxas warning : For entry k adjusting per thread register count of 16 to lower bound of 24\n"
    [message] = parse_messages(text + BEFORE_SM_90, PTX)
    assert message.severity == "warning"


def test_a_windows_path_in_a_message() -> None:
    text = r"ptxas C:\Users\a b\k.ptx, line 6; fatal   : Parsing error near '}': syntax error" + "\n"
    assert parse_messages(text, PTX) == (Message("error", "Parsing error near '}': syntax error", 6, 5),)


def test_a_source_line_is_never_taken_from_another_function() -> None:
    assert source_line(PTX, 11) is None  # `second`, before its first statement
    assert source_line(PTX, 15) == 9  # line 0 belongs to no statement
    assert source_line(PTX, 1) is None
