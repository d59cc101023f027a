"""When Python looks for objects that only refer to each other.

Trees and results of a long file are a million objects that live as long as the text, and none of them is such garbage:
what is replaced is freed by its count of references. To look through them takes as long as many checks, and left to
itself Python does so whenever enough of them were made. Here it looks at what is new after a job, if that is some; what
is new and much is a file that was read, and is set apart; and everything is looked at when nobody types.
"""

from __future__ import annotations

import gc
import threading
import time

SOME = 10_000
MUCH = 100_000
# Garbage that outlived one look is found by every so many looks.
LOOKS = 20
IDLE_SECONDS = 60.0


class Collector:
    """Of the process: there is one, and every session tells it of its jobs."""

    def __init__(self) -> None:
        self._looks = 0
        self._jobs = 0
        self._last = time.monotonic()

    def start(self) -> None:
        """What is loaded by now stays. Python is told to collect nothing before that is loaded: it is hundreds of
        classes, and no garbage."""
        gc.freeze()
        threading.Thread(target=self._watch, name="phobos-collector", daemon=True).start()

    def after_job(self) -> None:
        self._jobs += 1
        self._last = time.monotonic()
        if gc.isenabled():
            return
        young = gc.get_count()[0]
        if young > MUCH:
            gc.freeze()
        elif young > SOME:
            self._looks += 1
            gc.collect(1 if self._looks % LOOKS == 0 else 0)

    def _watch(self) -> None:
        seen = 0
        while True:
            time.sleep(IDLE_SECONDS)
            if self._jobs != seen and time.monotonic() - self._last > IDLE_SECONDS:
                seen = self._jobs
                gc.unfreeze()
                gc.collect()
                gc.freeze()
