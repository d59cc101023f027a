"""What holds for every test: no deadlines; and in CI, which installs everything that a test may ask for, no skips."""

import os
from collections.abc import Generator
from typing import TypeVar

import hypothesis
import pytest

# How long an example takes says nothing of a kernel, and much of what else the machine does.
hypothesis.settings.register_profile("phobos", deadline=None)
hypothesis.settings.load_profile("phobos")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return not_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of a module that skips itself."""
    return not_skipped((yield))


def not_skipped(report: Report) -> Report:
    if os.environ.get("PHOBOS_TEST_NO_SKIP") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.nodeid}: {report.longrepr}"
    return report
