"""Standard output as the commands see it: colours only on a terminal, and quiet when the reader has gone."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from phobos_core.report.style import PLAIN, Style

COLOURS = Style(
    error="\x1b[1;31m",
    warning="\x1b[1;33m",
    note="\x1b[1;36m",
    strong="\x1b[1m",
    faint="\x1b[34m",
    end="\x1b[0m",
)


def style_for(stream: TextIO) -> Style:
    """NO_COLOR, set and not empty, turns colours off (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return PLAIN
    return COLOURS


class Output:
    """Writes to a stream. Once its reader has gone (`phobos build | head`) the rest is dropped, with no error.

    Any other failure to write is an OSError, unless nobody could be told of it: `must_arrive` is false for messages.
    """

    def __init__(self, stream: TextIO, *, must_arrive: bool = True) -> None:
        self._stream = stream
        self._must_arrive = must_arrive
        self.style = style_for(stream)

    def line(self, text: str = "") -> None:
        self._write(text + "\n")

    def text(self, text: str) -> None:
        """Text with line ends of its own."""
        self._write(text)

    @property
    def is_terminal(self) -> bool:
        return self._stream.isatty()

    def overwrite(self, text: str) -> None:
        """Replaces the line that the cursor is on."""
        self._write(f"\r\x1b[K{text}")
        self.flush()

    def flush(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            if not text:
                self._stream.flush()
        except BrokenPipeError:
            # Python flushes the stream once more at exit: let that go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        except OSError:
            if self._must_arrive:
                raise


class Progress:
    """`12 of 400 built` on one line that is written over, on a terminal only, and only where there is much to do."""

    LEAST = 8

    def __init__(self, output: Output, total: int) -> None:
        self._output = output
        self._total = total
        self._shown = output.is_terminal and total >= self.LEAST
        self._done = 0

    def step(self) -> None:
        self._done += 1
        if self._shown:
            self._output.overwrite(f"{self._done} of {self._total} built")

    def clear(self) -> None:
        if self._shown:
            self._output.overwrite("")


def make_tolerant(stream: TextIO) -> None:
    """A terminal or pipe of another encoding than UTF-8 gets escapes for what it cannot show, not an exception."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def standard_output() -> Output:
    make_tolerant(sys.stdout)
    return Output(sys.stdout)


def standard_error() -> Output:
    make_tolerant(sys.stderr)
    return Output(sys.stderr, must_arrive=False)


def open_closed_streams() -> None:
    """A command started with a stream closed (`>&-`) writes to nowhere, where Python would have None.

    The streams are opened in the order of their descriptors, so that no file opened later takes one of these.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # stays open as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
