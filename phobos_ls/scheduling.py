"""When what is computed: requests in their order, analysis behind them, and neither ever before typing.

The thread that reads messages computes nothing. It hands jobs to strands, one for each document: the jobs of a strand
run one after the other on a thread of the pool, so that a document's parser and cache need no lock, and two documents
do not wait for each other. A request is answered in its turn; background work of one name is done once, for the newest
text, however often it was asked for.

What is computed can be given up. A job's token is cancelled when its client no longer wants the answer, or, for
background work, when the text has changed or a request waits; `Strand.checkpoint`, called between the parts of long
work, then leaves it. Background work that made way for a request is taken up again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeAlias

log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[], None]


class Cancelled(Exception):
    """The job is left where it is: nobody wants its result, or it makes way for another."""


@dataclass(slots=True)
class Token:
    """`cancelled` says that nobody wants the result of a job any more, `paused` that a request waits behind it.
    `on_cancel` gives up what the job waits for."""

    cancelled: bool = False
    paused: bool = False
    on_cancel: Task | None = None

    def cancel(self) -> None:
        self.cancelled = True
        if self.on_cancel is not None:
            self.on_cancel()

    def follow(self, leave: Task) -> None:
        """Has `leave` called when the job is cancelled, also where it has been."""
        self.on_cancel = leave
        if self.cancelled:
            leave()

    def check(self) -> None:
        if self.cancelled or self.paused:
            raise Cancelled


@dataclass(frozen=True, slots=True)
class Job:
    """`name` is that of background work; a request has none. `dropped` is called, where there is one, in place of a
    result."""

    task: Task
    name: str | None = None
    dropped: Task | None = None
    token: Token = field(default_factory=Token)


class Pool:
    """Threads that run tasks, as many as were busy at once, up to a limit.

    They are daemons: a server that is told to exit does not wait for what nobody will read. `after_job` is called
    when a job of a strand is done.
    """

    def __init__(self, most: int = 4, after_job: Task = lambda: None) -> None:
        self.after_job = after_job
        self._most = most
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, task: Task) -> None:
        with self._lock:
            start = self._idle == 0 and self._threads < self._most
            if start:
                self._threads += 1
            elif self._idle:
                self._idle -= 1
        self._tasks.put(task)
        if start:
            threading.Thread(target=self._run, name=f"phobos-{self._threads}", daemon=True).start()

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            try:
                task()
            except Exception:
                log.exception("a task failed")
            with self._lock:
                self._idle += 1


class Strand:
    """The jobs of one document."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._requests: deque[Job] = deque()
        self._background: dict[str, Job] = {}
        self._current: Job | None = None
        self._busy = False

    def soon(self, task: Task, token: Token, dropped: Task) -> None:
        """Work that somebody waits for. `dropped` is called where it was cancelled before it was done."""
        job = Job(task, dropped=dropped, token=token)
        with self._lock:
            self._requests.append(job)
            if self._current is not None and self._current.name is not None:
                self._current.token.paused = True
            self._start()

    def later(self, name: str, task: Task) -> None:
        """Background work, in place of what waits or runs under its name."""
        with self._lock:
            self._background.pop(name, None)
            self._background[name] = Job(task, name)
            if self._current is not None and self._current.name == name:
                self._current.token.cancel()
            self._start()

    def clear(self) -> None:
        """Gives up all background work."""
        with self._lock:
            self._background.clear()
            if self._current is not None and self._current.name is not None:
                self._current.token.cancel()

    def checkpoint(self) -> None:
        """Raises `Cancelled` where nobody waits for the running job. Called by the job itself."""
        if self._current is not None:
            self._current.token.check()

    def _start(self) -> None:
        if not self._busy:
            self._busy = True
            self._pool.submit(self._run)

    def _next(self) -> Job | None:
        with self._lock:
            self._current = None
            if self._requests:
                self._current = self._requests.popleft()
            elif self._background:
                self._current = self._background.pop(next(iter(self._background)))
            else:
                self._busy = False
            return self._current

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.token.check()
                job.task()
            except Cancelled:
                self._left(job)
            except Exception:
                log.exception("a job failed")
            self._pool.after_job()

    def _left(self, job: Job) -> None:
        if job.dropped is not None:
            job.dropped()
        with self._lock:
            if job.name is not None and not job.token.cancelled:
                self._background[job.name] = Job(job.task, job.name)
