"""Lines of what is compiled and run from the bodies of functions."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest

import phobos_core as phobos

# Line numbers matter below.
SOURCE = """\
fn scaled(x, s) =
  exp(x) *
  s

kernel k(A: tensor<f32>[64, 64], P: tensor<i32>[4], n: i32) {
  var t = scaled(A[:, :], 2.0)
  put(t, n)
  A[:, :] = transpose(t)
}

fn put(t, i) {
  t[get(i), 0] =
    7.0
  let rest = n % i
  P[1] = rest
}

fn get(i) = P[
  i]
"""


@pytest.fixture(scope="module")
def kernel() -> Any:
    return phobos.compile_text(SOURCE, name="functions.ph")["k"]


def arrays() -> tuple[Any, Any]:
    return np.zeros((64, 64), np.float32), np.array([1, 0, 3, 0], np.int32)


def test_the_instructions_of_a_body_have_its_lines(kernel: Any) -> None:
    line, lines = 0, {}
    for text in kernel.ptx.splitlines():
        found = re.match(r"\s*\.loc\s+\d+\s+(\d+)", text)
        if found:
            line = int(found[1])
        elif text.startswith("\t"):
            lines.setdefault(text.split()[0].split(".")[0], set()).add(line)
    assert lines["ex2"] == {2}
    assert lines["rem"] == {14}


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_fault_in_a_body_is_shown_there(kernel: Any, device: Any) -> None:
    with pytest.raises(phobos.KernelFault) as caught:
        kernel.launch(1, *arrays(), 4, device=device)
    [found] = {finding.diagnostic.start: finding.diagnostic for finding in caught.value.findings}.values()
    assert SOURCE[: found.start].count("\n") + 1 == 18
    assert "functions.ph:18:" in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)


def test_the_reference_shows_the_calls_of_a_fault(kernel: Any) -> None:
    with pytest.raises(phobos.KernelFault) as caught:
        kernel.launch(1, *arrays(), 4, device="reference")
    [finding] = caught.value.findings
    related = [(SOURCE[r.start : r.end], r.message) for r in finding.diagnostic.related]
    assert related == [("get(i)", "`get` is called here"), ("put(t, n)", "`put` is called here")]


def test_a_remark_on_a_body_is_shown_there(kernel: Any) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        kernel.launch(1, *arrays(), 0, device="reference")
    assert ["functions.ph:14:14" in str(each.message) for each in warned] == [True]


def test_a_body_in_a_kernel_that_moved(kernel: Any) -> None:
    moved = phobos.compile_text("// down\n\n" + SOURCE, name="functions.ph")["k"]
    with pytest.raises(phobos.KernelFault, match=r"functions\.ph:20:"):
        moved.launch(1, *arrays(), 4, device="emulator")


def test_the_report_has_the_lines_of_a_body() -> None:
    function = "fn use(t) {\n  var s = t[:, :]\n  t[:, :] = transpose(s)\n}\n"
    report = phobos.compile_text("kernel k(A: tensor<f32>[4, 4]) {\n  use(A)\n}\n" + function)["k"].report
    assert [(tile["name"], tile["line"]) for tile in report["tiles"]] == [("s", 5)]
