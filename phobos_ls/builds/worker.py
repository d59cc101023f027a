"""The building process: does what it is sent, one thing after the other, until nobody sends any more.

In, on the standard input: pickled pairs of a function and its argument. Out, on what was the standard output: for each
its result, or the traceback of what it raised. Whatever is printed meanwhile goes to the standard error.

A server that ends without a word leaves nothing behind: the thread that reads sees the end, and takes the assemblers
that the process started with it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Any

LENGTH = struct.Struct(">Q")
# What is typed and read goes before what is built.
NICE = 5


def main() -> None:
    with contextlib.suppress(AttributeError, OSError):
        os.nice(NICE)
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(source, jobs), daemon=True).start()
    while True:
        write(sink, _answer(jobs.get()))


def _read(source: IO[bytes], jobs: SimpleQueue[bytes]) -> None:
    while (message := read(source)) is not None:
        jobs.put(message)
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _answer(message: bytes) -> bytes:
    try:
        function, argument = pickle.loads(message)
        return pickle.dumps((True, function(argument)))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
        return pickle.dumps((False, (f"{type(error).__name__}: {error}{place}", traceback.format_exc())))


def read(source: IO[bytes]) -> bytes | None:
    """One message; None at the end."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = source.read(length)
    return body if len(body) == length else None


def write(sink: IO[bytes], message: bytes) -> None:
    sink.write(LENGTH.pack(len(message)) + message)
    sink.flush()


def pickled(function: Callable[[Any], Any], argument: Any) -> bytes:
    return pickle.dumps((function, argument))


if __name__ == "__main__":
    main()
