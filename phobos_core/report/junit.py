"""Findings as JUnit XML, which CI servers show as test results: a test case for each file, failed where it has errors.

In: the files looked at, and findings. Out: an XML document. Warnings and notes stand in the output of their case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from phobos_core.report.diagnostics import concise, full
from phobos_core.report.source import Finding
from phobos_core.report.style import PLAIN
from phobos_core.report.uris import relative

# What XML 1.0 has no spelling for.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(command: str, files: Sequence[str], findings: Sequence[Finding]) -> str:
    """`command` names the suite: "check" or "build"."""
    names = dict.fromkeys([*files, *(finding.source.name for finding in findings)])
    errors = [finding for finding in findings if finding.diagnostic.severity == "error"]
    suites = ElementTree.Element("testsuites")
    failed = {finding.source.name for finding in errors}
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        {"name": f"phobos {command}", "tests": str(len(names)), "failures": str(len(failed)), "errors": "0"},
    )
    for name in names:
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"phobos.{command}", "name": relative(name)})
        mine = [finding for finding in findings if finding.source.name == name]
        wrong = [finding for finding in mine if finding.diagnostic.severity == "error"]
        if wrong:
            first = wrong[0].diagnostic
            failure = ElementTree.SubElement(case, "failure", {"type": first.code, "message": _xml(first.message)})
            failure.text = _xml("\n\n".join(full(finding, PLAIN) for finding in wrong))
        rest = [finding for finding in mine if finding not in wrong]
        if rest:
            ElementTree.SubElement(case, "system-out").text = _xml("\n".join(concise(f, PLAIN) for f in rest))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
