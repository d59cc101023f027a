"""The server's end of the building process: started, sent work, and ended with everything that it started.

What it says arrives by a callback, on a thread of its own.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeAlias

import phobos_ls
from phobos_ls.builds import worker

# What a worker said: whether the work was done, with its result, or what went wrong in short and at length. None: it
# died.
Reply: TypeAlias = tuple[bool, Any] | None

_PROGRAM = "import sys; sys.path.insert(0, {folder!r}); from phobos_ls.builds.worker import main; main()"


class WorkerProcess:
    """`heard` is told of each reply, and of the end."""

    def __init__(self, heard: Callable[[WorkerProcess, Reply], None]) -> None:
        folder = str(Path(phobos_ls.__file__).resolve().parents[1])
        self._heard = heard
        # `-P`: nothing that lies in the user's folder is imported. A session of its own: its signals are not the
        # editor's, and it can be ended together with the assemblers that it started.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM.format(folder=folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._sink, source = self._process.stdin, self._process.stdout
        threading.Thread(target=self._read, args=(source,), name="phobos-worker", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Of a worker that is gone, its end is heard and nothing else."""
        with contextlib.suppress(OSError):
            worker.write(self._sink, worker.pickled(function, argument))

    def end(self) -> None:
        """At once, whatever it does."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._sink.close()

    def status(self) -> int:
        """That it ended with."""
        return self._process.wait()

    def _read(self, source: IO[bytes]) -> None:
        with source:
            while (message := worker.read(source)) is not None:
                self._heard(self, pickle.loads(message))
        self._heard(self, None)
