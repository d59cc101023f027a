"""PTX, machine code, memory and configurations of a kernel, and the status, as clients ask for them."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

import phobos_core as phobos
from phobos_ls.builds import builds
from phobos_ls.features.generated_code import ptx_lines
from tests.ls.building import (
    NO_PTXAS,
    SCALE,
    SHOWING,
    die,
    document,
    insert,
    needs_nvdisasm,
    needs_ptxas,
    settled,
    status,
)
from tests.ls.test_inlay_hints import SGEMM, TOO_LARGE, line_of
from tests.ls.wire import PUSH, URI, Wired, wire

REQUEST_FAILED, CANCELLED = -32803, -32800
CALLS = """\
fn twice(x) = x * 2.0

kernel calls(X: tensor<f32>[64], n: i32) {
  let i = ctx.thread
  if i < 64 {
    X[i] = twice(X[i])
  }
}
"""


def ask(wired: Wired, request: str, uri: str = URI, **more: Any) -> Any:
    return wired.client.request(f"phobos/{request}", {**document(uri), **more})


def refusal(wired: Wired, request: str, **more: Any) -> str:
    error = wired.client.answer(wired.client.begin(f"phobos/{request}", {**document(), **more}))["error"]
    assert error["code"] == REQUEST_FAILED
    return str(error["message"])


# PTX.


def test_the_requests_are_announced() -> None:
    with wire(capabilities=None) as wired:
        announced = wired.client.initialize(PUSH)["capabilities"]["experimental"]["phobos"]["requests"]
        assert set(announced) >= {f"phobos/{name}" for name in ("ptx", "sass", "memoryMap", "configurations", "status")}


def test_ptx_with_the_line_of_each_instruction() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        answer = ask(wired, "ptx")
        assert {name: answer[name] for name in ("kernel", "target", "config", "version", "stale")} == {
            "kernel": "sgemm",
            "target": "sm_80",
            "config": {"TILE_M": 32, "TILE_N": 32, "TILE_K": 8},
            "version": 1,
            "stale": False,
        }
        assert answer["text"] == phobos.compile_text(SGEMM, "kernel.ph")["sgemm"].ptx
        rows = answer["text"].splitlines()
        assert len(answer["lines"]) == len(rows)
        assert {answer["lines"][n] for n, row in enumerate(rows) if "fma." in row} >= {line_of(SGEMM, "dot(a, b)")}
        stores = {answer["lines"][n] for n, row in enumerate(rows) if "st.global" in row}
        assert stores == {line_of(SGEMM, "alpha * sum")}
        assert answer["lines"][0] is None


def test_the_lines_of_ptx() -> None:
    """As the PTX ISA has `.loc`: file, line, column; a line of 0 is of none, and a function that was inlined is told
    with the place that it was inlined at."""
    rows = [
        (".visible .entry k()", None),
        ("{", None),
        ("\t.loc\t1 0 0", None),
        ("\tmov.u32 a, b;", None),
        ("\t.loc\t1 4 0", 4),
        ("$L1:", 4),
        ("\tadd.u32 a, b, c;", 4),
        ("\t.loc\t2 90 3, function_name $L2, inlined_at 1 7 0", 7),
        ("\tmul.lo.u32 a, b, c;", 7),
        ("\t.loc\t1 5 2", 5),
        ("\tret;", 5),
        ("}", None),
        ('\t.file\t1 "k.ph"', None),
        ('\t.file\t2 "other"', None),
    ]
    assert ptx_lines("\n".join(row for row, _ in rows) + "\n") == [line for _, line in rows]


def test_the_body_of_a_function_is_a_line_of_its_own() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(CALLS)
        answer = ask(wired, "ptx")
        rows = answer["text"].splitlines()
        doubled = [answer["lines"][n] for n, row in enumerate(rows) if re.search(r"\b(mul|add|fma)\.\S*f32", row)]
        assert doubled == [line_of(CALLS, "fn twice")]


TWO = f"{SCALE}\n{SCALE.replace('scale', 'other')}"


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({}, "scale"),
        ({"kernel": "other"}, "other"),
        ({"position": {"line": 9, "character": 1}}, "other"),
        ({"position": {"line": 4, "character": 1}}, "scale"),
        ({"position": {"line": 9, "character": 1}, "kernel": "scale"}, "scale"),
        ({"kernel": "no such"}, None),
        ({"position": {"line": "x"}}, "scale"),
    ],
)
def test_which_kernel(which: dict[str, Any], expected: str | None) -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(TWO)
        answer = ask(wired, "memoryMap", **which)
        assert (answer and answer["kernel"]) == expected


@pytest.mark.parametrize("request_", ["ptx", "sass", "memoryMap", "configurations"])
def test_a_text_without_a_kernel(request_: str) -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open("// nothing\n")
        assert ask(wired, request_) is None
        assert ask(wired, request_, uri="file:///no/such.ph") is None


def test_a_file_that_is_not_open(tmp_path: Any) -> None:
    path = tmp_path / "a.ph"
    path.write_text(SCALE, encoding="utf-8")
    with wire(initializationOptions=NO_PTXAS) as wired:
        assert ask(wired, "ptx", uri=path.as_uri())["kernel"] == "scale"


def test_text_that_moved_and_text_that_is_ahead() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        before = ask(wired, "ptx")
        insert(wired, 0, "// one\n// two\n", 2)
        moved = ask(wired, "ptx")
        assert moved["lines"] == [None if line is None else line + 2 for line in before["lines"]]
        assert (moved["version"], moved["stale"]) == (2, False)
        # A mistake: the newest build there is, with its lines where they are now.
        wired.client.request("textDocument/hover", {**document(), "position": {"line": 0, "character": 0}})
        settled(wired)
        insert(wired, 4, "  let x = (\n", 3)
        ahead = ask(wired, "ptx")
        assert ahead["stale"] is True
        assert ahead["text"] == before["text"]
        assert set(ahead["lines"]) == {line if line is None or line < 4 else line + 1 for line in moved["lines"]}


def test_errors_are_told_in_words() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open("kernel k() {\n  let a = y\n}\n")
        assert "`k` has errors" in refusal(wired, "ptx")
        wired.replace(TOO_LARGE, version=2)
        assert f"{512 * 512 * 4:,} bytes" in refusal(wired, "ptx")


def test_a_build_that_crashes_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "compile_job", die)
    with wire(initializationOptions={**NO_PTXAS, "build": "off"}) as wired:
        wired.open(SCALE)
        assert "the build of `scale` ended the building process" in refusal(wired, "ptx")


def sleep(job: object) -> None:
    time.sleep(1000)


def test_who_waits_for_a_build_can_go_and_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "compile_job", sleep)
    with wire(initializationOptions={**NO_PTXAS, "build": "off"}) as wired:
        wired.open(SCALE)
        asked = wired.client.begin("phobos/ptx", document())
        # The document's other requests are answered meanwhile.
        assert wired.client.request("textDocument/hover", {**document(), "position": {"line": 1, "character": 8}})
        wired.client.notify("$/cancelRequest", {"id": asked})
        assert wired.client.answer(asked)["error"]["code"] == CANCELLED
        monkeypatch.undo()
        assert ask(wired, "ptx")["kernel"] == "scale"


def test_shutting_down_answers_who_waits_for_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "compile_job", sleep)
    with wire(initializationOptions={**NO_PTXAS, "build": "off"}) as wired:
        wired.open(SCALE)
        asked = wired.client.begin("phobos/ptx", document())
        wired.client.request("textDocument/hover", {**document(), "position": {"line": 1, "character": 8}})
        assert wired.client.request("shutdown") is None
        assert wired.client.answer(asked)["error"]["code"] == CANCELLED


# Machine code.


@needs_ptxas
@needs_nvdisasm
def test_machine_code_with_lines_and_live_registers() -> None:
    with wire() as wired:
        wired.open(SGEMM)
        answer = ask(wired, "sass")
        rows = answer["text"].splitlines()
        assert len(rows) == len(answer["lines"]) == len(answer["registers"])
        math = {answer["lines"][n] for n, row in enumerate(rows) if re.search(r"\bFFMA\b", row)}
        assert line_of(SGEMM, "dot(a, b)") in math
        most = max(count for count in answer["registers"] if count is not None)
        assert 0 < most <= phobos.compile_text(SGEMM)["sgemm"].report.resources.registers
        assert not rows[0].startswith(" ")


def test_no_machine_code_without_an_assembler() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        assert "/no/such/ptxas" in refusal(wired, "sass")
        assert ask(wired, "ptx")["kernel"] == "scale"


# Memory.


def test_a_memory_map() -> None:
    """Of sgemm a tile of 32 x 8 and one of 8 x 32 are in shared memory at once; a block of sm_80 may have 163 KB."""
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(f"// moved\n{SGEMM}")
        answer = ask(wired, "memoryMap")
        size = 32 * 8 * 4
        assert (answer["bytes"], answer["bytesWithoutReuse"], answer["limit"]) == (2 * size, 2 * size, 163 * 1024)
        tiles = {tile["name"]: tile for tile in answer["tiles"]}
        first, last = line_of(SGEMM, "var a") + 1, line_of(SGEMM, "dot(a, b)") + 1
        assert tiles["a"] == {
            "name": "a",
            "line": first,
            "shape": [32, 8],
            "dtype": "f32",
            "storage": "shared",
            "bytes": size,
            "offset": tiles["a"]["offset"],
            "live": [first, last],
        }
        assert {tiles["a"]["offset"], tiles["b"]["offset"]} == {0, size}
        assert (tiles["sum"]["storage"], tiles["sum"]["offset"]) == ("registers", None)
        head, _, *rows = answer["text"].splitlines()
        assert "2,048 of 166,912 bytes" in head
        drawn = {row.split()[2]: row.split()[3] for row in rows}
        assert drawn == {"a": "###", "b": ".##"}


# Configurations.


def test_configurations() -> None:
    text = SCALE.replace("@launch(64)", "@launch(64)\n@autotune(T in [8, 16])").replace("X[:]", "X[0 :+ T]")
    text = text.replace("Y[:]", "Y[0 :+ T]")
    with wire(initializationOptions={**NO_PTXAS, "config": {"T": 16}}) as wired:
        wired.open(text)
        settled(wired)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            answer = ask(wired, "configurations")
            if all(each["report"] for each in answer["configurations"]):
                break
        assert (answer["kernel"], answer["shown"]) == ("scale", {"T": 16})
        assert [each["config"] for each in answer["configurations"]] == [{"T": 8}, {"T": 16}]
        assert all("shared 0 B" in each["report"] for each in answer["configurations"])


def test_a_picked_configuration_is_shown() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        assert ask(wired, "ptx")["config"]["TILE_K"] == 8
        wired.server.session.pick(URI, "sgemm", {"TILE_K": 32})
        assert ask(wired, "ptx")["config"] == {"TILE_M": 32, "TILE_N": 32, "TILE_K": 32}
        assert ask(wired, "configurations")["shown"]["TILE_K"] == 32


# Status.


def test_the_status_of_a_client_that_wants_it() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        states = []
        while "idle" not in states:
            sent = wired.client.notification("phobos/status")
            assert sent["uri"] == URI
            assert {"state", "target", "fresh", "ptxas", "message"} <= sent.keys()
            states.append(sent["state"])
        assert states == ["checking", "building", "idle"]
        assert sent["fresh"] is True
        insert(wired, 0, "// é\n", 2)
        while not (sent := wired.client.notification("phobos/status"))["fresh"]:
            assert sent["state"] != "building"


def test_what_is_built_for_other_settings_is_not_fresh() -> None:
    """Nor before the builds for the new ones are planned."""
    with wire(capabilities=SHOWING) as wired:
        wired.open(SCALE)
        assert settled(wired)["fresh"]
        wired.server.session.workspace.configure({"target": "sm_90"})
        found = status(wired)
        assert (found["target"], found["fresh"]) == ("sm_90", False)


def test_the_status_is_sent_to_nobody_who_did_not_ask_for_it() -> None:
    with wire(capabilities=PUSH, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        assert [m for m in wired.client.pending() if m.get("method") == "phobos/status"] == []


@pytest.mark.parametrize("params", [None, {}, [], {"textDocument": {"uri": "file:///no/such.ph"}}, {"textDocument": 3}])
def test_the_status_of_anything(params: Any) -> None:
    with wire(initializationOptions={"target": "sm_90"}) as wired:
        found = wired.client.request("phobos/status", params)
        assert (found["state"], found["target"]) == ("idle", "sm_90")


@needs_ptxas
def test_the_status_names_the_assembler() -> None:
    with wire() as wired:
        wired.open(SCALE)
        assert re.fullmatch(r"\d+\.\d+\.\d+", status(wired)["ptxas"])


# Hovers.


def hover(wired: Wired, text: str, part: str) -> str:
    line = line_of(text, part)
    column = text.splitlines()[line].index(part) + part.rindex(" ") + 1
    answer = wired.client.request("textDocument/hover", {**document(), "position": {"line": line, "character": column}})
    said: str = answer["contents"]["value"]
    return said


def test_a_hover_says_where_a_tile_is() -> None:
    with wire(initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        assert "live on" not in hover(wired, SGEMM, "var a")
        settled(wired)
        said = hover(wired, SGEMM, "var a")
        first, last = line_of(SGEMM, "var a") + 1, line_of(SGEMM, "dot(a, b)") + 1
        assert f"1,024 bytes in shared memory at offset 0, live on lines {first} to {last}" in said
        assert f"line {last} reads it across threads" in said
        moved = f"\n{SGEMM}"
        insert(wired, 0, "\n", 2)
        assert f"line {last + 1} reads it across threads" in hover(wired, moved, "var a")


@needs_ptxas
def test_a_hover_has_the_configurations_of_a_kernel() -> None:
    report = phobos.compile_text(SGEMM)["sgemm"].report
    other = phobos.compile_text(SGEMM, config={"TILE_K": 32})["sgemm"].report
    with wire() as wired:
        wired.open(SGEMM)
        settled(wired)
        said = hover(wired, SGEMM, "kernel sgemm")
        assert report.cliff in said
        end = time.monotonic() + 60
        row = f"| TILE_M=32 TILE_N=32 TILE_K=32 | {other.resources.registers} |"
        while row not in said and time.monotonic() < end:
            said = hover(wired, SGEMM, "kernel sgemm")
        assert row in said
        assert f"| **TILE_M=32 TILE_N=32 TILE_K=8** | {report.resources.registers} |" in said
