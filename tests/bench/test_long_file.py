"""The file that the benchmarks of the checker and of the language server read: right, and as long as it is asked."""

import pytest

from bench.check_speed import PER_THREAD, examples, long_file
from bench.language_server import EDITED, phobos_source
from phobos_core.analysis import check
from phobos_core.syntax import parse


@pytest.mark.parametrize("sources", [examples(), [PER_THREAD.read_text(encoding="utf-8")]], ids=["tiles", "threads"])
def test_a_long_file_has_as_many_lines_and_no_errors(sources: list[str]) -> None:
    text = long_file(sources, 1500)
    longest = max(source.count("\n") for source in sources)
    assert 1500 <= text.count("\n") <= 1500 + longest + 1
    assert [found for found in check(parse(text)).diagnostics if found.severity == "error"] == []


def test_the_place_that_is_edited_is_in_a_kernel() -> None:
    text = phobos_source(1000)
    assert text.count(EDITED) == 1
    assert [found for found in check(parse(text)).diagnostics if found.severity == "error"] == []
