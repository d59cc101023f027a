"""Work spread over processes, none of which outlives the command, however that ends.

In: a function and what to apply it to. Out: the results in order, as they come.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TypeVar

from phobos_core.cli.status import CommandError, Status

T = TypeVar("T")
R = TypeVar("R")

# Set in a worker that was told to leave: its executor may have given it more to do already.
_LEAVING = threading.Event()


def mapped(function: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    executor = ProcessPoolExecutor(workers, initializer=_begin_worker)
    try:
        yield from executor.map(partial(_unless_leaving, function), items)
    except BrokenProcessPool as error:
        raise CommandError("a process that compiled was killed; where memory is short, use fewer --jobs") from error
    except BaseException:
        # What the workers still do is of no use, and may take minutes.
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Ctrl-C reaches every process of the group; only the first one says so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _leave(*_: object) -> None:
    """By an exception, so that temporary files are removed."""
    _LEAVING.set()
    sys.exit(Status.INTERRUPTED)


def _unless_leaving(function: Callable[[T], R], item: T) -> R:
    if _LEAVING.is_set():
        sys.exit(Status.INTERRUPTED)
    return function(item)


def _follow_parent() -> None:
    """An executor's worker waits for work for ever when the process that gives it is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(Status.INTERRUPTED)
