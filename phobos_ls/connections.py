"""How a client is reached: standard input and output, a TCP port, or a websocket.

Messages are read on the thread that calls, each handled at once; a thread of its own sends what is written, so that no
thread that computes or reads ever waits for a client that is slow to read.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue

from phobos_ls.frames import Frames
from phobos_ls.server import Server
from phobos_ls.watching import watch_process

log = logging.getLogger(__name__)

CHUNK = 1 << 16
# How long the last answers may take on their way to a client that exits.
FLUSH_SECONDS = 2.0
# Pages of the web may talk to a port of this machine; only those that are served by it are answered.
LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


class Outbox:
    """What is to be sent, in the order in which it was written, by any thread."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        self._send = send
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="phobos-outbox", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        self._waiting.put(data)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(FLUSH_SECONDS)

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                self._send(data)
            except Exception as error:  # of whatever carries it; what reads will see the end of it
                log.info("the client is gone: %s", error)
                return


def converse(server: Server, read: Callable[[], bytes], send: Callable[[bytes], object]) -> int:
    """Serves one client over a stream of bytes until it exits or goes away; the exit code that it asked for."""
    outbox = Outbox(send)
    messages = server.messages
    messages.set_writer(outbox)
    frames = Frames()
    while not messages.ended:
        chunk = read()
        if not chunk:
            break
        for body in frames.feed(chunk):
            messages.receive(body)
            if messages.ended:
                break
        server.session.quiet()
    server.session.close()
    outbox.close()
    return messages.exit_code


def serve_stdio(make: Callable[[], Server]) -> int:
    """Nothing but messages may be on the standard output: whatever else is printed goes to the standard error."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (source, sink):
            msvcrt.setmode(descriptor, os.O_BINARY)
    server = make()
    server.session.on_start.append(lambda: watch_process(server.process_id))
    return converse(server, lambda: os.read(source, CHUNK), lambda data: _write_all(sink, data))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def serve_tcp(make: Callable[[], Server], host: str, port: int) -> int:
    """Any number of clients, each with a server of its own, until the process is ended."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        _announce("tcp", *listening.getsockname()[:2])
        while True:
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve_socket, args=(make(), connection), daemon=True).start()


def _serve_socket(server: Server, connection: socket.socket) -> None:
    def read() -> bytes:
        try:
            return connection.recv(CHUNK)
        except OSError:
            return b""

    with connection:
        converse(server, read, connection.sendall)


def serve_websocket(make: Callable[[], Server], host: str, port: int) -> int:
    """As `serve_tcp`, each message a message of the websocket."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.server import ServerConnection, serve

    def handle(connection: ServerConnection) -> None:
        server = make()
        messages = server.messages
        outbox = Outbox(lambda data: connection.send(data.decode("utf-8")))
        messages.set_writer(outbox, include_headers=False)
        try:
            while not messages.ended:
                messages.receive(connection.recv())
                server.session.quiet()
        except ConnectionClosed:
            pass
        server.session.close()
        outbox.close()

    with serve(handle, host, port, origins=[None, LOCAL_ORIGIN], max_size=None) as listening:
        _announce("websocket", *listening.socket.getsockname()[:2])
        listening.serve_forever()
    return 0


def _announce(kind: str, host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    print(f"phobos language server: {kind} on {shown}:{port}", file=sys.stderr, flush=True)
