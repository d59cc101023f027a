"""Objects that only refer to each other go away though the collector does not run by itself."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from phobos_ls.collector import LOOKS, MUCH, SOME, Collector


class Node:
    """Refers to itself, as a function that calls itself inside another does."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def collector() -> Iterator[Collector]:
    gc.collect()
    gc.disable()
    yield Collector()
    gc.enable()
    gc.unfreeze()
    gc.collect()


def make(count: int) -> list[list[int]]:
    """Objects that live."""
    return [[] for _ in range(count)]


def test_new_garbage_goes_after_a_job_that_made_some(collector: Collector) -> None:
    garbage = weakref.ref(Node())
    collector.after_job()
    assert garbage() is not None
    kept = make(SOME + 100)
    collector.after_job()
    assert garbage() is None
    assert kept


def test_garbage_that_was_in_use_at_a_look_goes_at_a_later_one(collector: Collector) -> None:
    node = Node()
    garbage = weakref.ref(node)
    kept: list[list[int]] = []
    for number in range(LOOKS + 1):
        kept += make(SOME + 100)
        collector.after_job()
        if number == 0:
            del node
    assert garbage() is None
    assert kept


def test_what_a_large_file_leaves_is_set_apart(collector: Collector) -> None:
    kept = make(MUCH + 100)
    collector.after_job()
    assert gc.get_freeze_count() > MUCH
    assert gc.get_count()[0] < SOME
    assert kept


def test_nothing_is_done_where_python_collects_by_itself() -> None:
    frozen = gc.get_freeze_count()
    kept = make(MUCH + 100)
    Collector().after_job()
    assert gc.get_freeze_count() == frozen
    assert kept
