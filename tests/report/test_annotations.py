"""The formats that CI services read: workflow commands of GitHub, SARIF 2.1.0, JUnit XML."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from phobos_core.language.diagnostic import Diagnostic, Related, Severity
from phobos_core.report.github import workflow_commands
from phobos_core.report.junit import junit_xml
from phobos_core.report.sarif import sarif_log
from phobos_core.report.source import Finding, Source

TEXT = "let a = 😀b\nlet c = d\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def finding(
    start: int = 12,
    end: int = 13,
    severity: Severity = "error",
    message: str = "no `b`",
    name: str = "src/a.ph",
    text: str = TEXT,
    related: Sequence[Related] = (),
) -> Finding:
    return Finding(
        Source(name, text.encode()), Diagnostic("unknown-name", severity, start, end, message, tuple(related))
    )


# GitHub


def test_a_workflow_command() -> None:
    (line,) = workflow_commands([finding()])
    assert line == "::error file=src/a.ph,line=1,endLine=1,col=10,endColumn=11,title=unknown-name::no `b`"


def test_what_has_a_meaning_in_workflow_commands_is_escaped() -> None:
    (line,) = workflow_commands([finding(message="50 %\nof: a, b", name="a,b:c%.ph")])
    assert "file=a%2Cb%3Ac%25.ph," in line
    assert line.endswith("::50 %25%0Aof: a, b")


def test_a_place_over_several_lines_has_no_columns() -> None:
    (line,) = workflow_commands([finding(4, 20)])
    assert "line=1,endLine=2,title" in line


def test_at_most_ten_of_a_kind_and_errors_first() -> None:
    given = [finding(severity="warning"), *[finding() for _ in range(12)], finding(severity="note")]
    lines = list(workflow_commands(given))
    assert [line.partition(" ")[0] for line in lines] == ["::error"] * 10 + ["::warning", "::notice"]
    assert lines[9] == "::error title=phobos::and 3 more errors, which the log of this step lists"


def test_ten_are_all_shown() -> None:
    assert sum("more" in line for line in workflow_commands([finding() for _ in range(10)])) == 0


# SARIF


def test_a_sarif_log() -> None:
    log = sarif_log([finding(related=[Related(0, 3, "declared here")])])
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] == "utf16CodeUnits"
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert (rule["id"], result["ruleId"], result["ruleIndex"], result["level"]) == (
        "unknown-name",
        "unknown-name",
        0,
        "error",
    )
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/a.ph", "uriBaseId": "SRCROOT"}
    # The emoji is two UTF-16 units.
    assert place["region"] == {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 12}
    assert result["relatedLocations"][0]["message"] == {"text": "declared here"}


def test_every_base_id_is_declared() -> None:
    (run,) = sarif_log([finding()])["runs"]
    assert "SRCROOT" in run["originalUriBaseIds"]


def test_a_file_elsewhere_has_a_whole_uri() -> None:
    (run,) = sarif_log([finding(name="/else where/a.ph")])["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///else%20where/a.ph"}


def fingerprints(*findings: Finding) -> list[str]:
    (run,) = sarif_log(findings)["runs"]
    return [result["partialFingerprints"]["phobos/1"] for result in run["results"]]


def test_a_fingerprint_stays_when_text_moves() -> None:
    moved = finding(12 + 5, 13 + 5, text="\n\n\n\n\n" + TEXT)
    assert fingerprints(finding()) == fingerprints(moved)


def test_fingerprints_tell_results_apart() -> None:
    first, second, third = fingerprints(finding(), finding(), finding(4, 5))
    assert len({first, second, third}) == 3


# JUnit


def test_a_junit_document() -> None:
    found = [finding(), finding(severity="warning", name="b.ph")]
    suite = ElementTree.fromstring(junit_xml("check", ["src/a.ph", "b.ph", "c.ph"], found)).find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("phobos check", "3", "1")
    cases = {case.get("name"): case for case in suite}
    assert set(cases) == {"src/a.ph", "b.ph", "c.ph"}
    failure = cases["src/a.ph"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("unknown-name", "no `b`")
    assert "src/a.ph:1:10" in (failure.text or "")
    assert cases["b.ph"].find("failure") is None
    assert "warning[unknown-name]" in (cases["b.ph"].findtext("system-out") or "")
    assert len(cases["c.ph"]) == 0


def test_what_xml_cannot_hold_is_replaced() -> None:
    document = junit_xml("check", [], [finding(message="a\x00b\x1bc")])
    assert "a\ufffdb\ufffdc" in document
    ElementTree.fromstring(document)
