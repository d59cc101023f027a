"""Exit statuses, and the error that ends a command with one."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """`FOUND`: the kernels have errors, or a limit was exceeded. `USAGE`: also an unreadable file, a missing tool."""

    OK = 0
    FOUND = 1
    USAGE = 2
    BUG = 101
    INTERRUPTED = 130


class CommandError(Exception):
    """Wrong usage, an unreadable file or a missing tool: printed as it is, exit status 2."""
