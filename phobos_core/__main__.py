"""`python -m phobos_core`, and what the `phobos` script calls: the command loaded, then run.

Nothing else is imported here, so that Ctrl-C while the command loads ends it as later on, and with no traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def entry() -> None:
    handler = signal.getsignal(signal.SIGINT)
    # What told its processes to ignore Ctrl-C, as a shell tells those in the background, is obeyed.
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from phobos_core.cli.main import entry as command

    signal.signal(signal.SIGINT, handler)
    command()


def _interrupted(number: int, frame: FrameType | None) -> None:
    """At once: an exception could be caught, and passed over, by whatever module is being loaded."""
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    entry()
