"""What the building process does, and when.

In: tasks that somebody waits for, and for each document those that are to be done meanwhile, which replace what was to
be done for it before. Out: outcomes. One task is done at a time: first what is waited for, then by urgency.

Everything is decided on one thread, which takes events (a request, a plan, a reply, an hour that has come) from one
queue and waits for nothing else. The process is started when there is something to do, ended when there is nothing for
long, and started again where it died. What it does is given up when no document needs it any more; what is nearly done
by then is of use when an edit is undone, so there is a moment of grace, which costs less than to start again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from phobos_ls.builds.process import Reply, WorkerProcess

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.5
IDLE_SECONDS = 600.0
# A process that dies may have been ended by somebody else: what it did is done once more.
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Task:
    """`function` is of a module that the process can load, `name` what messages call the work. The outcome is that of
    every task with the same `identity`; `about` is the asker's own. The more urgent a task, the lower `urgency`; it is
    not begun before `after`, an hour of the monotonic clock."""

    identity: Hashable
    name: str
    function: Callable[[Any], Any] = field(compare=False)
    argument: Any = field(compare=False)
    seconds: float = 30.0
    urgency: int = 0
    after: float = 0.0
    about: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """A task without a result: `message` says in a sentence what happened, `detail` all that is known."""

    message: str
    detail: str = ""


class WorkFailed(Exception):
    """What waiting for a task raises where it failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


Finished: TypeAlias = Callable[[Task, Any], None]


@dataclass(slots=True)
class _Running:
    task: Task
    worker: WorkerProcess
    deadline: float
    attempt: int
    given_up: float | None = None


class Builder:
    """`finished` is told of each task with its result or its `Failure`, `due` of each document whose time has come, and
    `moved` of each whose tasks are others now; on the builder's thread, which they may not keep."""

    def __init__(self, finished: Finished, due: Callable[[str], None], moved: Callable[[str], None]) -> None:
        self._finished, self._due_now, self._moved = finished, due, moved
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._worker: WorkerProcess | None = None
        self._idle_since = time.monotonic()
        self._running: _Running | None = None
        self._asked: deque[Task] = deque()
        self._waiting: dict[Hashable, list[Future[Any]]] = {}
        self._planned: dict[str, tuple[Task, ...]] = {}
        self._due: dict[str, float] = {}

    # Called from any thread.

    def ask(self, task: Task) -> Future[Any]:
        """Does a task before those that nobody waits for."""
        future: Future[Any] = Future()
        self._tell(lambda: self._take(task, future))
        return future

    def leave(self, task: Task, future: Future[Any]) -> None:
        """Nobody waits for this any more."""
        self._tell(lambda: self._left(task, future))

    def plan(self, uri: str, tasks: Sequence[Task], taken: Callable[[], None] = lambda: None) -> None:
        """What is to be done for a document, in place of what was. `taken` is called when `pending` tells of it."""
        self._tell(lambda: self._plan(uri, tuple(tasks), taken))

    def later(self, uri: str, seconds: float) -> None:
        """Calls `due` for a document when it was not asked to again for so long."""
        at = time.monotonic() + seconds
        self._tell(lambda: self._set_due(uri, at))

    def forget(self, uri: str) -> None:
        self._tell(lambda: self._forget(uri))

    def touch(self, uri: str) -> None:
        """Calls `moved` for a document."""
        self._tell(lambda: self._moved(uri))

    def waits(self, uri: str) -> bool:
        """Whether a document's plan is still to be made."""
        return uri in self._due

    def pending(self, uri: str) -> tuple[Task, ...]:
        """What is still to be done of a document's plan."""
        return self._planned.get(uri, ())

    @property
    def pid(self) -> int | None:
        """The process, where there is one."""
        worker = self._worker
        return None if worker is None else worker.pid

    def close(self) -> None:
        """Ends the process, and everything."""
        with self._starting:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._events.put(lambda: None)
            if thread is not threading.current_thread():
                thread.join(5)

    def _tell(self, event: Callable[[], None]) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="phobos-builder", daemon=True)
                self._thread.start()
        self._events.put(event)

    # On the builder's thread.

    def _run(self) -> None:
        while not self._closed:
            try:
                self._events.get(timeout=self._patience())()
            except Empty:
                pass
            except Exception:
                log.exception("an event of the builder failed")
            if not self._closed:
                self._go_on()
        self._end_worker()
        for futures in self._waiting.values():
            for future in futures:
                _settle(future, Failure("the server shuts down"))
        self._waiting.clear()

    def _patience(self) -> float | None:
        """Until when nothing happens by itself."""
        hours = list(self._due.values())
        if self._running is not None:
            hours.append(self._running.deadline)
            if self._running.given_up is not None:
                hours.append(self._running.given_up + GRACE_SECONDS)
        else:
            hours += [task.after for tasks in self._planned.values() for task in tasks]
            if self._worker is not None:
                hours.append(self._idle_since + IDLE_SECONDS)
        return max(min(hours) - time.monotonic(), 0.0) if hours else None

    def _go_on(self) -> None:
        now = time.monotonic()
        for uri in [uri for uri, at in self._due.items() if at <= now]:
            self._due_now(uri)
            del self._due[uri]
        running = self._running
        if running is not None:
            if running.given_up is not None and now >= running.given_up + GRACE_SECONDS:
                self._running = None
                self._end_worker()
            elif now >= running.deadline:
                self._end_worker()
                self._done(running.task, Failure(f"{running.task.name} did not finish in {running.task.seconds:g} s"))
        elif self._worker is not None and now >= self._idle_since + IDLE_SECONDS:
            self._end_worker()
        if self._running is None:
            task = self._next(now)
            if task is not None:
                self._begin(task, 1)

    def _next(self, now: float) -> Task | None:
        while self._asked:
            task = self._asked.popleft()
            if task.identity in self._waiting:
                return task
        ready = [task for tasks in self._planned.values() for task in tasks if task.after <= now]
        return min(ready, key=lambda task: task.urgency, default=None)

    def _begin(self, task: Task, attempt: int) -> None:
        if self._worker is None:
            try:
                self._worker = WorkerProcess(self._heard)
            except OSError as error:
                self._done(task, Failure(f"the building process cannot be started: {error.strerror or error}"))
                return
        self._running = _Running(task, self._worker, time.monotonic() + task.seconds, attempt)
        self._worker.send(task.function, task.argument)

    def _heard(self, worker: WorkerProcess, reply: Reply) -> None:
        """On the thread that reads what a process says."""
        self._events.put(lambda: self._replied(worker, reply))

    def _replied(self, worker: WorkerProcess, reply: Reply) -> None:
        if worker is not self._worker:
            return
        running = self._running
        if reply is None:
            self._worker = None
            worker.end()
            status = worker.status()
            log.warning("the building process ended with status %s", status)
            if running is None:
                return
            if running.attempt < ATTEMPTS and running.given_up is None:
                self._begin(running.task, running.attempt + 1)
            else:
                self._done(running.task, Failure(f"{running.task.name} ended the building process (status {status})"))
        elif running is not None:
            done, value = reply
            self._done(running.task, value if done else Failure(f"{running.task.name} failed: {value[0]}", value[1]))

    def _done(self, task: Task, outcome: Any) -> None:
        self._running = None
        self._idle_since = time.monotonic()
        concerned = []
        for uri, tasks in list(self._planned.items()):
            left = tuple(each for each in tasks if each.identity != task.identity)
            if len(left) < len(tasks):
                self._planned[uri] = left
                concerned.append(uri)
        self._finished(task, outcome)
        for future in self._waiting.pop(task.identity, ()):
            _settle(future, outcome)
        for uri in concerned:
            self._moved(uri)

    def _take(self, task: Task, future: Future[Any]) -> None:
        waiting = self._waiting.setdefault(task.identity, [])
        waiting.append(future)
        if self._running is not None and self._running.task.identity == task.identity:
            self._running.given_up = None
        elif len(waiting) == 1:
            self._asked.append(task)
            self._give_up_for_another()

    def _left(self, task: Task, future: Future[Any]) -> None:
        waiting = self._waiting.get(task.identity, [])
        if future in waiting:
            waiting.remove(future)
        if not waiting:
            self._waiting.pop(task.identity, None)
            self._look_whether_needed(at_once=True)

    def _plan(self, uri: str, tasks: tuple[Task, ...], taken: Callable[[], None]) -> None:
        self._planned[uri] = tasks
        taken()
        self._look_whether_needed()
        self._moved(uri)

    def _set_due(self, uri: str, at: float) -> None:
        self._due[uri] = at
        self._moved(uri)

    def _forget(self, uri: str) -> None:
        self._due.pop(uri, None)
        self._planned.pop(uri, None)
        self._look_whether_needed()

    def _needed(self, task: Task) -> bool:
        planned = any(each.identity == task.identity for tasks in self._planned.values() for each in tasks)
        return planned or task.identity in self._waiting

    def _look_whether_needed(self, *, at_once: bool = False) -> None:
        running = self._running
        if running is None:
            return
        if self._needed(running.task):
            running.given_up = None
        elif running.given_up is None:
            running.given_up = time.monotonic() - (GRACE_SECONDS if at_once else 0.0)

    def _give_up_for_another(self) -> None:
        """Work that nobody waits for makes way, soon if it takes long."""
        running = self._running
        if running is not None and running.task.identity not in self._waiting and running.given_up is None:
            running.given_up = time.monotonic()

    def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


def _settle(future: Future[Any], outcome: Any) -> None:
    try:
        if isinstance(outcome, Failure):
            future.set_exception(WorkFailed(outcome))
        else:
            future.set_result(outcome)
    except InvalidStateError:
        return
