"""How a report that others read names a file: below the working directory by its relative path, as a URI."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def relative(name: str) -> str:
    """The path below the working directory with forward slashes; as it is where the file lies elsewhere."""
    path = os.path.relpath(name) if _is_below(name) else name
    return path.replace(os.sep, "/")


def uri(name: str) -> tuple[str, bool]:
    """A URI reference, and whether it is relative to the working directory."""
    if _is_below(name):
        return quote(relative(name)), True
    return Path(os.path.abspath(name)).as_uri(), False


def _is_below(name: str) -> bool:
    here = os.path.abspath(os.curdir)
    try:
        return os.path.commonpath([here, os.path.abspath(name)]) == here
    except ValueError:
        # Another drive.
        return False
