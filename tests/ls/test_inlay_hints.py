"""Resource hints over the wire: what they say, where they stay while one types, and when the client is told to ask."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import phobos_core as phobos
from bench.language_client import Process
from bench.measure import environment
from phobos_ls.builds import builds
from tests.ls.building import (
    NO_PTXAS,
    SCALE,
    SECONDS,
    SHOWING,
    WHOLE,
    at_rest,
    die,
    document,
    hints,
    insert,
    needs_nvdisasm,
    needs_ptxas,
    refreshes,
    settled,
    slow,
    status,
    until,
)
from tests.ls.wire import COMMAND, PULL, PUSH, URI, wire

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
ROOT = Path(__file__).resolve().parents[2]
SGEMM = (ROOT / "examples" / "sgemm.ph").read_text(encoding="utf-8")
ALIGNED = (ROOT / "examples" / "sgemm_aligned.ph").read_text(encoding="utf-8")
TOO_LARGE = """\
kernel huge(X: tensor<f32>[512, 512]) {
  var t = X[:, :]
  let i = ctx.thread
  X[i, i] = t[i, 511 - i]
}
"""


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines()) if part in line)


def on_line(found: list[tuple[int, str]], line: int) -> list[str]:
    return [label for number, label in found if number == line]


# What they say.


@needs_ptxas
def test_a_kernel_shows_what_a_build_reports() -> None:
    report = phobos.compile_text(SGEMM)["sgemm"].report
    registers, shared = report.resources.registers, report.resources.shared_bytes / 1024
    occupancy, limiter = report.occupancy.fraction * 100, report.occupancy.limiter
    with wire(capabilities=SHOWING) as wired:
        wired.open(SGEMM)
        settled(wired)
        (label,) = on_line(hints(wired), line_of(SGEMM, "kernel sgemm"))
        assert label == f"regs {registers} · shared {shared:.1f} KB · occupancy {occupancy:.0f} % ({limiter})"
        (hint, *_) = wired.client.request("textDocument/inlayHint", {**document(), "range": WHOLE})
        assert hint["tooltip"]["kind"] == "markdown"
        assert report.cliff in hint["tooltip"]["value"]
        assert "`K % 4 == 0`" in hint["tooltip"]["value"]
        line = SGEMM.splitlines()[hint["position"]["line"]]
        assert hint["position"]["character"] == len(line)


@needs_ptxas
def test_tiles_contractions_and_loops() -> None:
    with wire(capabilities=SHOWING) as wired:
        wired.open(SGEMM)
        settled(wired)
        found = hints(wired)
        tiles = {part: on_line(found, line_of(SGEMM, part)) for part in ("var sum", "var a", "let old")}
        first, last = line_of(SGEMM, "var sum") + 1, line_of(SGEMM, "alpha * sum") + 1
        assert tiles["var sum"] == [f"registers {32 * 32 * 4 / 1024:.1f} KB, lines {first} to {last}"]
        copied, used = line_of(SGEMM, "var a") + 1, line_of(SGEMM, "dot(a, b)") + 1
        assert tiles["var a"] == [f"shared {32 * 8 * 4 / 1024:.1f} KB, lines {copied} to {used}"]
        assert tiles["let old"] == ["view"]
        (dot,) = on_line(found, line_of(SGEMM, "dot(a, b)"))
        assert dot.startswith("dot: FMA")
        (loop,) = on_line(found, line_of(SGEMM, "for k"))
        assert loop.startswith("not pipelined: ")


@needs_ptxas
def test_a_pipelined_loop() -> None:
    with wire(capabilities=SHOWING) as wired:
        wired.open(ALIGNED)
        settled(wired)
        assert on_line(hints(wired), line_of(ALIGNED, "for k")) == ["pipelined, two stages"]


@needs_ptxas
@needs_nvdisasm
def test_lines_and_accesses() -> None:
    with wire(capabilities=SHOWING, initializationOptions={"hints": True}) as wired:
        wired.open("kernel k(X: tensor<f64>[64], Y: tensor<f32>[64]) {\n  Y[ctx.thread] = f32(X[ctx.thread])\n}\n")
        settled(wired)
        labels = on_line(hints(wired), 1)
        assert any(re.fullmatch(r"\d+ live · \d+ instructions?", label) for label in labels)
        # A single element each: 8 bytes of an f64, 4 of an f32.
        assert any(re.match(r"load X 8 B\b", label) for label in labels)
        assert any(re.match(r"store Y 4 B\b", label) for label in labels)


KINDS = {
    "resources": r"regs .*",
    "tiles": r"(registers|shared|view).*",
    "contractions": r"dot: .*",
    "loops": r"(not )?pipelined.*",
    "accesses": r"(load|store|slice of) .*",
    "lines": r"(\d+ live · )?\d+ instructions?",
    "types": r": .*",
}


@needs_ptxas
@needs_nvdisasm
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_switched_by_itself(kind: str) -> None:
    switches = {name: name == kind for name in KINDS}
    with wire(capabilities=SHOWING, initializationOptions={"hints": switches}) as wired:
        wired.open(SGEMM)
        settled(wired)
        labels = {label for _, label in hints(wired)}
        assert labels
        assert all(re.fullmatch(KINDS[kind], label) for label in labels)


def test_switching_hints_off_and_on_needs_no_build() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        shown = hints(wired)
        assert shown
        for hints_, expected in ((False, []), ({}, shown)):
            told = refreshes(wired)
            wired.client.notify("workspace/didChangeConfiguration", {"settings": {**NO_PTXAS, "hints": hints_}})
            until(lambda before=told: refreshes(wired) > before)
            assert hints(wired) == expected


def test_the_target_and_the_configuration_of_the_settings() -> None:
    options = {**NO_PTXAS, "target": ["sm_90", "sm_80"], "config": {"TILE_K": 32}, "indexBits": 32}
    with wire(capabilities=SHOWING, initializationOptions=options) as wired:
        wired.open(SGEMM)
        settled(wired)
        tooltip = wired.client.request("textDocument/inlayHint", {**document(), "range": WHOLE})[0]["tooltip"]["value"]
        assert "for sm_90 with TILE_M=32 TILE_N=32 TILE_K=32" in tooltip
        (tile,) = on_line(hints(wired), line_of(SGEMM, "var a"))
        assert tile.startswith(f"shared {32 * 32 * 4 / 1024:.1f} KB")


def test_only_the_lines_that_are_asked_for() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        settled(wired)
        line = line_of(SGEMM, "for k")
        part = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 9}}
        assert {number for number, _ in hints(wired, where=part)} == {line}


def test_a_function_that_two_kernels_call_says_it_once() -> None:
    text = (
        "fn twice(x) = dot(x, x) + x\n"
        "kernel one(A: tensor<f32>[16, 16]) {\n  let a = A[:, :]\n  A[:, :] = twice(a)\n}\n"
        "kernel two(B: tensor<f32>[16, 16]) {\n  let b = B[:, :]\n  B[:, :] = twice(b)\n}\n"
    )
    with wire(capabilities=SHOWING, initializationOptions={**NO_PTXAS, "hints": {"contractions": True}}) as wired:
        wired.open(text)
        settled(wired)
        labels = [label for label in on_line(hints(wired), 0) if label.startswith("dot")]
        assert len(labels) == len(set(labels)) == 1


# Without an assembler.


def test_without_ptxas_what_needs_none_is_shown() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        found = settled(wired)
        assert found["ptxas"] is None
        assert "/no/such/ptxas" in found["message"]
        # 256 threads are 8 warps, and an SM of sm_80 has 64: no more than 8 blocks, which fill it.
        (label,) = on_line(hints(wired), line_of(SGEMM, "kernel sgemm"))
        assert label == "shared 2.0 KB · occupancy at most 100 % (warps)"
        assert on_line(hints(wired), line_of(SGEMM, "var a")) != []
        assert [each["severity"] for each in wired.published() if each.get("code") != "unused-name"] == []


def test_without_ptxas_a_client_without_a_status_is_told_once() -> None:
    with wire(capabilities=PUSH, initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        said = wired.client.notification("window/showMessage")
        assert "/no/such/ptxas" in said["message"]
        insert(wired, 0, SCALE, 2)
        settled(wired)
        pending = wired.client.pending()
        assert [m for m in pending if m.get("method") in ("window/showMessage", "phobos/status")] == []


# While one types.


def test_hints_stay_stale_and_move_with_the_text() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        settled(wired)
        before = hints(wired)
        # Another line in the kernel, with a mistake: its hints stay, and those below it are a line further down.
        line = line_of(SGEMM, "for k")
        insert(wired, line, "  let half = (\n", 2)
        moved = [(number + (number >= line), f"~{label}") for number, label in before]
        numbers = re.compile(r"\d+(?= to)|(?<=to )\d+|(?<=line )\d+")

        def without_lines(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
            return [(number, numbers.sub("N", label)) for number, label in found]

        assert without_lines(hints(wired)) == without_lines(moved)
        # Not even a kernel that is none at the moment loses them.
        head = {"line": line_of(SGEMM, "kernel sgemm"), "character": 5}
        wired.change([{"range": {"start": head, "end": {**head, "character": 6}}, "text": ""}], version=3)
        assert without_lines(hints(wired)) == without_lines(moved)
        wired.change([{"range": {"start": head, "end": head}, "text": "l"}], version=3)
        # Typing on changes nothing of them.
        insert(wired, line, "alpha", 3, character=14)
        assert without_lines(hints(wired)) == without_lines(moved)
        # Text that is whole again, another than before: they are fresh, and of that.
        insert(wired, line, " * 2.0)", 4, character=19)
        assert without_lines(hints(wired)) == without_lines(moved)
        settled(wired)
        fresh = hints(wired)
        assert [number for number, _ in fresh] == [number for number, _ in moved]
        assert not any(label.startswith("~") for _, label in fresh)


def test_the_lines_that_hints_name_move_too() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SGEMM)
        settled(wired)
        line = line_of(SGEMM, "var a")
        (before,) = on_line(hints(wired), line)
        insert(wired, 0, "// a comment\n\n", 2)
        (after,) = on_line(hints(wired), line + 2)
        first, last = line + 1, line_of(SGEMM, "dot(a, b)") + 1
        assert before.endswith(f"lines {first} to {last}")
        assert after.endswith(f"lines {first + 2} to {last + 2}")


def test_what_does_not_change_a_kernel_leaves_its_hints_fresh() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE + SGEMM)
        settled(wired)
        before = hints(wired)
        told = refreshes(wired)
        insert(wired, 0, "// é语😀\n", 2)
        assert [label for _, label in hints(wired) if label.startswith("~")] == []
        assert [number for number, _ in hints(wired)] == [number + 1 for number, _ in before]
        # A mistake in one kernel makes the hints of that one stale.
        insert(wired, 4, "  let x = (\n", 3)
        stale = {number for number, label in hints(wired) if label.startswith("~")}
        assert stale
        assert max(stale) <= 7
        assert refreshes(wired) == told


def test_an_edit_that_is_undone_is_fresh_at_once() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        before = hints(wired)
        insert(wired, 3, "3.0 + ", 2, character=9)
        assert all(label.startswith("~") for _, label in hints(wired))
        place = {"start": {"line": 3, "character": 9}, "end": {"line": 3, "character": 15}}
        wired.change([{"range": place, "text": ""}], version=3)
        assert hints(wired) == before


def test_a_renamed_kernel_and_a_deleted_line() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        before = hints(wired)
        insert(wired, 1, "_more", 2, character=12)
        assert hints(wired) == [(number, f"~{label}") for number, label in before]
        wired.change(
            [{"range": {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}, "text": ""}]
        )
        assert [label for number, label in hints(wired) if number == 2] == []
        wired.replace("", version=4)
        assert hints(wired) == []


def test_a_document_that_is_opened_again() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        before = hints(wired)
        wired.open(f"\n\n{SCALE}".replace("2.0", "3.0"))
        assert hints(wired) == []
        settled(wired)
        assert hints(wired) == [(number + 2, label.replace("3 to 4", "5 to 6")) for number, label in before]


def test_a_client_is_told_once_of_a_build_and_never_for_nothing() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        assert hints(wired) == []
        settled(wired)
        until(lambda: refreshes(wired) > 0)
        assert hints(wired) != []
        # A build that changes nothing of what is shown.
        insert(wired, 3, " ", 2, character=2)
        at_rest(wired)
        before = refreshes(wired)
        hints(wired)
        insert(wired, 5, "\n" + SCALE.replace("scale", "other"), 3)
        part = {"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 0}}
        hints(wired, where=part)
        at_rest(wired)
        assert refreshes(wired) == before


def test_a_client_that_cannot_be_told_is_not() -> None:
    with wire(capabilities=PUSH, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        settled(wired)
        assert hints(wired) != []
        assert refreshes(wired) == 0


# When it is built.


def test_building_on_save() -> None:
    with wire(capabilities=SHOWING, initializationOptions={**NO_PTXAS, "build": "onSave"}) as wired:
        wired.open(SCALE)
        settled(wired)
        insert(wired, 3, "3.0 + ", 2, character=9)
        assert status(wired)["fresh"] is False
        assert all(label.startswith("~") for _, label in hints(wired))
        wired.client.notify("textDocument/didSave", document())
        settled(wired)
        assert not any(label.startswith("~") for _, label in hints(wired))


def test_building_never() -> None:
    with wire(capabilities=SHOWING, initializationOptions={"build": "off"}) as wired:
        wired.open(SCALE)
        wired.published()
        found = status(wired)
        assert (found["state"], found["fresh"]) == ("idle", False)
        assert "`phobos.build` is off" in found["message"]
        assert wired.server.session.builds.pid is None
        # Asked for, it is built all the same.
        assert wired.client.request("phobos/ptx", document())["kernel"] == "scale"


# What builds find wrong.


def build_diagnostics(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in found if each["code"] == "over-shared-limit"]


@pytest.mark.parametrize("pulls", [False, True])
def test_a_limit_that_is_passed_is_a_diagnostic(pulls: bool) -> None:
    with wire(capabilities=PULL if pulls else PUSH, initializationOptions=NO_PTXAS) as wired:
        wired.open(TOO_LARGE)

        def shown() -> list[dict[str, Any]]:
            if not pulls:
                return build_diagnostics(wired.published())
            return build_diagnostics(wired.client.request("textDocument/diagnostic", document())["items"])

        found: list[dict[str, Any]] = []
        while not found:
            found = shown()
        (diagnostic,) = found
        assert diagnostic["severity"] == 1
        assert f"{512 * 512 * 4:,}" in diagnostic["message"]
        # It goes down with the text, and is gone when that is another.
        insert(wired, 0, "// a comment\n\n", 2)
        (moved,) = shown()
        assert moved["range"]["start"]["line"] == diagnostic["range"]["start"]["line"] + 2
        wired.replace(TOO_LARGE.replace("512", "64").replace("511", "63"), version=3)
        assert shown() == []


def test_a_kernel_that_does_not_fit_says_so() -> None:
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(TOO_LARGE)
        settled(wired)
        assert on_line(hints(wired), 0) == ["not built for sm_80: over-shared-limit"]


def test_every_target_of_the_settings_is_built_for() -> None:
    """99 KB fit an SM of sm_86 and no more; sm_80 has 163."""
    text = "@dynshared\n" + TOO_LARGE.replace("512", "168").replace("511", "167")
    options = {**NO_PTXAS, "target": ["sm_80", "sm_86"]}
    with wire(capabilities=PUSH, initializationOptions=options) as wired:
        wired.open(text)
        while not (found := build_diagnostics(wired.published())):
            pass
        assert "sm_86" in found[0]["message"]


# The process.


def child_of(server: Process) -> int:
    """The one process that a server has started."""
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    (pid,) = (int(pid) for path in children for pid in path.read_text(encoding="ascii").split())
    return pid


@needs_proc
def test_nothing_is_loaded_into_the_server_and_its_process_ends_with_it() -> None:
    program = (
        "import sys; from phobos_ls.connections import serve_stdio; from phobos_ls.server import Server\n"
        "code = serve_stdio(Server)\n"
        "print([name for name in ('numpy', 'llvmlite', 'ml_dtypes') if name in sys.modules], file=sys.stderr)\n"
    )
    with Process([sys.executable, "-c", program], environment()) as server:
        server.client.initialize(SHOWING, initializationOptions=NO_PTXAS)
        item = {"uri": URI, "languageId": "phobos", "version": 1, "text": SCALE}
        server.client.notify("textDocument/didOpen", {"textDocument": item})
        assert server.client.request("phobos/ptx", document())["kernel"] == "scale"
        pid = child_of(server)
        server.client.request("shutdown")
        assert not alive(pid)
        server.client.notify("exit")
        assert server.wait() == 0
    assert server.errors == b"[]\n"


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@needs_proc
def test_a_server_that_is_killed_leaves_no_process() -> None:
    with Process(COMMAND, environment()) as server:
        server.client.initialize(SHOWING, initializationOptions=NO_PTXAS)
        item = {"uri": URI, "languageId": "phobos", "version": 1, "text": SCALE}
        server.client.notify("textDocument/didOpen", {"textDocument": item})
        server.client.request("phobos/ptx", document())
        pid = child_of(server)
        server.process.kill()
        end = time.monotonic() + 20
        while alive(pid) and time.monotonic() < end:
            time.sleep(0.01)
        assert not alive(pid)


def test_a_build_that_newer_text_has_overtaken_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "compile_job", slow)
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE.replace("  var t", "  // SLOW\n  var t"))
        until(lambda: status(wired)["state"] == "building")
        wired.replace(SCALE, version=2)
        assert settled(wired)["state"] == "idle"
        assert hints(wired) != []


def test_a_crash_of_the_build_is_a_line_in_the_log_and_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "compile_job", die)
    with wire(capabilities=SHOWING, initializationOptions=NO_PTXAS) as wired:
        wired.open(SCALE)
        found = settled(wired)
        assert found["state"] == "failed"
        assert "the build of `scale` ended the building process" in found["message"]
        assert found["message"] in wired.client.notification("window/logMessage")["message"]
        assert wired.client.request("textDocument/hover", {**document(), "position": {"line": 1, "character": 8}})
        monkeypatch.undo()
        # It is built again when somebody asks, or the text is another.
        assert wired.client.request("phobos/ptx", document())["kernel"] == "scale"
        assert settled(wired)["state"] == "idle"


# A client that cannot be told to ask again, as Helix.

ASKING = {**PUSH, "workspace": {"inlayHint": {"refreshSupport": False}}}


def test_a_client_that_cannot_be_told_waits_for_what_is_built() -> None:
    with wire(capabilities=ASKING) as wired:
        wired.open(SCALE)
        assert any("occupancy" in label for _, label in hints(wired))
        insert(wired, 3, "  let more = 1\n", 2)
        assert not [label for _, label in hints(wired) if label.startswith("~")]


def test_it_does_not_wait_for_a_text_that_is_gone() -> None:
    with wire(capabilities=ASKING) as wired:
        wired.open(SCALE)
        asked = wired.client.begin("textDocument/inlayHint", {**document(), "range": WHOLE})
        insert(wired, 0, "// above\n", 2)
        assert wired.client.answer(asked, SECONDS)["result"] == []
        assert hints(wired)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (SCALE.replace("* 2.0", "* wrong"), {}),
        (SCALE.replace("* 2.0", "* ("), {}),
        ("", {}),
        (SCALE, {"build": "off"}),
        (SCALE, {"hints": False}),
    ],
)
def test_it_does_not_wait_for_what_never_comes(text: str, settings: dict[str, Any]) -> None:
    with wire(capabilities=ASKING, initializationOptions=settings) as wired:
        wired.open(text)
        assert hints(wired) == []


def test_it_does_not_wait_for_a_save() -> None:
    with wire(capabilities=ASKING, initializationOptions={"build": "onSave"}) as wired:
        wired.open(SCALE)
        assert any("occupancy" in label for _, label in hints(wired))
        insert(wired, 3, "  let more = 1\n", 2)
        assert all(label.startswith("~") for _, label in hints(wired))


def test_it_does_not_wait_for_a_file_that_is_closed() -> None:
    with wire(capabilities=ASKING) as wired:
        wired.open(SCALE)
        asked = wired.client.begin("textDocument/inlayHint", {**document(), "range": WHOLE})
        wired.close()
        assert wired.client.answer(asked, SECONDS)["result"] == []


def test_one_that_waits_may_be_cancelled() -> None:
    with wire(capabilities=ASKING) as wired:
        wired.open(SCALE)
        asked = wired.client.begin("textDocument/inlayHint", {**document(), "range": WHOLE})
        wired.client.notify("$/cancelRequest", {"id": asked})
        assert wired.client.answer(asked, SECONDS)["error"]["code"] == -32800
        assert hints(wired)
