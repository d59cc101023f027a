"""The end of an editor that died without a word: its process is watched, and the server ends with it."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0


def watch_process(process: int | None) -> None:
    """Ends this process soon after the other. A process that is not there was named in another machine or container,
    and is not watched."""
    if process is None or process <= 0:
        return
    wait = _waiter(process)
    if wait is None:
        log.info("the client's process %s is not here, and not watched", process)
        return

    def run() -> None:
        wait()
        log.warning("the client's process %s has ended", process)
        os._exit(1)

    threading.Thread(target=run, name="phobos-watch", daemon=True).start()


def _waiter(process: int) -> Callable[[], None] | None:
    """What returns when a process has ended; None where there is none."""
    if sys.platform == "win32":
        return _windows_waiter(process)
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            return None
        except OSError:
            pass  # an old kernel
        else:
            return lambda: _wait_readable(descriptor)
    return (lambda: _poll(process)) if _alive(process) else None


def _wait_readable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _poll(process: int) -> None:
    while _alive(process):
        time.sleep(POLL_SECONDS)


def _windows_waiter(process: int) -> Callable[[], None] | None:
    if sys.platform != "win32":
        return None
    import ctypes

    synchronize, forever = 0x00100000, 0xFFFFFFFF
    handle = ctypes.windll.kernel32.OpenProcess(synchronize, False, process)
    return (lambda: ctypes.windll.kernel32.WaitForSingleObject(handle, forever)) if handle else None
