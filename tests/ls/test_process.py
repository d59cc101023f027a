"""The server as a process: how it is started, reached, left and lost."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from bench.language_client import Client, Process
from bench.measure import environment
from tests.ls.wire import COMMAND, PULL, PUSH, URI

WRONG = "kernel k() {\n  let a = y\n}\n"
PHOBOS_LSP = [sys.executable, "-m", "phobos_core", "lsp"]

NOISY = """
import os, subprocess, sys
from lsprotocol import types as lsp
from phobos_ls.connections import serve_stdio
from phobos_ls.server import FEATURES, Server
from phobos_ls.table import Feature, whole

def noisy(snapshot):
    print("printed")
    os.write(1, b"written")
    subprocess.run(["echo", "echoed"], check=True)
    return [] if sys.stdin.read() == "" else None  # nothing may be taken from the client's messages either

sys.exit(serve_stdio(lambda: Server((*FEATURES, Feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE, whole(noisy))))))
"""


def start(command: list[str], **env: str) -> Process:
    return Process(command, {**environment(), **env})


def open_(client: Client, text: str = WRONG, uri: str = URI) -> None:
    item = {"uri": uri, "languageId": "phobos", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})


def diagnostics(client: Client, uri: str = URI) -> list[str]:
    report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    return [each["code"] for each in report["items"] if each["severity"] == 1]


@pytest.mark.parametrize("command", [COMMAND, PHOBOS_LSP, [*PHOBOS_LSP, "--stdio", "--clientProcessId=1"]])
def test_standard_streams(command: list[str]) -> None:
    with start(command) as server:
        server.client.initialize(PULL)
        open_(server.client)
        assert diagnostics(server.client) == ["unknown-name"]
        server.client.request("shutdown")
        server.client.notify("exit")
        assert server.wait() == 0
    assert server.errors == b""


def test_exit_without_shutdown() -> None:
    with start(COMMAND) as server:
        server.client.initialize(PULL)
        server.client.notify("exit")
        assert server.wait() == 1


def test_the_end_of_the_input_is_the_end() -> None:
    with start(COMMAND) as server:
        assert server.process.stdin
        server.process.stdin.close()
        assert server.wait() == 1


def test_a_check_that_runs_does_not_hold_up_the_end() -> None:
    many = "".join(f"kernel k{n}(A: tensor<f32>[64]) {{\n  A[ctx.lane] = y\n}}\n" for n in range(20_000))
    with start(COMMAND) as server:
        server.client.initialize(PUSH)
        open_(server.client, many)
        server.client.request("shutdown")
        server.client.notify("exit")
        assert server.wait(5) == 0


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches what is started, also where a shell has told the tests in its background to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(number: signal.Signals, status: int) -> None:
    with start(PHOBOS_LSP) as server:
        server.client.initialize(PULL)
        server.process.send_signal(number)
        assert server.wait(10) == status
    assert b"Traceback" not in server.errors


def test_nothing_but_messages_on_the_standard_output() -> None:
    with start([sys.executable, "-c", NOISY]) as server:
        server.client.initialize(PULL)
        open_(server.client)
        folding = {"textDocument": {"uri": URI}}
        for _ in range(3):
            assert server.client.request("textDocument/foldingRange", folding) == []
        server.client.request("shutdown")
        server.client.notify("exit")
        assert server.wait() == 0
        # The client has read every byte of it as messages, to the end.
        assert server.client.pending() == []
    assert server.errors.count(b"printed") == server.errors.count(b"written") == server.errors.count(b"echoed") == 3


def test_what_is_logged_goes_to_the_standard_error() -> None:
    with start([*COMMAND, "--log", "info"]) as server:
        server.client.initialize(PULL)
        server.client.notify("no/such")
        server.client.request("shutdown")
        server.client.notify("exit")
        server.wait()
    assert b"no/such" in server.errors


def test_an_editor_that_dies_takes_its_server_with_it() -> None:
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with start(COMMAND) as server:
            server.client.initialize(PULL, processId=editor.pid)
            open_(server.client)
            assert diagnostics(server.client) == ["unknown-name"]
            editor.kill()  # not waited for: what it leaves behind is no process that runs
            assert server.wait(10) == 1
    finally:
        editor.kill()
        editor.wait()
        assert editor.stdin
        editor.stdin.close()


def test_an_editor_of_another_machine_is_not_watched() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with start(COMMAND) as server:
        server.client.initialize(PULL, processId=gone.pid)
        time.sleep(0.5)
        assert server.client.request("shutdown") is None


def test_what_is_loaded_before_a_build() -> None:
    program = (
        "import sys, phobos_ls.connections; "
        "print([name for name in ('numpy', 'llvmlite', 'ml_dtypes', 'phobos_core.ir') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_what_the_command_line_loads() -> None:
    program = "import sys, phobos_core.cli.arguments as a; a.parse(['lsp']); print('pygls' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(
    "wrong", [["--tcp", "7658"], ["--tcp", "localhost:x"], ["--ws", "h:70000"], ["--tcp", "a:1", "--ws", "a:1"]]
)
def test_a_wrong_command_line(wrong: list[str]) -> None:
    done = subprocess.run([*PHOBOS_LSP, *wrong], env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run([*PHOBOS_LSP, "--tcp", where], env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot serve: ")


@contextmanager
def listening(option: str) -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    """A server on a free port."""
    command = [*PHOBOS_LSP, option, "127.0.0.1:0"]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        said = re.fullmatch(r"phobos language server: (?:tcp|websocket) on (.+):(\d+)\n", process.stderr.readline())
        assert said
        yield said[1], int(said[2]), process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def over_tcp(host: str, port: int) -> tuple[Client, socket.socket]:
    stream = socket.create_connection((host, port), timeout=30)
    return Client(lambda: stream.recv(1 << 16), stream.sendall), stream


def test_tcp() -> None:
    """Several clients, at once and one after the other, each with a server of its own."""
    with listening("--tcp") as (host, port, process):
        (first, one), (second, two) = over_tcp(host, port), over_tcp(host, port)
        first.initialize(PULL)
        second.initialize(PULL)
        open_(first)
        assert diagnostics(first) == ["unknown-name"]
        assert diagnostics(second) == []
        first.request("shutdown")
        first.notify("exit")
        two.close()
        third, three = over_tcp(host, port)
        third.initialize(PULL)
        open_(third)
        assert diagnostics(third) == ["unknown-name"]
        assert process.poll() is None
        one.close()
        three.close()


def test_websocket() -> None:
    def call(socket_: object, **message: object) -> dict[str, object]:
        socket_.send(json.dumps({"jsonrpc": "2.0", **message}))
        answer: dict[str, object] = json.loads(socket_.recv(timeout=30))
        return answer

    with listening("--ws") as (host, port, process):
        address = f"ws://{host}:{port}"
        for _ in range(2):
            with connect(address) as client:
                params = {"processId": None, "rootUri": None, "capabilities": PULL}
                assert "result" in call(client, id=1, method="initialize", params=params)
                item = {"uri": URI, "languageId": "phobos", "version": 1, "text": WRONG}
                client.send(
                    json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
                )
                report = call(client, id=2, method="textDocument/diagnostic", params={"textDocument": {"uri": URI}})
                assert "unknown-name" in json.dumps(report)
        with connect(address, origin="http://localhost:3000") as client:
            assert call(client, id=1, method="no/such")["error"]
        # A page of the web is not the user's editor.
        with pytest.raises(InvalidStatus):
            connect(address, origin="https://example.org")
        assert process.poll() is None


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_memory_stays_flat_over_many_edits() -> None:
    text = "".join(
        f"kernel k{n}(A: tensor<f32>[64]) {{\n  let a = A[0]\n  A[ctx.lane] = a * 2.0\n}}\n\n" for n in range(60)
    )
    with start(COMMAND) as server:
        client = server.client
        client.initialize(PUSH)
        open_(client, text)

        def edit(count: int, first: int) -> None:
            for number in range(count):
                line = 5 * (number % 60) + 2
                place = {"start": {"line": line, "character": 20}, "end": {"line": line, "character": 21}}
                change = {"range": place, "text": str(number % 9)}
                document = {"uri": URI, "version": first + number}
                client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
                if number % 4 == 0:
                    client.wait(is_published(first + number))
            client.wait(is_published(first + count - 1))
            client.pending()

        edit(300, 2)
        before = server.memory()
        edit(2000, 302)
        assert server.memory() - before < 4 << 20


def is_published(version: int):
    return lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["version"] == version
