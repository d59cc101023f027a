"""The page of a build: all that the report says, at its place; and nothing on it that was not said by us."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.collect import collect
from phobos_core.report.html import build_html
from phobos_core.report.html.memory_map import memory_map
from phobos_core.report.model import KernelReport, Tile, Toolchain
from phobos_core.report.sass.model import Code, LineCode, LoopCode
from phobos_core.report.source import Finding, Source
from tests.report.test_kernel_report import KERNEL, TOOLCHAIN, USED

# Line 6 is where the kernel of `KERNEL` stands; the function above it is of line 2.
TEXT = "\n".join(
    [
        "// <one> & other",
        "fn twice(x) = 2 * x",
        "",
        "fn unused(x) = x",
        "@launch(256)",
        "kernel matmul(A: tensor<f32>[M, 64]) {",
        *(f"  A[0, 0] = {line}.0" for line in range(7, 21)),
        "}",
        "",
    ]
)
SOURCE = Source("k.ph", TEXT.encode())


def report() -> KernelReport:
    return collect(KERNEL, "k.ph", USED, dims={"K": 64}, suggested_grid=("ceil(M / 32)",))


def page(*reports: KernelReport, source: Source = SOURCE, findings: tuple[Finding, ...] = ()) -> Element:
    return ElementTree.fromstring(build_html(TOOLCHAIN, reports, findings, {source.name: source}))


def words(element: Element) -> str:
    return "".join(element.itertext())


def cells(element: Element, kind: str = "td") -> list[list[str]]:
    return [[words(cell) for cell in row.iter(kind)] for row in element.iter("tr")]


def line_rows(element: Element) -> dict[str, Element]:
    """The rows of the source, by their line number."""
    (table,) = (each for each in element.iter("table") if each.get("class") == "source")
    return {words(row[0]): row for row in table.iter("tr") if row[0].tag == "td"}


def test_the_table_of_configurations() -> None:
    other = replace(report(), config={"TILE_M": 64}, status="skipped")
    shown = page(report(), collect(KERNEL, "k.ph", None, dims={}), other)
    table = next(shown.iter("table"))
    assert cells(table, "th")[0][3:6] == ["registers", "shared", "spilled"]
    first, unknown, skipped = cells(table)[1:]
    # The figures are those that the occupancy test takes from NVIDIA's formula: one block, two from 128 registers down.
    assert first == [
        *("sm_80", "TILE_M=32 K=64", "ok", "132", "12,288 B", "0 B", "8 of 64", "12 % 12 %", "registers"),
        "4 registers fewer: 2 blocks",
    ]
    assert unknown[3:] == ["\N{EM DASH}"] * 7
    assert skipped[1:3] == ["TILE_M=64 K=64", "skipped"]
    # Each row leads to its report, and one is open.
    links = [link.get("href") for link in table.iter("a")]
    folded = list(shown.iter("details"))
    assert links == [f"#{each.get('id')}" for each in folded]
    assert [each.get("open") for each in folded] == ["open", None, None]


def test_what_a_report_says_of_the_launch() -> None:
    said = words(page(report()))
    for part in ("256 threads", "A: tensor f32[M, 64]", "ceil(M / 32)", "M % 32 == 0", "a note", "13.5.37"):
        assert part in said
    assert "1 block on an SM, 8 of 64 warps (12 %), limited by registers; 4 registers fewer: 2 blocks" in said
    assert "12,288 B used, 20,480 B without reuse" in said


def test_without_ptxas_the_page_says_so() -> None:
    shown = build_html(Toolchain("0.1.0", "22.1.0", ()), [collect(KERNEL, "k.ph", None, dims={})], [], {})
    assert "none was found" in shown
    assert "unknown without ptxas" in shown


def test_tiles_and_decisions_stand_beside_their_lines() -> None:
    rows = line_rows(page(report()))
    assert words(rows["17"]).endswith("dot: FMA, 4 x 4 a thread: no @tensorcore")
    assert "for: pipelined: two stages of cp.async" in words(rows["14"])
    assert "acc: 32 x 64 f32 in shared memory, 8,192 B" in words(rows["13"])
    assert words(rows["7"]) == "7  A[0, 0] = 7.0"


def test_the_kernel_is_shown_and_the_functions_that_something_is_said_of() -> None:
    rows = line_rows(page(report()))
    assert list(rows) == [*map(str, range(5, 22))]
    decided = replace(report(), decisions=(replace(report().decisions[0], line=2),))
    assert "2" in line_rows(page(decided))
    assert "4" not in line_rows(page(decided))


def test_what_is_of_no_line_is_said_all_the_same() -> None:
    decided = replace(report(), decisions=(replace(report().decisions[0], line=99, reason="far away"),))
    assert "far away" in words(page(decided))


def test_machine_code_where_it_was_disassembled() -> None:
    code = Code(
        40,
        30,
        (LoopCode("L1", 14, 1, 0, 16, 30, {"FFMA": 27, "LDS": 3}, 0.9),),
        (LineCode(14, 31, 28, {"FFMA": 27, "LDS": 4}),),
        (),
        (),
    )
    shown = page(replace(report(), code=code))
    row = line_rows(shown)["14"]
    assert [words(cell) for cell in row][2:] == ["28", "31"]
    assert row[3].get("title") == "FFMA 27, LDS 4"
    assert ["L1", "14", "30", "90.0%", "FFMA 27, LDS 3"] in cells(shown)
    assert [len(row) for row in line_rows(page(report())).values()] == [2] * 17


def tile(name: str, offset: int | None, size: int, live: tuple[int, int]) -> Tile:
    return Tile(name, live[0], (1, size), "i8", "registers" if offset is None else "shared", size, offset, live)


def test_the_memory_map_is_to_scale() -> None:
    drawn = memory_map([tile("a", 0, 100, (1, 4)), tile("b", 100, 300, (3, 4)), tile("c", None, 9, (1, 9))])
    assert drawn is not None
    shapes = list(ElementTree.fromstring(drawn.text).iter("rect"))
    (x, y, width, height), (x2, y2, width2, height2) = (
        [float(shape.attrib[key]) for key in ("x", "y", "width", "height")] for shape in shapes
    )
    assert (y, y2) == (0, pytest.approx(height, abs=0.1))
    assert height2 == pytest.approx(3 * height, abs=0.2)
    assert width == pytest.approx(2 * width2, abs=0.2)
    assert x2 == pytest.approx(x + width2, abs=0.2)
    assert "b: 300 B at 100, lines 3 to 4" in drawn.text
    assert memory_map([tile("c", None, 9, (1, 9))]) is None


HOSTILE = [
    "</style></script><script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "&lt;b&gt; &amp; &#60;",
    "-->]]><!--",
    "语 é 😀 \u2028 \x00 \x1b[31m \ud83d \ufffe",
]


class Tags(HTMLParser):
    """What a browser makes of a page: its elements, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(text: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(text)
    parser.close()
    return iter(parser.found)


def telling(said: str) -> str:
    """A page that says this wherever a name, a path or a text can stand."""
    name = f"{said}.ph"
    source = Source(name, f"// {said}\nkernel k() {{ // {said}\n}}\n".encode("utf-8", "surrogatepass"))
    told = replace(
        report(),
        kernel=said,
        file=name,
        line=2,
        notes=(said,),
        requires=(said,),
        config={said: 1},
        artifacts={"ptx": said},
        decisions=(replace(report().decisions[0], line=2, op=said, choice=said, reason=said),),
        tiles=(tile(said, 0, 64, (2, 2)),),
    )
    finding = Finding(source, Diagnostic("a-code", "error", 0, 2, said))
    return build_html(replace(TOOLCHAIN, phobos=said), [told], [finding], {name: source})


@pytest.mark.parametrize("hostile", HOSTILE)
def test_whatever_is_said_is_text(hostile: str) -> None:
    written = telling(hostile)
    assert written.isascii()
    assert {(tag, *attributes) for tag, attributes in tags(written)} == {
        (tag, *attributes) for tag, attributes in tags(telling("harmless"))
    }
    shown = ElementTree.fromstring(written)
    # What no page can hold is shown as what cannot be shown.
    held = re.sub("[\x00\x1b\ud83d\ufffe]", "\ufffd", hostile)
    for place in ("h2", "pre", "summary", "b", "dd", "svg"):
        assert any(held in words(element) for element in shown.iter(place)), place


def test_the_page_needs_nothing_but_itself() -> None:
    written = build_html(TOOLCHAIN, [report()], [], {"k.ph": SOURCE})
    assert "://" not in written
    assert "@import" not in written
    assert "url(" not in written
    for tag, attributes in tags(written):
        assert tag not in ("script", "link", "img", "iframe")
        assert (attributes.get("href") or "#").startswith("#")


def test_no_kernels() -> None:
    assert "No kernel was built" in words(page())
