"""`phobos fmt`: what it writes, what it only says, and its status."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Phobos

UGLY = "kernel k( A:tensor<f32>[4] ){A[0 :+ 4]=1.0}"
NICE = "kernel k(A: tensor<f32>[4]) {\n  A[0 :+ 4] = 1.0\n}\n"


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    path = tmp_path / "ugly.ph"
    path.write_bytes(UGLY.encode())
    return path


def test_a_file_is_rewritten(phobos: Phobos, ugly: Path) -> None:
    ran = phobos("fmt", ugly)
    assert (ran.status, ran.out, ran.err) == (0, "1 file reformatted\n", "")
    assert ugly.read_text() == NICE
    assert phobos("fmt", ugly).out == "1 file already in style\n"


def test_check_writes_nothing(phobos: Phobos, ugly: Path) -> None:
    ran = phobos("fmt", "--check", ugly)
    assert ran.status == 1
    assert ran.out == f"would reformat {ugly}\n1 file would be reformatted\n"
    assert ugly.read_text() == UGLY
    ugly.write_text(NICE)
    assert phobos("fmt", "--check", ugly).status == 0


def test_diff_shows_the_change(phobos: Phobos, ugly: Path) -> None:
    ran = phobos("fmt", "--diff", ugly)
    assert ran.status == 1
    assert f"-{UGLY}\n" in ran.out
    assert "+  A[0 :+ 4] = 1.0\n" in ran.out
    assert ugly.read_text() == UGLY


def test_a_file_with_a_syntax_error_is_left_and_the_others_are_not(phobos: Phobos, ugly: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.ph"
    broken.write_text("kernel k( {")
    ran = phobos("fmt", tmp_path)
    assert ran.status == 1
    assert "broken.ph" in ran.err
    assert broken.read_text() == "kernel k( {"
    assert ugly.read_text() == NICE
    assert ran.out == "1 file reformatted, 1 file not formatted, with a syntax error\n"


def test_a_byte_order_mark_and_line_ends_are_kept(phobos: Phobos, tmp_path: Path) -> None:
    path = tmp_path / "a.ph"
    path.write_bytes(b"\xef\xbb\xbf" + UGLY.replace("{", "{\r\n").encode())
    phobos("fmt", path)
    assert path.read_bytes() == b"\xef\xbb\xbf" + NICE.replace("\n", "\r\n").encode()


def test_standard_input(phobos: Phobos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert phobos("fmt", "-").out == NICE


def test_what_is_no_text_is_a_usage_error(phobos: Phobos, tmp_path: Path) -> None:
    path = tmp_path / "a.ph"
    path.write_bytes(b"\xff\xfe")
    assert phobos("fmt", path).status == 2


def test_beside_what_is_no_text_the_others_are_formatted(phobos: Phobos, ugly: Path, tmp_path: Path) -> None:
    (tmp_path / "a.ph").write_bytes(b"\xff\xfe")
    ran = phobos("fmt", tmp_path)
    assert ran.status == 2
    assert "a.ph is not UTF-8 text: byte 0xff on line 1" in ran.err
    assert ugly.read_text() == NICE
