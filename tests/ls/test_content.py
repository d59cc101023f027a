"""What a build depends on: a kernel, the functions that it reaches and the settings; and the text that is built."""

from __future__ import annotations

from typing import Any

import pytest

from phobos_core.syntax import LineIndex
from phobos_ls.builds.content import Key, content_of, job_of, shown_key
from phobos_ls.builds.work import compile_job
from phobos_ls.settings import read_settings
from tests.ls.cursor import cursor

FUNCTIONS = "fn half(x) = x * 0.5\nfn quarter(x) = half(half(x))\nfn unused(x) = x\n"
KERNEL = """\
@autotune(T in [8, 16])
kernel k(A: tensor<f32>[N, 16]) {
  let i = ctx.thread
  if i < T {
    A[i, 0] = quarter(A[i, 0])
  }
}
"""
OTHER = "kernel other(A: tensor<f32>[64]) {\n  A[ctx.thread] = 1.0\n}\n"
TEXT = f"{FUNCTIONS}\n{OTHER}\n{KERNEL}"


def key(text: str, **settings: Any) -> Key:
    snapshot = cursor(text, read_settings(settings)[0]).snapshot
    kernel = next(kernel for kernel in snapshot.kernels() if kernel.ast.name.text == "k")
    return shown_key(snapshot, kernel, content_of(snapshot, kernel))


@pytest.mark.parametrize(
    "same",
    [
        f"// é\n\n{TEXT}",
        f"{KERNEL}\n{FUNCTIONS}",
        TEXT.replace("fn unused(x) = x", "fn unused(x) = x + x"),
        TEXT.replace("= 1.0", "= (")  # a mistake in the other kernel
        .replace("unused", "unknown"),
        TEXT.replace("fn half(x) = x * 0.5\nfn quarter(x) = half(half(x))", "fn quarter(x) = half(half(x))\n"
                     "fn half(x) = x * 0.5"),
    ],
)  # fmt: skip
def test_what_changes_nothing(same: str) -> None:
    assert key(same) == key(TEXT)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("0.5", "0.25"),
        TEXT.replace("half(half(x))", "half(x)"),
        TEXT.replace("A[i, 0]", "A[i, 1]"),
        TEXT.replace("[8, 16]", "[16, 8]"),
    ],
)
def test_what_changes_a_build(other: str) -> None:
    assert key(other) != key(TEXT)


@pytest.mark.parametrize(
    "settings",
    [{"target": "sm_90"}, {"config": {"T": 16}}, {"dims": {"N": 64}}, {"indexBits": 32}, {"ptxas": "/no/such"}],
)
def test_the_settings_change_a_build(settings: dict[str, Any]) -> None:
    assert key(TEXT, **settings) != key(TEXT)


def test_a_value_that_is_no_choice_is_passed_over() -> None:
    assert key(TEXT, config={"T": 5, "U": 1}) == key(TEXT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_job_has_nothing_else_and_every_line_where_it_was(end: str) -> None:
    text = TEXT.replace("\n", end)
    snapshot = cursor(text).snapshot
    kernel = list(snapshot.kernels())[-1]
    content = content_of(snapshot, kernel)
    job, items = job_of(snapshot, content, shown_key(snapshot, kernel, content), machine_code=False)
    before, after = LineIndex(text.encode()), LineIndex(job.text)
    kept = {number: after.line(number) for number in range(len(after.starts)) if after.line(number).strip()}
    assert all(before.line(number) == line for number, line in kept.items())
    said = b"".join(kept.values())
    assert b"other" not in said
    assert b"unused" not in said
    assert [job.text[item.start : item.end] for item in items] == [
        text.encode()[item.start : item.end] for item in content.items
    ]
    build = compile_job(job)
    assert not build.failed
    assert build.report is not None
    assert build.report.line == text.count(end, 0, text.index("kernel k")) + 1


def test_items_that_share_a_line() -> None:
    text = "fn f(x) = x * 2.0; fn g(x) = f(x); kernel k(A: tensor<f32>[64]) { A[ctx.thread] = g(A[ctx.thread]) }"
    snapshot = cursor(text).snapshot
    (kernel,) = snapshot.kernels()
    content = content_of(snapshot, kernel)
    job, _ = job_of(snapshot, content, shown_key(snapshot, kernel, content), machine_code=False)
    assert job.text == text.encode()
    assert not compile_job(job).failed
