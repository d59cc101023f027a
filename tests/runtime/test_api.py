"""The Python interface as its users call it."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.emulator import Finding
from phobos_core.report.source import Source
from phobos_core.runtime.devices import placed
from phobos_core.toolchain import find, ptxas

SAXPY = """\
@autotune(TILE in [128, 512])
@aligned(N = 4)
kernel saxpy(X: tensor<f32>[N], Y: tensor<f32>[N], a: f32) {
  let at = ctx.block.x * TILE
  Y[at :+ TILE] = a * X[at :+ TILE] + Y[at :+ TILE]
}
"""
WRONG = SAXPY.replace("a * X", "b * X")
OUTSIDE = "kernel outside(X: tensor<f32>[N]) {\n  X[N + 5] = 1.0\n}\n"

LOADED = """
import sys, phobos_core
phobos_core.check_text("kernel k() {}")
print(*(name for name in ("numpy", "ml_dtypes", "llvmlite") if name in sys.modules))
"""


@pytest.fixture(scope="module")
def saxpy() -> phobos.Kernel:
    return phobos.compile_text(SAXPY, name="saxpy.ph")["saxpy"]


def f32(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def test_a_file_compiles_to_a_module_of_kernels(tmp_path: Path) -> None:
    path = tmp_path / "two.ph"
    path.write_text(SAXPY + SAXPY.replace("saxpy", "again"))
    module = phobos.compile(path, target="sm_90", config={"TILE": 256}, dims={"N": 1024})
    assert list(module) == ["saxpy", "again"]
    kernel = module["again"]
    assert ".visible .entry again(" in kernel.ptx
    assert ".target sm_90" in kernel.ptx
    assert (kernel.name, kernel.target, dict(kernel.config)) == ("again", "sm_90", {"TILE": 256})
    with pytest.raises(KeyError, match="no kernel `other`; the module has saxpy, again"):
        module["other"]


def test_the_report_is_the_json_object_with_its_keys_as_attributes_too(saxpy: phobos.Kernel) -> None:
    report = saxpy.report
    assert report["kernel"] == report.kernel == "saxpy"
    assert report["file"] == "saxpy.ph"
    assert report["config"] == {"TILE": 128}
    assert report.launch.threads == report["launch"]["threads"] == 256
    assert report.params[0].dims == ["N"]
    if ptxas.for_target("sm_80"):
        assert report.resources.registers > 0
    with pytest.raises(AttributeError, match="no 'frobs'"):
        _ = report.frobs


def test_without_ptxas_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(find.OVERRIDE, "/absent")
    report = phobos.compile_text(SAXPY)["saxpy"].report
    assert report.resources.registers is None
    assert any("no ptxas found" in note for note in report.notes)


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_launch_changes_the_arrays_in_place(saxpy: phobos.Kernel, device: Any) -> None:
    x, y = np.arange(200, dtype=np.float32), np.ones(200, np.float32)
    saxpy.launch((2,), x, y, 3.0, device=device)
    np.testing.assert_array_equal(y, 3 * np.arange(200) + 1)
    np.testing.assert_array_equal(x, np.arange(200))


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_grid_covers_what_it_covers(saxpy: phobos.Kernel, device: Any) -> None:
    x, y = np.ones(200, np.float32), np.zeros(200, np.float32)
    saxpy.launch(1, x, y, 1.0, device=device)
    np.testing.assert_array_equal(y, np.arange(200) < 128)


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_broken_promise_raises_at_the_launch(saxpy: phobos.Kernel, device: Any) -> None:
    y = np.zeros(6, np.float32)
    with pytest.raises(phobos.LaunchError, match="@aligned promises that N is a multiple of 4, and it is 6"):
        saxpy.launch(1, np.ones(6, np.float32), y, 1.0, device=device)
    assert not y.any()


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_what_the_device_finds_is_raised_with_its_place(device: Any) -> None:
    kernel = phobos.compile_text(OUTSIDE, name="outside.ph")["outside"]
    with pytest.raises(phobos.KernelFault, match=r"outside\.ph:2:") as caught:
        kernel.launch(1, f32(1, 2, 3, 4), device=device)
    assert caught.value.findings


def test_what_the_spec_leaves_unspecified_is_a_warning_of_the_reference() -> None:
    source = "kernel k(A: tensor<i32>[4]) {\n  A[0] = 8 / (ctx.blocks.x - 1)\n}\n"
    kernel = phobos.compile_text(source, name="k.ph")["k"]
    with pytest.warns(RuntimeWarning, match=r"(?s)unspecified-value.*k\.ph:2:10"):
        kernel.launch(1, np.zeros(4, np.int32), device="reference")
    array = np.zeros(4, np.int32)
    kernel.launch(2, array, device="reference")
    assert array[0] == 8


def test_an_emulator_finding_shows_both_places_of_a_race() -> None:
    found = Finding("race-global", "two threads", 2, 20, (0, 0, 0), (1, 0, 0), 64, 3, 30)
    source = Source("k.ph", b"kernel k() {\n  A[0] = 1.0\n  A[1] = 2.0\n}\n")
    diagnostic = placed(source, found).diagnostic
    assert diagnostic.message == "two threads in block 0, thread 1"
    assert source.text[diagnostic.start : diagnostic.end] == b"A[0] = 1.0"
    [other] = diagnostic.related
    assert source.text[other.start : other.end] == b"A[1] = 2.0"


def test_a_profile_runs_the_kernel_and_counts_what_its_threads_do() -> None:
    source = (
        "@launch(64)\nkernel rows(X: tensor<f32>[4, 64], Y: tensor<f32>[4, 1]) {\n"
        "  var t = X[:, :]\n  Y[:, :] = rowsum(dot_t(t, t))\n}\n"
    )
    x, y = np.ones((4, 64), np.float32), np.zeros((4, 1), np.float32)
    profile = phobos.compile_text(source)["rows"].profile(1, x, y)
    np.testing.assert_array_equal(y, np.full((4, 1), 256.0))
    assert profile.instructions >= 64
    staged = [each for each in profile.shared if each.line == 3]
    assert sum(each.bits // 8 * 32 * each.accesses for each in staged) == 4 * 64 * 4
    assert [each.line for each in profile.shared] == sorted(each.line or 0 for each in profile.shared)
    assert all(each.degree >= 1 and each.conflicts == each.passes - each.phases >= 0 for each in profile.shared)


@pytest.mark.parametrize("limit", [0, -1, "9", 1.5])
def test_a_limit_on_instructions_is_a_positive_number_of_the_emulator(saxpy: phobos.Kernel, limit: Any) -> None:
    x, y = f32(1, 2, 3, 4), f32(0, 0, 0, 0)
    with pytest.raises(phobos.LaunchError, match="`max_instructions` is a positive number"):
        saxpy.launch(1, x, y, 2.0, max_instructions=limit)
    with pytest.raises(phobos.LaunchError, match="for the device `emulator`"):
        saxpy.launch(1, x, y, 2.0, device="reference", max_instructions=100)
    saxpy.launch(1, x, y, 2.0, max_instructions=100_000)
    np.testing.assert_array_equal(y, 2 * x)


def test_devices_that_there_are_not(saxpy: phobos.Kernel) -> None:
    with pytest.raises(phobos.LaunchError, match="`cuda` is not supported yet"):
        saxpy.launch(1, f32(1, 2, 3, 4), f32(1, 2, 3, 4), 1.0, device="cuda")
    with pytest.raises(phobos.LaunchError, match="no device `gpu`"):
        saxpy.launch(1, f32(1, 2, 3, 4), f32(1, 2, 3, 4), 1.0, device="gpu")  # type: ignore[arg-type]


def test_a_wrong_source_raises_its_diagnostics() -> None:
    with pytest.raises(phobos.CompileError) as caught:
        phobos.compile_text(WRONG, name="wrong.ph")
    assert [d.code for d in caught.value.diagnostics] == ["unknown-name"]
    assert "wrong.ph:5:19" in str(caught.value)
    assert "5 |   Y[at :+ TILE] = b * X[at :+ TILE] + Y[at :+ TILE]" in str(caught.value)


def test_what_only_the_build_finds_is_raised_too() -> None:
    source = "kernel k(A: tensor<f32>[128, 128]) {\n  var t = A[:, :]\n  A[:, :] = transpose(t)\n}\n"
    with pytest.raises(phobos.CompileError) as caught:
        phobos.compile_text(source)
    assert [d.code for d in caught.value.diagnostics] == ["over-shared-limit"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "sm_81"}, "unknown target `sm_81`"),
        ({"config": {"TILE": 96}}, "TILE=96 is not a choice of kernel `saxpy`: 128, 256, 512"),
        ({"config": {"TILES": 128}}, "no kernel has an @autotune name `TILES`"),
        ({"dims": {"M": 128}}, "no kernel has a dynamic dimension or @autotune name `M`"),
        ({"target": 80}, "a target is a text such as 'sm_80', not 80"),
        ({"target": "sm_80,sm_90"}, "give --target once for each"),
        ({"config": "all"}, "`config` is a mapping from names to integers, not 'all'"),
        ({"config": {1: 2}}, "`config` is a mapping from names to integers, and 1 is no name"),
        ({"config": {"TILE": 128.0}}, "128.0 is no value for `TILE`: it is an integer from 1 to 2147483647"),
        ({"config": {"TILE": "128"}}, "'128' is no value for `TILE`"),
        ({"dims": {"N": 2.5}}, "2.5 is no value for `N`"),
        ({"dims": {"N": True}}, "True is no value for `N`"),
        ({"dims": {"N": 0}}, "0 is no value for `N`"),
        ({"dims": {"N": 2**31}}, "2147483648 is no value for `N`"),
        ({"index_bits": 16}, "an index has 32 or 64 bits, not 16"),
    ],
)
def test_wrong_arguments_raise_what_is_wrong_with_them(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(phobos.UsageError, match=said):
        phobos.compile_text(SAXPY, **arguments)


def test_numbers_of_numpy_are_integers_too() -> None:
    module = phobos.compile_text(SAXPY, config={"TILE": np.int64(256)}, dims={"N": np.uint16(1024)})  # type: ignore[dict-item]
    plain = phobos.compile_text(SAXPY, config={"TILE": 256}, dims={"N": 1024})
    assert module["saxpy"].ptx == plain["saxpy"].ptx


def test_a_source_may_be_any_bytes_and_nothing_else() -> None:
    assert phobos.check_text(bytearray(SAXPY.encode())) == []  # type: ignore[arg-type]
    for call in (phobos.check_text, phobos.compile_text):
        with pytest.raises(TypeError, match="a source is a str or bytes, not int"):
            call(5)  # type: ignore[operator]


def test_errors_come_whole_out_of_another_process() -> None:
    with pytest.raises(phobos.CompileError) as wrong:
        phobos.compile_text(WRONG)
    kernel = phobos.compile_text(OUTSIDE, name="outside.ph")["outside"]
    with pytest.raises(phobos.KernelFault) as fault:
        kernel.launch(1, f32(1, 2, 3, 4))
    for error in (wrong.value, fault.value):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))
        assert list(copy.findings) == list(error.findings)


def test_a_file_that_cannot_be_read_raises_what_open_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        phobos.compile(tmp_path / "absent.ph")
    (tmp_path / "binary.ph").write_bytes(b"\xff\xfe\0")
    with pytest.raises(phobos.UsageError, match=r"binary\.ph is not UTF-8 text"):
        phobos.compile(tmp_path / "binary.ph")


def test_checking_gives_diagnostics() -> None:
    assert phobos.check_text(SAXPY) == []
    [found] = phobos.check_text(WRONG, name="wrong.ph", target="sm_75")
    assert (found.code, found.severity) == ("unknown-name", "error")
    assert WRONG.encode()[found.start : found.end] == b"b"


@pytest.mark.parametrize(
    "text", ["", "\0", "kernel", "}{", "kernel k(", "\ud800", "é" * 1000, "(" * 5000, "kernel k() {" * 300, b"\xff\xfe"]
)
def test_checking_never_raises(text: str | bytes) -> None:
    for found in phobos.check_text(text):
        assert found.message


def test_checking_loads_neither_numpy_nor_llvm() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_names_of_the_package() -> None:
    assert set(phobos.__all__) <= set(dir(phobos))
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        _ = phobos.frobnicate


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_long_sum_and_a_long_chain_of_else_are_nothing_special(device: Any, tmp_path: Path) -> None:
    """As a generator writes them; compiled in another process too, which gets the checked kernel by pickling."""
    total = " + ".join(f"X[t] * {n}.0" for n in range(300))
    chain = " else ".join(f"if t == {n} {{ O[t] += {n}.0 }}" for n in range(300))
    source = (
        "@launch(320)\nkernel k(X: tensor<f32>[320], O: tensor<f32>[320]) {\n"
        f"  let t = ctx.thread\n  O[t] = {total}\n  {chain}\n}}\n"
    )
    o = np.zeros(320, np.float32)
    phobos.compile_text(source)["k"].launch(1, np.ones(320, np.float32), o, device=device)
    t = np.arange(320)
    np.testing.assert_array_equal(o, sum(range(300)) + np.where(t < 300, t, 0))
    (tmp_path / "k.ph").write_text(source)
    (tmp_path / "m.ph").write_text(source)
    command = [sys.executable, "-m", "phobos_core", "build", str(tmp_path), "--jobs", "2", "-o", str(tmp_path / "out")]
    assert subprocess.run(command, capture_output=True, cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "out").rglob("*.ptx"))) == 2
