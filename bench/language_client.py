"""A client of language servers that sends and receives messages and knows nothing of what they are about.

The benchmarks speak to every server through it, and the tests to ours where a message has to be one that no well-made
client would send.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from phobos_ls.frames import Frames

Message: TypeAlias = dict[str, Any]
SECONDS = 60.0


class Gone(Exception):
    """The server ended, or said nothing for too long."""


class Client:
    """`read` gives what the server has sent, empty at its end, and `write` sends to it. `answers` says what to answer
    to a request of the server by its method; any other is answered with null."""

    def __init__(
        self,
        read: Callable[[], bytes],
        write: Callable[[bytes], object],
        answers: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        self._read = read
        self._write = write
        self._answers = dict(answers or {})
        self._received: SimpleQueue[tuple[float, Message] | None] = SimpleQueue()
        self._kept: list[tuple[float, Message]] = []
        self._last = 0
        self.requested: list[Message] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        frames = Frames()
        while chunk := self._arrived():
            now = time.perf_counter()
            for body in frames.feed(chunk):
                message = json.loads(body)
                if "method" in message and "id" in message:
                    self.requested.append(message)
                    answering = self._answers.get(message["method"])
                    answer = answering(message.get("params")) if answering else None
                    with contextlib.suppress(OSError, ValueError):  # the conversation may be over
                        self.send({"id": message["id"], "result": answer})
                else:
                    self._received.put((now, message))
        self._received.put(None)

    def _arrived(self) -> bytes:
        try:
            return self._read()
        except OSError:  # a connection that was closed
            return b""

    def send(self, message: Message) -> None:
        self.send_bytes(framed(message))

    def send_bytes(self, data: bytes) -> None:
        self._write(data)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any = None) -> int:
        """Sends a request; its id."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    def request(self, method: str, params: Any = None, seconds: float = SECONDS) -> Any:
        """The result. An error is raised."""
        answer = self.answer(self.begin(method, params), seconds)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def answer(self, msg_id: Any, seconds: float = SECONDS) -> Message:
        """The whole answer to a request, which may be an error."""
        return self.wait(lambda message: "method" not in message and message.get("id") == msg_id, seconds)[1]

    def notification(self, method: str, seconds: float = SECONDS) -> Any:
        """The parameters of the next notification of a method."""
        return self.wait(lambda message: message.get("method") == method, seconds)[1]["params"]

    def wait(self, wanted: Callable[[Message], bool], seconds: float = SECONDS) -> tuple[float, Message]:
        """The first message that is wanted, with the time at which it came. Others wait for their turn."""
        for place, (at, message) in enumerate(self._kept):
            if wanted(message):
                del self._kept[place]
                return at, message
        end = time.monotonic() + seconds
        while True:
            try:
                entry = self._received.get(timeout=max(end - time.monotonic(), 0.001))
            except Empty:
                raise Gone(f"no such message within {seconds} s") from None
            if entry is None:
                self._received.put(None)
                raise Gone("the server has ended")
            if wanted(entry[1]):
                return entry
            self._kept.append(entry)

    def pending(self) -> list[Message]:
        """What has come and nobody asked for."""
        while not self._received.empty():
            entry = self._received.get()
            if entry is None:
                self._received.put(None)
                break
            self._kept.append(entry)
        kept, self._kept = self._kept, []
        return [message for _, message in kept]

    def initialize(
        self, capabilities: Mapping[str, Any] | None = None, folders: Sequence[Path] = (), **more: Any
    ) -> Message:
        """The handshake; what the server answers."""
        named = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        params = {
            "processId": os.getpid(),
            "rootUri": named[0]["uri"] if named else None,
            "capabilities": dict(capabilities or {}),
            "workspaceFolders": named or None,
            **more,
        }
        result: Message = self.request("initialize", params)
        self.notify("initialized", {})
        return result


def framed(message: Message) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode("utf-8")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Process:
    """A server as an editor starts it, and the client that talks to it. Ends it where it has not ended itself."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        answers: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        sink, source, self._errors = self.process.stdin, self.process.stdout, self.process.stderr
        assert sink is not None
        assert source is not None
        self.errors = b""
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

        def write(data: bytes) -> None:
            sink.write(data)
            sink.flush()

        self.client = Client(lambda: os.read(source.fileno(), 1 << 16), write, answers)

    def _read_errors(self) -> None:
        while self._errors is not None and (line := self._errors.readline()):
            self.errors += line

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *reason: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(2)

    def wait(self, seconds: float = SECONDS) -> int:
        """The exit code."""
        return self.process.wait(seconds)

    def cpu_ms(self) -> float:
        """Milliseconds of processor time so far, where the system tells."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of the server that are in memory, where the system tells."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
