"""A server of this process behind a socket: what is sent to it is bytes, as from an editor, and what it holds can be
looked at."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.language_client import Client, Gone
from phobos_ls.connections import converse
from phobos_ls.server import FEATURES, Server
from phobos_ls.table import Table

COMMAND = [sys.executable, "-m", "phobos_ls.main"]
URI = "file:///kernel.ph"
PULL = {
    "textDocument": {"diagnostic": {}, "publishDiagnostics": {"relatedInformation": True}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}
PUSH = {
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "tagSupport": {"valueSet": [1]},
            "codeDescriptionSupport": True,
        }
    }
}


@dataclass(frozen=True)
class Wired:
    client: Client
    server: Server
    codes: list[int]

    def open(self, text: str, uri: str = URI, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "phobos", "version": version, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    def replace(self, text: str, uri: str = URI, version: int = 2) -> None:
        self.change([{"text": text}], uri, version)

    def change(self, changes: list[dict[str, Any]], uri: str = URI, version: int = 2) -> None:
        document = {"uri": uri, "version": version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def close(self, uri: str = URI) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, uri: str = URI) -> list[dict[str, Any]]:
        """The diagnostics that are sent next for a document."""
        _, message = self.client.wait(
            lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        )
        found: list[dict[str, Any]] = message["params"]["diagnostics"]
        return found

    def exit_code(self) -> int:
        """That the server ended with."""
        while not self.codes:
            try:
                self.client.wait(lambda message: False, 5)
            except Gone:
                break
        return self.codes[0]


@contextmanager
def wire(
    table: Table = FEATURES,
    capabilities: Mapping[str, Any] | None = PUSH,
    answers: Mapping[str, Callable[[Any], Any]] | None = None,
    **more: Any,
) -> Iterator[Wired]:
    """A client of a server. It has said hello, unless its `capabilities` are None."""
    mine, its = socket.socketpair()
    server = Server(table)
    codes: list[int] = []

    def run() -> None:
        codes.append(converse(server, lambda: its.recv(1 << 16), its.sendall))
        its.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wired = Wired(Client(lambda: mine.recv(1 << 16), mine.sendall, answers), server, codes)
    try:
        if capabilities is not None:
            wired.client.initialize(capabilities, **more)
        yield wired
    finally:
        with contextlib.suppress(OSError):
            mine.shutdown(socket.SHUT_WR)
        thread.join(10)
        mine.close()
        assert not thread.is_alive(), "the server still reads"
