"""What the report tells of each access: names, widths with their reasons, costs; and its JSON, its text, its page.

Bank degrees and sectors of real kernels are compared with the emulator in `tests/differential/test_accesses.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import phobos_core as phobos
from phobos_core.report import text
from phobos_core.report.accesses.collect import memory_accesses
from phobos_core.report.accesses.model import BankUse, MemoryAccess, SectorUse
from phobos_core.report.accesses.text import described, summary
from phobos_core.report.source import Source
from phobos_core.report.style import PLAIN
from phobos_core.runtime import frontend
from phobos_core.runtime.compiler import Request, compile_kernel
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.options import Options
from phobos_core.toolchain import ptxas, sass
from tests.spec.harness import read_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "memory-accesses.md"


def accesses(source: str, **options: Any) -> tuple[MemoryAccess, ...]:
    (kernel,) = phobos.compile_text(source, **options).values()
    return memory_accesses(kernel._kernel, kernel.ptx)


def one(found: tuple[MemoryAccess, ...], name: str, kind: str, space: str = "global") -> MemoryAccess:
    (access,) = [a for a in found if (a.name, a.kind, a.space) == (name, kind, space)]
    return access


COPY = """\
@launch(128)
{attribute}kernel k(A: tensor<{type}>[M, K], B: tensor<{type}>[M, K]) {{
  B[0 :+ 32, 0 :+ 64] = A[0 :+ 32, 0 :+ 64]
}}
"""


@pytest.mark.parametrize(("type", "size", "needed"), [("f16", 8, 8), ("i8", 4, 16), ("f32", 16, 4)])
def test_rows_that_the_launch_gives_are_as_wide_as_their_extent_is_known_to_allow(
    type: str, size: int, needed: int
) -> None:
    """Extents are taken for multiples of 4; what a promise would allow is what it does allow."""
    found = accesses(COPY.format(type=type, attribute=""))
    for name, kind in (("A", "load"), ("B", "store")):
        access = one(found, name, kind)
        assert (access.bytes, access.dtype, access.line, access.lanes) == (size, type, 3, 32)
        if size < 16:
            assert access.why_not_wider == (
                f"rows of `{name}` start at multiples of {size} bytes only: K is not known to be a multiple of "
                f"{needed}; `@aligned(K = {needed})` would allow 16 bytes"
            )
    promised = accesses(COPY.format(type=type, attribute=f"@aligned(K = {needed})\n"))
    assert {(a.bytes, a.why_not_wider) for a in promised} == {(16, None)}


@pytest.mark.parametrize(
    ("statement", "name", "kind", "size", "why"),
    [
        ("C[:, :] = A[:, 1 :+ 6]", "A", "load", 4, "its rows have 6 elements|starts at multiples of 4 bytes only.* 1,"),
        ("C[:, :] = A[:, 1 :+ 6]", "C", "store", 4, "`A` is accessed in the same runs"),
        ("C[:, :] = A[:, 8 :+ 6]", "C", "store", 8, "its rows have 6 elements, no multiple of 4"),
        ("B[:, :] = transpose(A[:, :])", "A", "load", 4, "elements of different rows of `A`"),
        ("B[:, :] = B[:, :] * D[:, :]", "D", "load", 4, "one element of each row of `D`"),
        ("D[:, :] = rowsum(A[:, :])", "D", "store", 4, "its rows have one element"),
        ("B[0 :+ 8, 0 :+ 8] = A[0 :+ 8, s :+ 8]", "A", "load", 4, "`s` is not known to be a multiple of 4"),
        (
            "B[0 :+ 8, 0 :+ 8] = A[0 :+ 8, ctx.block.x * 2 :+ 8]",
            "A",
            "load",
            8,
            "ctx.block.x is not known to be a multiple of 2",
        ),
        ("B[0 :+ 1, :] = gather(A[0, :], I[:, :])", "A", "load", 4, "each element is at an index of its own"),
        ("B[0, 0] = 1.0", "B", "store", 4, "a single element is written"),
        ("E[:, :] = f16(A[:, :])", "E", "store", 8, "`A` is accessed in the same runs, 16 bytes at a time"),
        ("B[:, :] = cumsum(A[:, :])", "A", "load", 4, "goes down a column"),
    ],
)
def test_why_an_access_is_no_wider(statement: str, name: str, kind: str, size: int, why: str) -> None:
    source = f"""\
@launch(32)
kernel k(A: tensor<f32>[64, 64], B: tensor<f32>[64, 64], C: tensor<f32>[64, 6], D: tensor<f32>[64, 1],
         E: tensor<f16>[64, 64], I: tensor<i32>[1, 64], s: i32) {{
  {statement}
}}
"""
    access = one(accesses(source), name, kind)
    assert access.bytes == size
    assert access.why_not_wider is not None
    assert re.search(why, access.why_not_wider), access.why_not_wider


@pytest.mark.parametrize(
    ("statement", "name", "kind", "size", "why"),
    [
        ("store(O[0, t * 6 :+ 2], elem(F[0, t * 6 :+ 2], 0), 1.0)", "F", "load", 8, "all of it"),
        ("O[0, t] = elem(F[0, t :+ 4], 3)", "F", "load", 4, "a multiple of 4 bytes only"),
        ("O[0, t] = F[0, t]", "F", "load", 4, "a single element is read"),
        ("let old = atomic_add(C, 3, 1)", "C", "atomic", 4, "an atomic operation is of a single element"),
        ("while load_acquire(C, 0) == 0 {}", "C", "load", 4, "threads wait by a single element"),
    ],
)
def test_why_what_a_thread_does_alone_is_no_wider(statement: str, name: str, kind: str, size: int, why: str) -> None:
    source = f"""\
@launch(32)
kernel k(F: tensor<f32>[1, 256], C: tensor<i32>[8], O: tensor<f32>[1, 256]) {{
  let t = ctx.thread
  {statement}
}}
"""
    access = one(accesses(source), name, kind)
    assert access.bytes == size
    assert access.why_not_wider is not None
    assert why in access.why_not_wider


def test_every_access_of_the_pages_of_the_spec_has_a_name_and_a_reason() -> None:
    told = 0
    for page in sorted((PAGE.parents[1] / "tests" / "spec").glob("*.md")):
        for case in read_page(page):
            try:
                module = phobos.compile_text(
                    case.source, target=case.target, dims=case.dims, index_bits=case.index_bits
                )
            except phobos.CompileError:
                continue
            for kernel in module.values():
                for access in memory_accesses(kernel._kernel, kernel.ptx):
                    where = f"{page.name}, {case.name}: {access}"
                    assert access.name is not None, where
                    assert access.bytes == 16 or access.why_not_wider, where
                    assert access.unknown or access.banks or access.sectors, where
                    told += access.unknown is None
    assert told > 1000


def test_products_are_as_wide_as_the_patch_of_a_thread() -> None:
    """16 x 16 products among 128 threads: 1 x 2 for each."""
    source = """\
@autotune(TILE_TM in [1], TILE_TN in [2])
@launch(128)
kernel k(A: tensor<f32>[16, 64], B: tensor<f32>[64, 16], C: tensor<f32>[16, 16]) {
  C[:, :] = dot(A[:, :], B[:, :])
}
"""
    for access in (one(accesses(source), "C", "store"), one(accesses(source), "slice of B", "load", "shared")):
        assert (access.bytes, access.why_not_wider) == (8, "a thread computes 2 elements of the product side by side")


def test_two_copies_side_by_side_are_told_apart() -> None:
    """64 x 8 and 8 x 64 words: 128 of 256 threads have 16 bytes of either. A warp reads a sector of each of 16 rows of
    A, or two rows of B, 8 sectors each."""
    source = """\
@launch(256)
@aligned(N = 64)
kernel k(A: tensor<f32>[64, K], B: tensor<f32>[K, N], C: tensor<f32>[64, 64]) {
  var sum: tile<f32>[64, 64] = 0.0
  for k in range(0, 64, 8) {
    var a = A[0 :+ 64, k :+ 8]
    var b = B[k :+ 8, 0 :+ 64]
    sum += dot(a, b)
  }
  C[:, :] = sum
}
"""
    found = accesses(source, dims={"K": 64})
    read = {name: one(found, name, "load") for name in "AB"}
    stored = {name: one(found, name, "store", "shared") for name in "ab"}
    assert [each.bytes for each in (*read.values(), *stored.values())] == [16] * 4
    for name in "AB":
        assert read[name].sectors == SectorUse(bytes=512, needed=16, sectors=(16, 16), efficiency=1.0)
    for each in stored.values():
        assert each.banks is not None
        # Four warps make it, each in four phases.
        assert (each.banks.phases, each.banks.degree) == (16 * each.instructions, (1, 1))


def test_a_transposition_through_shared_memory() -> None:
    """128 threads, 64 x 64 words: 8 stores of 16 bytes a lane; then a lane reads four words of a column, and 16 lanes
    lie side by side in a row of the result: their words are 4 rows of 64 words apart, all in the same two banks."""
    source = """\
@launch(128)
kernel turn(A: tensor<f32>[64, 64], B: tensor<f32>[64, 64]) {
  var t = A[:, :]
  B[:, :] = transpose(t)
}
"""
    found = accesses(source)
    stored, loaded = one(found, "t", "store", "shared"), one(found, "t", "load", "shared")
    assert (stored.line, stored.bytes, stored.instructions, stored.why_not_wider) == (3, 16, 8, None)
    assert stored.banks == BankUse(phases=8 * 4 * 4, passes=(128, 128), degree=(1, 1))
    assert (loaded.line, loaded.bytes, loaded.instructions) == (4, 4, 32)
    assert loaded.banks == BankUse(phases=32 * 4, passes=(2048, 2048), degree=(16, 16))
    read = one(found, "A", "load")
    assert read.sectors == SectorUse(bytes=512, needed=16, sectors=(16, 16), efficiency=1.0)


def test_sectors_of_rows_that_may_start_in_the_middle_of_one() -> None:
    """Rows of 8 floats, 4 of them to a warp's 32 lanes: a row is one sector or lies in two, as its extent says."""
    source = """\
@launch(32)
kernel k(A: tensor<f32>[M, K], B: tensor<f32>[32, 8]) {
  B[:, :] = A[0 :+ 32, 0 :+ 8]
}
"""
    read = one(accesses(source), "A", "load")
    assert (read.bytes, read.lanes, read.masked) == (16, 32, True)
    assert read.sectors is not None
    # 16 rows a warp; every other one begins 16 bytes into a sector.
    assert (read.sectors.bytes, read.sectors.needed, read.sectors.sectors) == (512, 16, (16, 24))
    assert read.depends_on == ("K",)


def test_rows_that_the_launch_sets_apart_are_taken_to_lie_far_apart() -> None:
    """Four elements of each of eight rows: eight sectors where N is a multiple of 4, two more where two rows begin
    24 bytes into one, three where rows begin at every multiple of 4 bytes. Were N just 4, there would be four in all:
    not every case was tried.
    """
    source = """\
@launch(32)
kernel k(A: tensor<f32>[8, N], B: tensor<f32>[8, 4]) {
  B[ctx.lane / 4, ctx.lane % 4] = A[ctx.lane / 4, ctx.lane % 4]
}
"""
    (load, store) = accesses(source)
    assert load.sectors is not None
    assert store.sectors is not None
    assert (load.sectors.sectors, load.sampled) == ((8, 11), True)
    assert (store.sectors.sectors, store.sampled) == ((4, 4), False)


def test_what_only_the_data_tell() -> None:
    source = """\
@launch(32)
kernel k(T: tensor<f32>[64], U: tensor<f32>[64], I: tensor<i32>[1, 32], O: tensor<f32>[1, 32]) {
  O[:, :] = gather(T[:], I[:, :]) + gather(U[:], I[:, :])
}
"""
    found = accesses(source)
    for name in ("T", "U"):
        access = one(found, name, "load")
        assert (access.banks, access.sectors) == (None, None)
        assert access.unknown == "it depends on what line 3 loads"
    assert "known only with the data: line 3 loads `T`, line 3 loads `U`" in " ".join(summary(found))


def test_an_asynchronous_copy_is_two_accesses() -> None:
    source = """\
@launch(128)
@aligned(K = 32)
kernel k(A: tensor<f32>[32, K], B: tensor<f32>[32, K], O: tensor<f32>[32, 32]) {
  var sum: tile<f32>[32, 32] = 0.0
  for k in range(0, K, 32) {
    var a = A[:, k :+ 32]
    var b = B[:, k :+ 32]
    sum += dot_t(a, b)
  }
  O[:, :] = sum
}
"""
    found = accesses(source)
    for tile, tensor in (("a", "A"), ("b", "B")):
        assert one(found, tile, "copy", "shared").bytes == 16
        assert one(found, tensor, "copy").bytes == 16


# How it is shown


def test_the_json_has_the_keys_of_the_page() -> None:
    (kernel,) = phobos.compile_text(COPY.format(type="f16", attribute="")).values()
    value = json.loads(json.dumps(kernel.report["accesses"]))
    told = re.findall(r"^\| `(\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for access in value:
        assert list(access) == told
    assert value[0]["sectors"] == {"bytes": 256, "needed": 8, "sectors": [8, 10], "efficiency": 0.8}
    assert value[0]["depends_on"] == ["K"]
    assert {f.name for kind in (BankUse, SectorUse) for f in fields(kind)} <= set(
        re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8"))
    )


def test_the_page_shows_what_its_kernel_gives() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (source,) = re.findall(r"```phobos\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    assert shown in [described(access) for access in accesses(source) if access.line == 4]


def test_the_text_and_the_listing() -> None:
    source = Source("turn.ph", re.findall(r"```phobos\n(.*?)```", PAGE.read_text(), re.DOTALL)[0].encode())
    options = Options("sm_80")
    (placed,) = frontend.check(source, options).kernels
    config = next(configurations(placed.kernel, options))
    tool = ptxas.for_target("sm_80")
    emit = ("ptx",) if tool is None or sass.nvdisasm() is None else ("ptx", "sass")
    result = compile_kernel(Request(source, placed, "sm_80", config, 64, emit, tool))
    assert result.report is not None
    said = text.full(result.report, PLAIN)
    assert (
        "memory      shared: 40 accesses, 32 of less than 16 bytes; "
        "bank conflicts, at worst 16 passes for one: line 4 loads `t`\n"
        "              global: 16 accesses, none of less than 16 bytes; no sector more than the bytes need" in said
    )
    if "sass" in result.artifacts:
        listing = result.artifacts["sass"].decode()
        assert "// stores `t` (shared f32), 8 x 16 bytes a lane: no bank conflicts" in listing


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "loads `t` (shared f32), 2 x 4 bytes a lane: 3 to 5 passes over the banks for 2 phases, at most 2 to 3"),
        ({"lanes": 8}, "4 bytes a lane of 8: "),
        ({"name": None, "dtype": None}, "loads (shared), "),
        ({"banks": None, "unknown": "it depends on what line 3 loads"}, ": it depends on what line 3 loads"),
        ({"banks": None, "sectors": SectorUse(4, 1, (1, 1), 0.125)}, ": 4 bytes of a warp in 1 sector, by the loop"),
        ({"bytes": 1, "why_not_wider": "of this"}, "1 byte a lane"),
    ],
)
def test_one_access_in_words(change: dict[str, Any], said: str) -> None:
    values: dict[str, Any] = {
        "line": 3,
        "name": "t",
        "kind": "load",
        "space": "shared",
        "dtype": "f32",
        "bytes": 4,
        "instructions": 2,
        "lanes": 32,
        "masked": False,
        "why_not_wider": None,
        "banks": BankUse(2, (3, 5), (2, 3)),
        "sectors": None,
        "depends_on": ("the loop on line 2",),
        "sampled": False,
        "unknown": None,
    }
    assert said in described(MemoryAccess(**{**values, **change}))
