"""Settings, folders, files on the disk, and when what is computed, over the wire."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from phobos_core.language.codes import CODES
from phobos_ls.server import FEATURES
from phobos_ls.session import Session
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Feature, SessionFeature, whole
from tests.ls.wire import PULL, PUSH, URI, Wired, wire

RIGHT = "kernel k(A: tensor<f32>[64]) {\n  A[ctx.lane] = 1.0\n}\n"
WRONG = "kernel k(A: tensor<f32>[64]) {\n  A[ctx.lane] = y\n}\n"
LATER_CHIP = CODES["needs-target"].wrong
ASKED = {**PUSH, "workspace": {"configuration": True}}
CANCELLED = -32800
DOCUMENT = {"textDocument": {"uri": URI}}


def codes(found: list[dict[str, Any]]) -> list[str]:
    """Of what is wrong; names that nothing reads are no mistakes."""
    return [each["code"] for each in found if each["code"] != "unused-name"]


def configure(wired: Wired, settings: Any) -> None:
    wired.client.notify("workspace/didChangeConfiguration", {"settings": settings})


# Settings.


@pytest.mark.parametrize("options", [{"target": "sm_61"}, {"phobos": {"target": "sm_61"}}])
def test_settings_of_the_start(options: Any) -> None:
    with wire(initializationOptions=options) as wired:
        wired.open(LATER_CHIP)
        assert codes(wired.published()) == ["needs-target"]


def test_settings_that_are_sent() -> None:
    with wire() as wired:
        wired.open(LATER_CHIP)
        assert codes(wired.published()) == []
        configure(wired, {"phobos": {"target": ["sm_61", "sm_90"]}, "editor": {"target": "sm_90"}})
        assert codes(wired.published()) == ["needs-target"]
        configure(wired, {"phobos": {}})
        assert codes(wired.published()) == []


def test_a_client_that_cannot_be_told_to_ask_again_is_sent_diagnostics() -> None:
    told = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": False}}}
    with wire(capabilities=None) as wired:
        announced = wired.client.initialize(told)["capabilities"]
        assert "diagnosticProvider" not in announced
        wired.open(LATER_CHIP)
        assert codes(wired.published()) == []
        configure(wired, {"phobos": {"target": "sm_61"}})
        assert codes(wired.published()) == ["needs-target"]


def test_a_wrong_setting_is_said_once_and_the_others_apply() -> None:
    with wire() as wired:
        wired.open(LATER_CHIP)
        wired.published()
        for _ in range(2):
            configure(wired, {"phobos": {"target": "sm_61", "build": "sometimes"}})
            assert codes(wired.published()) == ["needs-target"]
        said = [m["params"] for m in wired.client.pending() if m.get("method") == "window/showMessage"]
        assert [each["type"] for each in said] == [lsp.MessageType.Warning]
        assert "`phobos.build`" in said[0]["message"]


@pytest.mark.parametrize(
    "settings", [None, 3, [], {"phobos": None}, {"phobos": 3}, {"phobos": {"target": 7, "dims": []}}]
)
def test_any_settings_are_survived(settings: Any) -> None:
    with wire() as wired:
        wired.open(WRONG)
        wired.published()
        configure(wired, settings)
        assert codes(wired.published()) == ["unknown-name"]


def test_folders_are_asked_for_when_they_are_added(tmp_path: Path) -> None:
    def answer(params: Any) -> Any:
        return [{"target": "sm_61"} if "scopeUri" in item else None for item in params["items"]]

    folder = tmp_path / "one"
    uri = (folder / "a.ph").as_uri()
    with wire(capabilities=ASKED, answers={"workspace/configuration": answer}) as wired:
        wired.open(LATER_CHIP, uri)
        assert codes(wired.published(uri)) == []
        added = {"added": [{"uri": folder.as_uri(), "name": "one"}], "removed": []}
        wired.client.notify("workspace/didChangeWorkspaceFolders", {"event": added})
        while codes(wired.published(uri)) != ["needs-target"]:
            pass
        removed = {"removed": [{"uri": folder.as_uri(), "name": "one"}], "added": []}
        wired.client.notify("workspace/didChangeWorkspaceFolders", {"event": removed})
        while codes(wired.published(uri)) != []:
            pass
        asked = [m["params"]["items"] for m in wired.client.requested]
        assert asked[0] == [{"section": "phobos"}]
        assert asked[1] == [{"section": "phobos"}, {"scopeUri": folder.as_uri(), "section": "phobos"}]


def test_a_client_that_cannot_answer_keeps_the_settings_of_the_start() -> None:
    def answer(params: Any) -> Any:
        return "no list"

    options = {"target": "sm_61"}
    with wire(capabilities=ASKED, answers={"workspace/configuration": answer}, initializationOptions=options) as wired:
        wired.open(LATER_CHIP)
        assert codes(wired.published()) == ["needs-target"]


def test_what_the_server_registers() -> None:
    dynamic = {"dynamicRegistration": True}
    workspace = {"didChangeConfiguration": dynamic, "didChangeWatchedFiles": dynamic}
    with wire(capabilities={"workspace": workspace}) as wired:
        wired.client.request("shutdown")
        (asked,) = wired.client.requested
        assert [each["method"] for each in asked["params"]["registrations"]] == [
            "workspace/didChangeConfiguration",
            "workspace/didChangeWatchedFiles",
        ]


# Files on the disk.


def pull_workspace(wired: Wired, known: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    previous = [{"uri": uri, "value": value} for uri, value in (known or {}).items()]
    report = wired.client.request("workspace/diagnostic", {"previousResultIds": previous})
    return {Path(item["uri"]).name: item for item in report["items"]}


def test_diagnostics_of_a_workspace(tmp_path: Path) -> None:
    for name, text in (("a", WRONG), ("b", RIGHT), ("deep/c", WRONG), (".git/d", WRONG), ("node_modules/e", WRONG)):
        path = tmp_path / f"{name}.ph"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "readme.txt").write_text(WRONG)
    with wire(capabilities=PULL, folders=[tmp_path]) as wired:
        items = pull_workspace(wired)
        assert {name: codes(item["items"]) for name, item in items.items()} == {
            "a.ph": ["unknown-name"],
            "b.ph": [],
            "c.ph": ["unknown-name"],
        }
        # What is open has answers of its own, and what has not changed is not said again.
        wired.open(RIGHT, (tmp_path / "b.ph").as_uri())
        (tmp_path / "deep" / "c.ph").write_text(RIGHT + "\n")
        known = {item["uri"]: item["resultId"] for item in items.values()}
        again = pull_workspace(wired, known)
        assert {name: item["kind"] for name, item in again.items()} == {"a.ph": "unchanged", "c.ph": "full"}
        assert again["c.ph"]["items"] == []
        (tmp_path / "a.ph").unlink()
        assert pull_workspace(wired, known)["a.ph"]["items"] == []


def test_a_document_that_did_not_change_is_not_said_again() -> None:
    with wire(capabilities=PULL) as wired:
        wired.open(WRONG)
        first = wired.client.request("textDocument/diagnostic", DOCUMENT)
        known = {**DOCUMENT, "previousResultId": first["resultId"]}
        again = wired.client.request("textDocument/diagnostic", known)
        assert again == {"kind": "unchanged", "resultId": first["resultId"]}
        wired.replace(f"{WRONG}\n")
        assert wired.client.request("textDocument/diagnostic", known)["kind"] == "unchanged"  # the same in every place
        wired.replace(f"\n{WRONG}")
        assert wired.client.request("textDocument/diagnostic", known)["kind"] == "full"


def test_a_file_that_is_not_open_is_read_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.ph"
    path.write_bytes(b"\xef\xbb\xbf" + WRONG.encode())
    with wire(capabilities=PULL) as wired:
        report = wired.client.request("textDocument/diagnostic", {"textDocument": {"uri": path.as_uri()}})
        assert codes(report["items"]) == ["unknown-name"]


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "x",
        "file://",
        "file:///",
        "file://[",
        "file:///dev/zero",
        "file:///no%00such",
        "file:///no/such%FF.ph",
        "untitled:Untitled-1",
        "http://[::1/",
        "file:///" + "a" * 5000,
    ],
)
def test_a_document_that_is_no_file(uri: str) -> None:
    with wire(capabilities=PULL) as wired:
        report = wired.client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert report["items"] == []
        wired.open(WRONG, uri)
        report = wired.client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert codes(report["items"]) == ["unknown-name"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("file:///a/b%20%C3%A9.ph", "file:///a/b é.ph"),
        ("file:///c%3A/k.ph", "file:///C:/k.ph"),
        ("file:///a/b.ph", "file:///a/b.ph"),
    ],
)
def test_two_ways_to_write_a_uri(first: str, second: str) -> None:
    with wire() as wired:
        wired.open(WRONG, first)
        assert codes(wired.published(first)) == ["unknown-name"]
        wired.replace(RIGHT, second)
        assert codes(wired.published(first)) == []
        wired.replace(WRONG, first, version=3)
        assert codes(wired.published(first)) == ["unknown-name"]
        wired.close(second)
        assert wired.published(first) == []


@pytest.mark.parametrize("root", ["rootUri", "rootPath"])
def test_a_client_that_names_only_a_root(root: str, tmp_path: Path) -> None:
    (tmp_path / "a.ph").write_text(WRONG)
    named = {"rootUri": None, root: tmp_path.as_uri() if root == "rootUri" else str(tmp_path)}
    with wire(capabilities=PULL, workspaceFolders=None, **named) as wired:
        assert list(pull_workspace(wired)) == ["a.ph"]


# When what is computed.


def test_a_burst_of_edits_is_analysed_once() -> None:
    line = "  let x = 1\n"
    with wire() as wired:
        wired.open("kernel k(A: tensor<f32>[64]) {\n}\n")
        wired.published()
        for version in range(2, 102):
            start = {"line": 1, "character": 0}
            wired.change([{"range": {"start": start, "end": start}, "text": line}], version=version)
        published = []
        while not published or published[-1]["version"] < 101:
            published.append(wired.client.notification("textDocument/publishDiagnostics"))
        assert [each["code"] for each in published[-1]["diagnostics"]].count("duplicate-name") == 99
        # Edits that are there together are one; a slow client's come in a few lots.
        assert len(published) <= 20


class Slow:
    """A feature that answers when it is let go, or is given up."""

    def __init__(self) -> None:
        self.running, self.go = threading.Event(), threading.Event()

    def __call__(self, snapshot: Snapshot) -> Any:
        self.running.set()
        while not self.go.wait(0.001):
            snapshot.checkpoint()
        return {"version": snapshot.version}


FOLDING = "textDocument/foldingRange"
VERSION = SessionFeature("phobos/ping", lambda params, session: "pong")


def test_a_request_is_answered_about_the_text_that_it_was_asked_of() -> None:
    slow = Slow()
    with wire((*FEATURES, Feature(FOLDING, whole(slow)))) as wired:
        wired.open(RIGHT)
        first = wired.client.begin(FOLDING, DOCUMENT)
        assert slow.running.wait(10)
        wired.replace(WRONG, version=2)
        second = wired.client.begin(FOLDING, DOCUMENT)
        wired.replace(RIGHT, version=3)
        slow.go.set()
        assert wired.client.answer(first)["result"] == {"version": 1}
        assert wired.client.answer(second)["result"] == {"version": 2}


def test_requests_are_cancelled_where_they_wait_and_where_they_run() -> None:
    slow = Slow()
    with wire((*FEATURES, Feature(FOLDING, whole(slow)))) as wired:
        wired.open(RIGHT)
        running = wired.client.begin(FOLDING, DOCUMENT)
        assert slow.running.wait(10)
        waiting = wired.client.begin(FOLDING, DOCUMENT)
        for msg_id in (waiting, running):
            wired.client.notify("$/cancelRequest", {"id": msg_id})
        for msg_id in (running, waiting):
            assert wired.client.answer(msg_id)["error"]["code"] == CANCELLED
        slow.go.set()
        assert wired.client.request(FOLDING, DOCUMENT) == {"version": 1}


def test_a_slow_request_delays_nothing_else() -> None:
    slow = Slow()
    with wire((*FEATURES, VERSION, Feature(FOLDING, whole(slow)))) as wired:
        wired.open(RIGHT)
        wired.published()
        slow_one = wired.client.begin(FOLDING, DOCUMENT)
        assert slow.running.wait(10)
        other = "file:///other.ph"
        wired.open(WRONG, other)
        assert codes(wired.published(other)) == ["unknown-name"]
        assert wired.client.request("phobos/ping") == "pong"
        for version in range(2, 500):
            wired.replace(RIGHT, version=version)
        assert wired.client.request("phobos/ping") == "pong"
        slow.go.set()
        assert wired.client.answer(slow_one)["result"] == {"version": 1}


def test_shutting_down_waits_for_nothing() -> None:
    slow = Slow()
    with wire((*FEATURES, Feature(FOLDING, whole(slow)))) as wired:
        wired.open(RIGHT)
        running = wired.client.begin(FOLDING, DOCUMENT)
        assert slow.running.wait(10)
        assert wired.client.request("shutdown") is None
        assert wired.client.answer(running)["error"]["code"] == CANCELLED
        wired.client.notify("exit")
        assert wired.exit_code() == 0


def test_a_large_check_is_given_up_for_newer_text() -> None:
    many = "\n".join(WRONG.replace("kernel k", f"kernel k{n}") for n in range(300))
    with wire() as wired:
        wired.open(many)
        wired.replace(WRONG, version=2)
        while (found := wired.client.notification("textDocument/publishDiagnostics"))["version"] != 2:
            pass
        assert codes(found["diagnostics"]) == ["unknown-name"]


# What others have to say of a text.


@pytest.mark.parametrize("pulls", [False, True])
def test_contributed_diagnostics(pulls: bool) -> None:
    said: list[str] = []

    def contribute(snapshot: Snapshot) -> list[lsp.Diagnostic]:
        return [lsp.Diagnostic(snapshot.range(0, 6), text) for text in said]

    with wire(capabilities=PULL if pulls else PUSH) as wired:

        def shown() -> list[str]:
            if pulls:
                found = wired.client.request("textDocument/diagnostic", DOCUMENT)["items"]
            else:
                found = wired.published()
            return [each["message"] for each in found]

        events: list[tuple[str, int | None]] = []
        wired.server.session.contributors.append(contribute)
        wired.server.session.listeners.append(lambda event, document: events.append((event, document.revision.version)))
        wired.open(RIGHT)
        assert shown() == []
        said.append("too many registers")
        wired.server.session.recontribute(URI)
        assert shown() == ["too many registers"]
        if pulls:
            deadline = time.monotonic() + 10
            while not wired.client.requested and time.monotonic() < deadline:
                time.sleep(0.01)
            assert [m["method"] for m in wired.client.requested] == ["workspace/diagnostic/refresh"]
        wired.replace(RIGHT, version=2)
        wired.client.notify("textDocument/didSave", DOCUMENT)
        configure(wired, {})
        wired.close()
        wired.client.request("shutdown")
        assert events == [("opened", 1), ("changed", 2), ("saved", 2), ("configured", 2), ("closed", 2)]


def test_a_session_is_told_of_its_start() -> None:
    """What belongs to a whole session, as builds do, is begun when the client is ready."""
    begun: list[Session] = []
    with wire(capabilities=None) as wired:
        session = wired.server.session
        session.on_start.append(lambda: begun.append(session))
        wired.client.initialize(PUSH)
        wired.client.request("shutdown")
    assert begun == [session]
