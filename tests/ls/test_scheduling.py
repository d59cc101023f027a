"""Jobs of a strand: one at a time, requests first, background work once, and given up when nobody wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from phobos_ls.scheduling import Pool, Strand, Token

SECONDS = 10.0


class Held:
    """A job that runs until it is let go, looking at the checkpoint all the while."""

    def __init__(self, strand: Strand, done: Callable[[], None] = lambda: None) -> None:
        self.running, self.go = threading.Event(), threading.Event()
        self.runs = 0
        self._strand, self._done = strand, done

    def __call__(self) -> None:
        self.runs += 1
        self.running.set()
        while not self.go.wait(0.001):
            self._strand.checkpoint()
        self._done()


def drained(strand: Strand) -> None:
    """Waits until everything before is done, background work too."""
    done = threading.Event()
    strand.later("the last", done.set)
    assert done.wait(SECONDS)


def test_requests_are_done_in_order_one_at_a_time() -> None:
    strand, order = Strand(Pool()), []
    for number in range(50):
        strand.soon(lambda n=number: order.append(n), Token(), lambda: None)
    drained(strand)
    assert order == list(range(50))


def test_background_work_of_one_name_is_done_once_for_the_newest() -> None:
    strand, order = Strand(Pool()), []
    held = Held(strand)
    strand.soon(held, Token(), lambda: None)
    assert held.running.wait(SECONDS)
    for number in range(100):
        strand.later("check", lambda n=number: order.append(n))
    held.go.set()
    drained(strand)
    assert order == [99]


def test_requests_go_before_background_work() -> None:
    strand, order = Strand(Pool()), []
    held = Held(strand)
    strand.soon(held, Token(), lambda: None)
    assert held.running.wait(SECONDS)
    strand.later("check", lambda: order.append("check"))
    strand.soon(lambda: order.append("hover"), Token(), lambda: None)
    held.go.set()
    drained(strand)
    assert order == ["hover", "check"]


def test_background_work_makes_way_for_a_request_and_is_taken_up_again() -> None:
    strand, order = Strand(Pool()), []
    held = Held(strand, lambda: order.append("check"))
    strand.later("check", held)
    assert held.running.wait(SECONDS)
    answered = threading.Event()
    strand.soon(lambda: (order.append("hover"), answered.set()), Token(), lambda: None)
    assert answered.wait(SECONDS)
    held.go.set()
    drained(strand)
    assert order == ["hover", "check"]
    assert held.runs == 2


def test_background_work_is_given_up_for_newer_work_of_its_name() -> None:
    strand, order = Strand(Pool()), []
    held = Held(strand, lambda: order.append("old"))
    strand.later("check", held)
    assert held.running.wait(SECONDS)
    strand.later("check", lambda: order.append("new"))
    drained(strand)
    assert order == ["new"]
    assert held.runs == 1


def test_background_work_is_given_up_altogether() -> None:
    strand, order = Strand(Pool()), []
    held = Held(strand, lambda: order.append("check"))
    strand.later("check", held)
    assert held.running.wait(SECONDS)
    strand.later("hints", lambda: order.append("hints"))
    strand.clear()
    drained(strand)
    assert order == []


def test_a_cancelled_request_is_dropped_where_it_waits_and_where_it_runs() -> None:
    strand, dropped = Strand(Pool()), []
    held = Held(strand)
    running, waiting = Token(), Token()
    strand.soon(held, running, lambda: dropped.append("running"))
    assert held.running.wait(SECONDS)
    strand.soon(lambda: dropped.append("done"), waiting, lambda: dropped.append("waiting"))
    waiting.cancel()
    running.cancel()
    drained(strand)
    assert dropped == ["running", "waiting"]


def test_a_job_that_fails_ends_nothing() -> None:
    strand, order = Strand(Pool(1)), []
    strand.soon(lambda: 1 // 0, Token(), lambda: None)
    strand.soon(lambda: order.append(1), Token(), lambda: None)
    drained(strand)
    assert order == [1]


def test_strands_do_not_wait_for_each_other() -> None:
    pool = Pool(2)
    first, second = Strand(pool), Strand(pool)
    held = Held(first)
    first.soon(held, Token(), lambda: None)
    assert held.running.wait(SECONDS)
    done = threading.Event()
    second.soon(done.set, Token(), lambda: None)
    assert done.wait(SECONDS)
    held.go.set()


def test_more_work_than_threads_is_done_all_the_same() -> None:
    pool, left = Pool(2), threading.Semaphore(0)
    for _ in range(200):
        Strand(pool).soon(left.release, Token(), lambda: None)
    for _ in range(200):
        assert left.acquire(timeout=SECONDS)
