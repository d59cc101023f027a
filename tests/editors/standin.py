"""A stand-in for `phobos lsp`, for tests of how the extension shows what the server's own requests answer.

It is run as the `phobos` command, so it imports nothing of Phobos. What it answers is made of the document's text in a
way that a test can foretell:

- the listing of a kernel has the lines `first N` and `second N` for the source's line N, the kernel's;
- it is built when a file is opened or saved; in between it is of an earlier version, and `stale`, but the lines are
  those of the text as it is;
- a text with `BROKEN` cannot be built;
- a command is told with `window/showMessage`.

With `PHOBOS_STANDIN=old` it lacks all of these requests and commands.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

OLD = os.environ.get("PHOBOS_STANDIN") == "old"
METHOD_NOT_FOUND, REQUEST_FAILED = -32601, -32803
COMMANDS = ["phobos.build", "phobos.run", "phobos.selectConfiguration", "phobos.showPtx", "phobos.showSass"]
SHOWN = {"TILE": 32}


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read() -> Any:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def kernels(text: str) -> dict[str, tuple[int, int]]:
    """Of each kernel its first and last line."""
    found = {}
    for match in re.finditer(r"^kernel (\w+)[^}]*\}", text, re.MULTILINE):
        first = text.count("\n", 0, match.start())
        found[match[1]] = first, first + match[0].count("\n")
    return found


class Documents:
    def __init__(self) -> None:
        self.now: dict[str, tuple[int | None, str]] = {}
        self.built: dict[str, tuple[int | None, str]] = {}

    def build(self, uri: str) -> None:
        self.built[uri] = self.now[uri]
        self.tell(uri)

    def tell(self, uri: str) -> None:
        if not OLD:
            send(method="phobos/status", params={**self.status(uri), "uri": uri})

    def status(self, uri: str) -> dict[str, Any]:
        broken = "BROKEN" in self.now[uri][1]
        return {
            "state": "failed" if broken else "idle",
            "target": "sm_90",
            "fresh": self.built[uri] == self.now[uri],
            "ptxas": None,
            "message": "ptxas is not installed",
        }

    def kernel(self, params: Any) -> tuple[str, int, int] | None:
        text = self.built[params["textDocument"]["uri"]][1]
        if "BROKEN" in text:
            raise Refused(REQUEST_FAILED, "`broken` has errors: fix them first")
        line = params.get("position", {}).get("line")
        for name, (first, last) in kernels(text).items():
            if params.get("kernel") == name or (line is not None and first <= line <= last):
                return name, first, last
        return None

    def listing(self, params: Any, registers: bool) -> Any:
        if (found := self.kernel(params)) is None:
            return None
        name, first, last = found
        now = kernels(self.now[params["textDocument"]["uri"]][1]).get(name, (first, last))[0]
        lines = [now + line - first for line in range(first, last + 1) for _ in range(2)]
        words = [f"{word} {line}" for line in range(first, last + 1) for word in ("first", "second")]
        uri = params["textDocument"]["uri"]
        return {
            "kernel": name,
            "target": "sm_90",
            "config": SHOWN,
            "version": self.built[uri][0],
            "stale": self.built[uri] != self.now[uri],
            "text": "\n".join([f"// {name}", *words]),
            "lines": [None, *lines],
            **({"registers": [None, *(37 if line == first + 2 else 9 for line in lines)]} if registers else {}),
        }


def answer(documents: Documents, method: str, params: Any) -> Any:
    match method:
        case "initialize":
            capabilities: dict[str, Any] = {"textDocumentSync": {"openClose": True, "change": 1, "save": True}}
            capabilities["documentSymbolProvider"] = True
            if not OLD:
                capabilities["executeCommandProvider"] = {"commands": COMMANDS}
            return {"capabilities": capabilities, "serverInfo": {"name": "stand-in", "version": "9.9"}}
        case "shutdown":
            return None
        case "textDocument/documentSymbol":
            return [symbol(*kernel) for kernel in kernels(documents.now[params["textDocument"]["uri"]][1]).items()]
        case _ if OLD:
            raise Refused(METHOD_NOT_FOUND, f"unknown request {method}")
        case "phobos/ptx":
            return documents.listing(params, registers=False)
        case "phobos/sass":
            return documents.listing(params, registers=True)
        case "phobos/memoryMap":
            found = documents.listing(params, registers=False)
            return found and {**found, "text": "0..4096 tile a"}
        case "phobos/configurations":
            kernel = documents.kernel(params)
            each = [{"config": {"TILE": tile}, "report": f"regs {tile}"} for tile in (32, 64)]
            return kernel and {"kernel": kernel[0], "shown": SHOWN, "configurations": each}
        case "phobos/status":
            return documents.status(params["textDocument"]["uri"])
        case "workspace/executeCommand":
            send(method="window/showMessage", params={"type": 3, "message": json.dumps(params)})
            return None
    raise Refused(METHOD_NOT_FOUND, f"unknown request {method}")


def symbol(name: str, lines: tuple[int, int]) -> dict[str, Any]:
    whole = {"start": {"line": lines[0], "character": 0}, "end": {"line": lines[1], "character": 1}}
    return {"name": name, "kind": 12, "detail": "kernel", "range": whole, "selectionRange": whole}


def notified(documents: Documents, method: str, params: Any) -> None:
    if not method.startswith("textDocument/did"):
        return
    document = params["textDocument"]
    uri = document["uri"]
    match method:
        case "textDocument/didOpen":
            documents.now[uri] = document["version"], document["text"]
            documents.build(uri)
        case "textDocument/didChange":
            documents.now[uri] = document["version"], params["contentChanges"][-1]["text"]
            documents.tell(uri)
        case "textDocument/didSave":
            documents.build(uri)


def main() -> None:
    if marker := os.environ.get("PHOBOS_STANDIN_STARTED"):
        with open(marker, "a", encoding="utf-8") as file:
            file.write(f"{sys.argv[0]}\n")
    documents = Documents()
    while (message := read()) is not None and message.get("method") != "exit":
        method, params = message.get("method"), message.get("params")
        if method is None:
            continue
        if "id" not in message:
            notified(documents, method, params)
            continue
        try:
            send(id=message["id"], result=answer(documents, method, params))
        except Refused as refused:
            send(id=message["id"], error={"code": refused.code, "message": str(refused)})


main()
