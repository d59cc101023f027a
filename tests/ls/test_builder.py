"""The building process: what is done first, given up, ended, and started again."""

from __future__ import annotations

import operator
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from phobos_ls.builds import builder as module
from phobos_ls.builds.builder import Builder, Failure, Task, WorkFailed

SECONDS = 30.0


class Heard:
    """What a builder tells."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[Any, Any]] = []
        self.due: list[str] = []
        self.changed = threading.Condition()

    def finished(self, task: Task, outcome: Any) -> None:
        with self.changed:
            self.outcomes.append((task.identity, outcome))
            self.changed.notify_all()

    def came_due(self, uri: str) -> None:
        with self.changed:
            self.due.append(uri)
            self.changed.notify_all()

    def wait(self, until: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(until, SECONDS), self.outcomes


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def builder(heard: Heard) -> Iterator[Builder]:
    made = Builder(heard.finished, heard.came_due, lambda uri: None)
    yield made
    made.close()


def negated(number: int, **more: Any) -> Task:
    return Task(number, f"the work on {number}", operator.neg, number, **more)


def sleep(duration: float, **more: Any) -> Task:
    return Task("sleep", "the sleep", time.sleep, duration, **more)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def failure(future: Future[Any]) -> str:
    with pytest.raises(WorkFailed) as raised:
        future.result(SECONDS)
    return str(raised.value)


def running(builder: Builder) -> int:
    """Its process, once there is one."""
    end = time.monotonic() + SECONDS
    while builder.pid is None and time.monotonic() < end:
        time.sleep(0.005)
    assert builder.pid is not None
    return builder.pid


def test_nothing_runs_before_there_is_something_to_do(builder: Builder) -> None:
    builder.later("a", 0.0)
    assert builder.pid is None


def test_what_is_asked_for_is_answered(builder: Builder) -> None:
    assert [builder.ask(negated(n)).result(SECONDS) for n in (1, 2)] == [-1, -2]


def test_two_who_ask_for_the_same_share_it(builder: Builder, heard: Heard) -> None:
    builder.ask(sleep(0.1))
    futures = [builder.ask(negated(5)) for _ in range(3)]
    assert [future.result(SECONDS) for future in futures] == [-5] * 3
    assert [identity for identity, _ in heard.outcomes].count(5) == 1


def test_a_plan_is_done_by_urgency_and_after_what_is_asked_for(builder: Builder, heard: Heard) -> None:
    builder.ask(sleep(0.1))
    builder.plan("a", [negated(1, urgency=1), negated(2), negated(3)])
    builder.ask(negated(4))
    heard.wait(lambda: len(heard.outcomes) == 5)
    assert [identity for identity, _ in heard.outcomes] == ["sleep", 4, 2, 3, 1]
    assert builder.pending("a") == ()


def test_a_plan_replaces_the_one_before(builder: Builder, heard: Heard) -> None:
    builder.ask(sleep(0.1))
    builder.plan("a", [negated(1), negated(2)])
    builder.plan("b", [negated(7)])
    builder.plan("a", [negated(2), negated(3)])
    heard.wait(lambda: len(heard.outcomes) == 4)
    assert {identity for identity, _ in heard.outcomes} == {"sleep", 7, 2, 3}


def test_long_work_that_nobody_needs_any_more_is_given_up(builder: Builder, heard: Heard) -> None:
    builder.plan("a", [sleep(1000.0)])
    before = running(builder)
    builder.plan("a", [negated(1)])
    heard.wait(lambda: bool(heard.outcomes))
    assert heard.outcomes == [(1, -1)]
    assert not alive(before)


def test_short_work_that_nobody_needs_any_more_is_finished(
    builder: Builder, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", SECONDS)
    builder.plan("a", [sleep(0.3)])
    before = running(builder)
    builder.plan("a", [negated(1)])
    heard.wait(lambda: len(heard.outcomes) == 2)
    assert heard.outcomes == [("sleep", None), (1, -1)]
    assert builder.pid == before


def test_work_that_is_waited_for_goes_before_long_work_that_is_not(builder: Builder, heard: Heard) -> None:
    builder.plan("a", [sleep(1000.0)])
    running(builder)
    assert builder.ask(negated(1)).result(SECONDS) == -1


def test_who_leaves_gives_the_work_up(builder: Builder) -> None:
    task = sleep(1000.0)
    future = builder.ask(task)
    before = running(builder)
    builder.leave(task, future)
    assert builder.ask(negated(1)).result(SECONDS) == -1
    assert not alive(before)


def test_a_deadline(builder: Builder) -> None:
    task = sleep(1000.0, seconds=0.2)
    assert failure(builder.ask(task)) == "the sleep did not finish in 0.2 s"
    assert builder.ask(negated(1)).result(SECONDS) == -1


def test_a_bug_in_the_work(builder: Builder) -> None:
    future = builder.ask(Task("bug", "the work", int, "x"))
    said = failure(future)
    assert said.startswith("the work failed: ValueError: invalid literal")
    error = future.exception(SECONDS)
    assert isinstance(error, WorkFailed)
    assert "Traceback" in error.failure.detail
    assert builder.ask(negated(1)).result(SECONDS) == -1


def test_work_that_ends_its_process(builder: Builder, heard: Heard) -> None:
    assert (
        failure(builder.ask(Task("end", "the work", os._exit, 7))) == "the work ended the building process (status 7)"
    )
    assert builder.ask(negated(1)).result(SECONDS) == -1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix")
def test_a_process_that_somebody_ends_is_started_again(builder: Builder) -> None:
    future = builder.ask(sleep(0.5))
    before = running(builder)
    os.kill(before, signal.SIGKILL)
    assert future.result(SECONDS) is None
    assert builder.pid not in (None, before)


def test_an_idle_process_ends(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.05)
    assert builder.ask(negated(1)).result(SECONDS) == -1
    end = time.monotonic() + SECONDS
    while builder.pid is not None and time.monotonic() < end:
        time.sleep(0.005)
    assert builder.pid is None
    assert builder.ask(negated(2)).result(SECONDS) == -2


def test_a_document_is_due_once_after_the_last_time_it_was_asked_for(builder: Builder, heard: Heard) -> None:
    for _ in range(50):
        builder.later("a", 0.05)
    builder.later("b", 1000.0)
    builder.later("c", 0.1)
    heard.wait(lambda: "c" in heard.due)
    assert heard.due == ["a", "c"]
    builder.forget("b")


def test_closing_ends_everything(builder: Builder) -> None:
    future = builder.ask(sleep(1000.0))
    pid = running(builder)
    builder.close()
    assert failure(future) == "the server shuts down"
    assert not alive(pid)
    assert isinstance(Failure("x").detail, str)


def test_what_is_printed_is_no_answer(builder: Builder) -> None:
    assert builder.ask(Task("print", "the work", print, "noise")).result(SECONDS) is None
    assert builder.ask(negated(1)).result(SECONDS) == -1
