"""Diagnostics for people and for tools: what is shown, where it is underlined, and how places are counted."""

import json

import pytest

from phobos_core.language.diagnostic import Diagnostic, Related
from phobos_core.report.diagnostics import check_json, concise, full, summary
from phobos_core.report.source import Finding, Source, in_order
from phobos_core.report.style import PLAIN, Style


def finding(text: str, marked: str, message: str = "wrong", **more: object) -> Finding:
    """A finding at the first place where `marked` stands in `text`."""
    source = Source("k.ph", text.encode())
    start = source.text.index(marked.encode())
    return Finding(source, Diagnostic("a-code", "error", start, start + len(marked.encode()), message, **more))


def test_the_long_form_has_message_place_line_underline_and_help() -> None:
    text = "kernel k() {\n  let a = b\n}\n"
    assert full(finding(text, "b", "unknown name `b`", help="declare it"), PLAIN).splitlines() == [
        "error[a-code]: unknown name `b`",
        " --> k.ph:2:11",
        "  |",
        "2 |   let a = b",
        "  |           ^",
        "  = help: declare it",
    ]


def test_a_related_place_is_shown_in_line_order_with_its_reason() -> None:
    text = "kernel k() {\n  let lane = ctx.lane\n\n\n  barrier(lane)\n}\n"
    reason = text.index("ctx.lane")
    related = (Related(reason, reason + 8, "differs between lanes"),)
    assert full(finding(text, "barrier(lane)", "once per CTA", related=related), PLAIN).splitlines() == [
        "error[a-code]: once per CTA",
        " --> k.ph:5:3",
        "  |",
        "2 |   let lane = ctx.lane",
        "  |              -------- differs between lanes",
        "...",
        "5 |   barrier(lane)",
        "  |   ^^^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("line", "marked", "shown", "underline"),
    [
        ("let a = b + 1", "b + 1", "let a = b + 1", "        ^^^^^"),
        ("\tlet a = b", "b", "    let a = b", "            ^"),
        ("a\tb", "b", "a   b", "    ^"),
        ("// 変数 x", "x", "// 変数 x", "        ^"),
        ("// 変数 x", "変数", "// 変数 x", "   ^^^^"),
        ("e\u0301 x", "x", "e\u0301 x", "  ^"),
        ("\u202ex y", "y", "\ufffdx y", "   ^"),
        ("a\x1b[31m y", "y", "a\ufffd[31m y", "       ^"),
    ],
    ids=["plain", "tab", "inner tab", "after wide", "wide", "combining", "bidi control", "escape"],
)
def test_columns_are_those_of_a_display(line: str, marked: str, shown: str, underline: str) -> None:
    lines = full(finding(line, marked), PLAIN).splitlines()
    assert lines[3:] == [f"1 | {shown}", f"  | {underline}"]


def test_a_span_of_several_lines_is_underlined_on_its_first() -> None:
    lines = full(finding("if a {\n  b\n}\n", "{\n  b\n}"), PLAIN).splitlines()
    assert lines[3:] == ["1 | if a {", "  |      ^"]


def test_a_place_at_the_end_of_the_file_is_marked() -> None:
    source = Source("k.ph", b"kernel k(")
    lines = full(Finding(source, Diagnostic("c", "error", 9, 9, "expected `)`")), PLAIN).splitlines()
    assert lines[1] == " --> k.ph:1:10"
    assert lines[3:] == ["1 | kernel k(", "  |          ^"]


def test_a_line_without_end_is_cut_around_the_mark() -> None:
    lines = full(finding("1 + " * 100_000 + "oops" + " + 1" * 100_000, "oops"), PLAIN).splitlines()
    shown, underline = lines[3], lines[4]
    assert len(shown) < 200
    assert shown[underline.index("^") : underline.rindex("^") + 1] == "oops"


def test_a_mark_longer_than_the_window_is_cut_with_it() -> None:
    text = "x" * 100_000
    lines = full(finding(text, text), PLAIN).splitlines()
    assert max(map(len, lines)) < 200


def test_an_empty_file_has_no_excerpt() -> None:
    found = Finding(Source("k.ph", b""), Diagnostic("c", "warning", 0, 0, "no kernel"))
    assert full(found, PLAIN).splitlines() == ["warning[c]: no kernel", " --> k.ph:1:1"]


def test_colours_do_not_move_anything() -> None:
    found = finding("let a = b", "b", help="h")
    style = Style(error="<e>", warning="<w>", note="<n>", strong="<s>", faint="<f>", end="</>")
    marked = full(found, style)
    assert "<e>" in marked
    for mark in ("<e>", "<w>", "<n>", "<s>", "<f>", "</>"):
        marked = marked.replace(mark, "")
    assert marked == full(found, PLAIN)


def test_the_concise_form_is_one_line_with_a_character_column() -> None:
    assert concise(finding("// 変数\n変 b", "b", "wrong"), PLAIN) == "k.ph:2:3: error[a-code]: wrong"


def test_json_counts_lines_from_0_and_characters_in_utf16_units() -> None:
    text = "x\r\n😀é b\n"
    start = text.encode().index(b"b")
    first = Related(0, 1, "first")
    source = Source("k.ph", text.encode())
    value = check_json([Finding(source, Diagnostic("a-code", "warning", start, start + 1, "wrong", (first,)))])
    assert json.loads(json.dumps(value)) == {
        "schema": "phobos.check/1",
        "diagnostics": [
            {
                "file": "k.ph",
                "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 5}},
                "severity": "warning",
                "code": "a-code",
                "message": "wrong",
                "related": [
                    {
                        "file": "k.ph",
                        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
                        "message": "first",
                    }
                ],
            }
        ],
    }


def test_findings_are_read_by_file_and_place() -> None:
    a, b = Source("a.ph", b"xyz"), Source("b.ph", b"xyz")
    later, earlier = Diagnostic("c", "error", 2, 3, "m"), Diagnostic("c", "error", 0, 1, "m")
    found = in_order([Finding(b, earlier), Finding(a, later), Finding(a, earlier)])
    assert [(f.source.name, f.diagnostic.start) for f in found] == [("a.ph", 0), ("a.ph", 2), ("b.ph", 0)]


def test_the_summary_counts_what_fails_and_what_warns() -> None:
    source = Source("k.ph", b"x")

    def of(*severities: str) -> list[Finding]:
        return [Finding(source, Diagnostic("c", s, 0, 1, "m")) for s in severities]  # type: ignore[arg-type]

    assert summary(of("error", "warning", "error", "note")) == "2 errors, 1 warning"
    assert summary(of("note")) == ""
