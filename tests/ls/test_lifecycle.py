"""The life of a server and the rules for messages, as the protocol has them: LSP 3.17, "Server lifecycle", and JSON-RPC
2.0, "Error object"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.language_client import framed
from phobos_ls.server import FEATURES
from phobos_ls.session import Session
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Command, Feature, SessionFeature, at, whole
from tests.ls.wire import PULL, PUSH, URI, wire

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
NOT_INITIALIZED, CANCELLED, REQUEST_FAILED = -32002, -32800, -32803
HOVER = "textDocument/hover"
SHUTDOWN = "shutdown"


def boom(snapshot: Snapshot) -> Any:
    raise RuntimeError("a bug of a feature")


BROKEN = (*FEATURES, Feature("textDocument/foldingRange", whole(boom)))


def error_of(answer: dict[str, Any]) -> int:
    code: int = answer["error"]["code"]
    return code


def test_exit_after_shutdown_is_0() -> None:
    with wire() as wired:
        assert wired.client.request(SHUTDOWN) is None
        wired.client.notify("exit")
        assert wired.exit_code() == 0


def test_exit_without_shutdown_is_1() -> None:
    with wire() as wired:
        wired.client.notify("exit")
        assert wired.exit_code() == 1


def test_exit_before_initialize_is_1() -> None:
    with wire(capabilities=None) as wired:
        wired.client.notify("exit")
        assert wired.exit_code() == 1


def test_a_client_that_goes_away_is_an_exit_without_shutdown() -> None:
    with wire() as wired:
        pass
    assert wired.codes == [1]


def test_requests_before_initialize() -> None:
    with wire(capabilities=None) as wired:
        client = wired.client
        assert error_of(client.answer(client.begin(SHUTDOWN))) == NOT_INITIALIZED
        assert error_of(client.answer(client.begin("no/such"))) == NOT_INITIALIZED
        wired.open("kernel")  # dropped
        client.initialize(PULL)
        report = client.request("textDocument/diagnostic", {"textDocument": {"uri": URI}})
        assert report["items"] == []


def test_initialize_twice() -> None:
    with wire() as wired:
        again = wired.client.begin("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert error_of(wired.client.answer(again)) == INVALID_REQUEST


def test_requests_after_shutdown() -> None:
    with wire() as wired:
        client = wired.client
        client.request(SHUTDOWN)
        for method in (SHUTDOWN, "textDocument/diagnostic", "no/such"):
            assert error_of(client.answer(client.begin(method))) == INVALID_REQUEST
        wired.open("kernel")
        client.notify("exit")
        assert wired.exit_code() == 0


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        7,
        {},
        {"textDocument": None},
        {"textDocument": {"uri": 7}},
        {"textDocument": {"uri": URI}, "position": {"line": -1, "character": 0}},
        {"textDocument": {"uri": URI}, "position": {"line": "x", "character": 0}},
        {"textDocument": {"uri": URI}, "position": {"line": 2**31, "character": 0}},
        {"textDocument": {"uri": URI}, "position": []},
    ],
    ids=json.dumps,
)
def test_malformed_parameters(params: Any) -> None:
    table = (*FEATURES, Feature(HOVER, at(lambda snapshot, offset: None))) if HOVER not in _methods() else FEATURES
    with wire(table) as wired:
        answer = wired.client.answer(wired.client.begin(HOVER, params))
        assert error_of(answer) == INVALID_PARAMS
        assert "Traceback" not in json.dumps(answer)
        assert wired.client.request(SHUTDOWN) is None


def _methods() -> set[str]:
    return {line.method for line in FEATURES if not isinstance(line, Command)}


@pytest.mark.parametrize("method", ["no/such", "$/no", "textDocument/moniker", "phobos/no", ""])
def test_unknown_requests(method: str) -> None:
    with wire() as wired:
        assert error_of(wired.client.answer(wired.client.begin(method, {}))) == METHOD_NOT_FOUND


def test_unknown_and_malformed_notifications_are_passed_over() -> None:
    with wire() as wired:
        for method in ("no/such", "$/no", "textDocument/didOpen", "textDocument/didChange", "$/cancelRequest"):
            for params in (None, [], {}, 3):
                wired.client.notify(method, params)
        wired.client.notify("workspace/didChangeConfiguration", None)
        wired.client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": URI, "type": 9}]})
        wired.change([{"text": "kernel"}])  # not open
        assert wired.client.request(SHUTDOWN) is None
        assert not [m for m in wired.client.pending() if m.get("method") == "window/showMessage"]


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[" * 100_000, b'{"a": \xff}'])
def test_a_body_that_is_no_json(body: bytes) -> None:
    with wire() as wired:
        wired.client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        answer = wired.client.answer(None)
        assert error_of(answer) == PARSE_ERROR
        assert wired.client.request(SHUTDOWN) is None


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"1",
        b"null",
        b"{}",
        b'{"id": 1}',
        b'{"id": [1], "method": "shutdown"}',
        b'{"id": true, "method": "shutdown"}',
        b'{"id": 1, "method": 7}',
    ],
)
def test_json_that_is_no_message(body: bytes) -> None:
    with wire() as wired:
        wired.client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        _, answer = wired.client.wait(lambda message: "error" in message)
        assert error_of(answer) == INVALID_REQUEST


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: x\r\n\r\n",
        b"X-More: 1\r\n\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: none\r\n\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\n\n",
    ],
)
def test_headers(head: bytes) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 99, "method": SHUTDOWN}).encode()
    with wire() as wired:
        wired.client.send_bytes(head % len(body) + body)
        assert wired.client.answer(99)["result"] is None


def test_messages_in_pieces_and_together() -> None:
    messages = b"".join(framed({"id": 50 + n, "method": "no/such"}) for n in range(3))
    with wire() as wired:
        for byte in messages:
            wired.client.send_bytes(bytes([byte]))
        wired.client.send_bytes(messages)
        for expected in (50, 51, 52) * 2:
            assert error_of(wired.client.answer(expected)) == METHOD_NOT_FOUND


def test_a_bug_answers_its_request_and_ends_nothing() -> None:
    with wire(BROKEN) as wired:
        wired.open("kernel k() {}\n")
        assert wired.published() == []
        answer = wired.client.answer(wired.client.begin("textDocument/foldingRange", {"textDocument": {"uri": URI}}))
        assert error_of(answer) == INTERNAL_ERROR
        assert "bug in phobos" in answer["error"]["message"]
        assert "a bug of a feature" in answer["error"]["message"]
        assert "Traceback" not in json.dumps(answer)
        logged = wired.client.notification("window/logMessage")
        assert "a bug of a feature" in logged["message"]
        wired.replace("kernel k() { let x = y }\n")
        assert "unknown-name" in [found["code"] for found in wired.published()]
        assert wired.client.request(SHUTDOWN) is None


def test_the_id_of_a_request_may_be_a_string() -> None:
    with wire() as wired:
        wired.client.send({"id": "one", "method": SHUTDOWN})
        assert wired.client.answer("one")["result"] is None


def test_a_request_is_answered_once_though_it_is_cancelled_late() -> None:
    with wire() as wired:
        wired.client.send({"id": 70, "method": "no/such"})
        wired.client.notify("$/cancelRequest", {"id": 70})
        wired.client.notify("$/cancelRequest", {"id": "never sent"})
        assert error_of(wired.client.answer(70)) == METHOD_NOT_FOUND
        wired.client.request(SHUTDOWN)
        assert not [m for m in wired.client.pending() if m.get("id") == 70]


def test_capabilities_of_a_later_protocol_are_passed_over() -> None:
    future = {
        "general": {"positionEncodings": ["utf-64", "utf-32"]},
        "textDocument": {
            **PULL["textDocument"],
            "completion": {"completionItemKind": {"valueSet": [1, 999]}},
            "telepathy": {"depth": 3},
        },
        "workspace": {**PULL["workspace"], "configuration": "perhaps", "applyEdit": True},
    }
    with wire(capabilities=None) as wired:
        announced = wired.client.initialize(future)["capabilities"]
        assert announced["positionEncoding"] == "utf-32"
        assert "diagnosticProvider" in announced


@pytest.mark.parametrize("params", [None, {}, {"capabilities": 5}, {"capabilities": {}, "processId": "x"}])
def test_a_malformed_initialize_is_refused_and_can_be_repeated(params: Any) -> None:
    with wire(capabilities=None) as wired:
        assert error_of(wired.client.answer(wired.client.begin("initialize", params))) == INVALID_PARAMS
        assert "capabilities" in wired.client.initialize(PUSH)


def test_the_encoding_is_the_clients_first_choice() -> None:
    for offered, chosen in [
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-16"], "utf-16"),
        ([], "utf-16"),
        (None, "utf-16"),
    ]:
        with wire(capabilities=None) as wired:
            general = {} if offered is None else {"general": {"positionEncodings": offered}}
            assert wired.client.initialize(general)["capabilities"]["positionEncoding"] == chosen


def test_what_is_announced_is_what_the_table_has() -> None:
    def answer(params: Any, session: Session) -> Any:
        return params

    table = (
        Feature(HOVER, at(lambda snapshot, offset: None)),
        SessionFeature("phobos/mirror", answer),
        Command("phobos.echo", lambda arguments, session: arguments),
    )
    with wire(table, capabilities=None) as wired:
        announced = wired.client.initialize(PUSH)["capabilities"]
        assert announced["hoverProvider"] is True
        assert "definitionProvider" not in announced
        assert "diagnosticProvider" not in announced
        assert announced["experimental"] == {"phobos": {"requests": ["phobos/mirror"]}}
        assert announced["executeCommandProvider"]["commands"] == ["phobos.echo"]
        assert wired.client.request("phobos/mirror", {"a": [1]}) == {"a": [1]}
        command = {"command": "phobos.echo", "arguments": [1, {"x": 2}]}
        assert wired.client.request("workspace/executeCommand", command) == [1, {"x": 2}]
        unknown = wired.client.begin("workspace/executeCommand", {"command": "no.such"})
        assert error_of(wired.client.answer(unknown)) == INVALID_PARAMS


def test_a_file_that_is_not_open_and_not_there() -> None:
    def refuse(snapshot: Snapshot, offset: int) -> Any:
        raise AssertionError("there is no text to answer about")

    with wire((Feature(HOVER, at(refuse)),)) as wired:
        params = {"textDocument": {"uri": "file:///no/such.ph"}, "position": {"line": 0, "character": 0}}
        assert wired.client.request(HOVER, params) is None
