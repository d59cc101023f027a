"""`phobos run`: from `.npy` files and values to `.npy` files, on both devices that need no GPU."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.cli.conftest import SAXPY, Phobos

TWO = SAXPY + SAXPY.replace("saxpy", "again").replace("f32>", "bf16>")

# A point store is not masked: this one lies past the end.
OUTSIDE = """\
kernel outside(X: tensor<f32>[N]) {
  X[N + 5] = 1.0
}
"""


@pytest.fixture
def arrays(tmp_path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.arange(300, dtype=np.float32)
    y = np.ones(300, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    return x, y


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_run_saves_what_the_kernel_stored(phobos: Phobos, saxpy: Path, arrays: Any, device: str) -> None:
    x, y = arrays
    ran = phobos("run", saxpy, "--grid", "3", "--device", device, "X=x.npy", "Y=y.npy", "a=2.5", "--save", "Y=out.npy")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    np.testing.assert_array_equal(np.load("out.npy"), 2.5 * x + y)
    np.testing.assert_array_equal(np.load("y.npy"), y)
    assert sorted(p.name for p in Path().glob("*.npy")) == ["out.npy", "x.npy", "y.npy"]


def test_arguments_may_stand_before_or_after_the_options(phobos: Phobos, saxpy: Path, arrays: Any) -> None:
    x, y = arrays
    ran = phobos("run", saxpy, "a=-1", "--kernel", "saxpy", "X=x.npy", "--grid", "1,1,1", "--config", "TILE=512",
                 "Y=y.npy", "--save", "Y=out.npy")  # fmt: skip
    assert (ran.status, ran.err) == (0, "")
    np.testing.assert_array_equal(np.load("out.npy"), y - x)


def test_bfloat16_goes_through_npy(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "two.ph").write_text(TWO)
    x = np.arange(8).astype(ml_dtypes.bfloat16)
    np.save("x.npy", x)
    np.save("y.npy", np.zeros(8, ml_dtypes.bfloat16))
    ran = phobos("run", "two.ph", "--kernel", "again", "--grid", "1", "X=x.npy", "Y=y.npy", "a=2", "--save", "Y=o.npy")
    assert (ran.status, ran.err) == (0, "")
    np.testing.assert_array_equal(np.load("o.npy").view(ml_dtypes.bfloat16), 2 * x)


def test_what_the_spec_leaves_unspecified_is_printed_and_saved(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "k.ph").write_text("kernel k(A: tensor<i32>[4]) {\n  A[0] = 8 / (ctx.blocks.x - 1)\n}\n")
    np.save("a.npy", np.zeros(4, np.int32))
    ran = phobos("run", "k.ph", "--device", "reference", "--grid", "1", "A=a.npy", "--save", "A=out.npy")
    assert (ran.status, ran.err) == (0, "")
    assert "warning[unspecified-value]" in ran.out
    assert Path("out.npy").exists()


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_what_a_device_finds_is_1_with_its_line(phobos: Phobos, tmp_path: Path, arrays: Any, device: str) -> None:
    (tmp_path / "outside.ph").write_text(OUTSIDE)
    ran = phobos("run", "outside.ph", "--grid", "1", "--device", device, "X=x.npy", "--save", "X=out.npy")
    assert ran.status == 1
    assert "error[" in ran.out
    assert "outside.ph:2:" in ran.out
    assert "2 |   X[N + 5] = 1.0" in ran.out
    assert not Path("out.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("X=x.npy", "Y=y.npy"), "`saxpy` also needs a"),
        (("X=x.npy", "Y=y.npy", "a=1", "b=2"), "`saxpy` has no parameter `b`; it has X, Y, a"),
        (("X=x.npy", "X=y.npy"), "`X` is given twice"),
        (("X",), "`X` is not NAME=FILE.npy or NAME=VALUE"),
        (("X=x.npy", "Y=absent.npy", "a=1"), "cannot read absent.npy for `Y`: No such file or directory"),
        (("X=x.npy", "Y=saxpy.ph", "a=1"), "saxpy.ph for `Y` is no .npy file"),
        (("X=x.npy", "Y=y.npy", "a=much"), "`much` is no value for `a`, a scalar of type f32"),
        (("X=x.npy", "Y=wide.npy", "a=1"), "`Y` is a tensor of f32: pass float32 elements, not float64"),
        (("X=x.npy", "Y=short.npy", "a=1"), "dimension N has two values: axis 0 of `Y` is 4, axis 0 of `X` is 300"),
        (("X=x.npy", "Y=y.npy", "a=1", "--save", "a=out.npy"), "--save a: `saxpy` has no tensor `a`; it has X, Y"),
        (("X=x.npy", "Y=y.npy", "a=1", "--save", "Y"), "`Y` is not --save NAME=OUT.npy"),
        (
            ("X=x.npy", "Y=y.npy", "a=1", "--kernel", "axpy"),
            "saxpy.ph has no kernel `axpy`; it has saxpy; did you mean",
        ),
        (("X=x.npy", "Y=y.npy", "a=1", "--device", "cuda"), "device `cuda` is not supported yet"),
        (("X=x.npy", "Y=y.npy", "a=1", "--config", "all"), "runs one configuration for one target"),
        (("X=x.npy", "Y=y.npy", "a=1", "--target", "sm_8"), "unknown target `sm_8`"),
        (("--frobnicate",), "unrecognized arguments: --frobnicate"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_are_2(phobos: Phobos, saxpy: Path, arrays: Any, arguments: tuple[str, ...], said: str) -> None:
    np.save("wide.npy", np.zeros(300))
    np.save("short.npy", np.zeros(4, np.float32))
    ran = phobos("run", saxpy, "--grid", "3", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def _npy(header: str) -> bytes:
    """A file of the .npy format's version 1.0, without data."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,), }\n"), "does not fit the memory"),
        (_npy("{'descr': '<f4', 'fort((((\n"), "is no .npy file of numbers"),
        (_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"), "is no .npy file of numbers"),
        (b"PK\x03\x04garbage", "is no .npy file of numbers"),
        (b"", "is no .npy file of numbers"),
    ],
    ids=["huge", "broken header", "objects", "broken zip", "empty"],
)
def test_a_file_that_is_no_array_is_2(phobos: Phobos, saxpy: Path, arrays: Any, content: bytes, said: str) -> None:
    Path("bad.npy").write_bytes(content)
    ran = phobos("run", saxpy, "--grid", "3", "X=x.npy", "Y=bad.npy", "a=1")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: bad.npy for `Y` {said}")


@pytest.mark.parametrize("grid", ["", "0", "1,2,3,4", "1,-1", "x", "1.5"])
def test_a_wrong_grid_is_2(phobos: Phobos, saxpy: Path, grid: str) -> None:
    ran = phobos("run", saxpy, f"--grid={grid}")
    assert ran.status == 2
    assert "is no grid" in ran.err


def test_several_kernels_need_a_name(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "two.ph").write_text(TWO)
    ran = phobos("run", "two.ph", "--grid", "1")
    assert ran.status == 2
    assert "two.ph has several kernels; choose one with --kernel: saxpy, again" in ran.err


def test_a_source_with_errors_is_1(phobos: Phobos, broken: Path) -> None:
    ran = phobos("run", broken, "--grid", "1")
    assert ran.status == 1
    assert "error[unknown-name]" in ran.out


def test_a_file_without_a_kernel_and_a_folder_are_2(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "empty.ph").touch()
    assert "empty.ph has no kernel" in phobos("run", "empty.ph", "--grid", "1").err
    assert phobos("run", "empty.ph", "--grid", "1").status == 2
    assert phobos("run", ".", "--grid", "1").err == "error: . is a folder; name one .ph file\n"


PRODUCT = """\
@launch(128)
kernel product(A: tensor<f32>[32, 32], B: tensor<f32>[32, 32], C: tensor<f32>[32, 32]) {
  var a = A[:, :]
  var b = B[:, :]
  C[:, :] = dot(a, b)
}
"""


def test_a_profile_tells_the_shared_traffic_of_each_line(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "product.ph").write_text(PRODUCT)
    np.save(tmp_path / "x.npy", np.zeros((32, 32), np.float32))
    ran = phobos("run", "product.ph", "--profile", "--grid", "1", "A=x.npy", "B=x.npy", "C=x.npy")
    assert ran.status == 0
    head, *rows, total = ran.out.splitlines()
    assert head.split()[:5] == ["line", "instruction", "bits", "times", "accesses"]
    # line, instruction, bits, x, times, accesses of a warp, passes, those of conflicts, degree
    cells = [[cell.replace(",", "") for cell in row.split()] for row in rows]
    for line in ("3", "4"):
        assert sum(int(c[2]) // 8 * 32 * int(c[5]) for c in cells if c[0] == line) == 32 * 32 * 4
    for _, _, bits, _, _, accesses, passes, conflicts, degree in cells:
        phases = max(1, int(bits) // 32) * int(accesses)
        assert int(passes) == phases + int(conflicts) <= phases * int(degree)
    assert f"of {sum(int(c[6]) for c in cells):,} passes" in total


def test_a_profile_needs_the_emulator(phobos: Phobos, saxpy: Path, arrays: Any) -> None:
    ran = phobos("run", saxpy, "--profile", "--device", "reference", "--grid", "1", "X=x.npy", "Y=y.npy", "a=1")
    assert (ran.status, ran.out) == (2, "")
    assert "--profile needs --device emulator" in ran.err


RACY = """\
@launch(64)
kernel racy(O: tensor<i32>[64]) {
  var s: tile<i32>[1, 64]
  s[0, ctx.thread] = ctx.thread
  O[ctx.thread] = s[0, 63 - ctx.thread]
}
"""


def test_a_finding_under_a_schedule_names_its_seed(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "racy.ph").write_text(RACY)
    np.save("o.npy", np.zeros(64, np.int32))
    ran = phobos("run", "racy.ph", "--schedule", "17", "--grid", "1", "O=o.npy")
    assert ran.status == 1
    assert "(schedule 17)" in ran.out


def test_a_run_under_a_schedule_gives_the_same(phobos: Phobos, saxpy: Path, arrays: Any) -> None:
    x, y = arrays
    ran = phobos("run", saxpy, "--schedule", "3", "--grid", "3", "X=x.npy", "Y=y.npy", "a=2", "--save", "Y=out.npy")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    np.testing.assert_array_equal(np.load("out.npy"), 2 * x + y)


def test_a_schedule_needs_the_emulator(phobos: Phobos, saxpy: Path, arrays: Any) -> None:
    ran = phobos("run", saxpy, "--schedule", "1", "--device", "reference", "--grid", "1", "X=x.npy", "Y=y.npy", "a=1")
    assert (ran.status, ran.out) == (2, "")
    assert "--schedule needs --device emulator" in ran.err


def test_a_profile_of_a_kernel_without_shared_memory(phobos: Phobos, saxpy: Path, arrays: Any) -> None:
    ran = phobos("run", saxpy, "--profile", "--grid", "3", "X=x.npy", "Y=y.npy", "a=1")
    assert (ran.status, ran.err) == (0, "")
    assert "no access to shared memory" in ran.out


COUNTING = """\
@launch(32)
kernel count(C: tensor<i32>[32], n: i32) {
  var i = 0
  while i < n { i += C[ctx.thread] }
  C[ctx.thread] = i
}
"""


def test_a_limit_on_instructions_may_be_set(phobos: Phobos, tmp_path: Path) -> None:
    (tmp_path / "count.ph").write_text(COUNTING)
    np.save(tmp_path / "c.npy", np.ones(32, np.int32))
    command = ("run", "count.ph", "--grid", "1", "C=c.npy", "n=500", "--save", "C=out.npy")
    ran = phobos(*command, "--max-instructions", "300")
    assert ran.status == 1
    assert ran.out.startswith("error[endless-loop]: the loop still runs after 300 instructions in block 0, thread 0")
    assert "count.ph:4:" in ran.out
    assert "`--max-instructions`" in ran.out
    assert not Path("out.npy").exists()
    assert phobos(*command, "--max-instructions", "30000").status == 0
    assert (np.load("out.npy") == 500).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-instructions", "0"), "`0` is no positive number"),
        (("--max-instructions", "many"), "`many` is no positive number"),
        (("--max-instructions", "9", "--device", "reference"), "--max-instructions needs --device emulator"),
    ],
)
def test_a_wrong_limit_is_2(phobos: Phobos, saxpy: Path, arrays: Any, options: tuple[str, ...], said: str) -> None:
    ran = phobos("run", saxpy, *options, "--grid", "1", "X=x.npy", "Y=y.npy", "a=1")
    assert ran.status == 2
    assert said in ran.err
