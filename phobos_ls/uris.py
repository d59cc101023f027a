"""URIs of documents: which two name one file, and where on the disk that is.

Clients write the same file with and without escapes, and a drive's letter in either case. Answers name a document as
the client did.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from urllib.parse import unquote

from pygls.uris import to_fs_path

from phobos_core.cli.files import MAX_SOURCE_BYTES

_DRIVE = re.compile(r"^(file:///)([A-Za-z])(?=:)")


def key(uri: str) -> str:
    """The same for all ways to write a URI."""
    return _DRIVE.sub(lambda found: found[1] + found[2].lower(), unquote(uri, errors="surrogateescape"))


def path_of(uri: str) -> Path | None:
    """The file that a URI names; None where it names something else."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
    except ValueError:
        return None
    return Path(path) if path else None


def stamp(uri: str) -> tuple[int, int] | None:
    """What changes with a file's text; None where there is no such file, or none that can be a source."""
    path = path_of(uri)
    try:
        state = path.stat() if path else None
    except (OSError, ValueError):  # a path with a zero byte is a ValueError
        return None
    if state is None or not stat.S_ISREG(state.st_mode) or state.st_size > MAX_SOURCE_BYTES:
        return None
    return state.st_mtime_ns, state.st_size


def read(uri: str) -> bytes | None:
    path = path_of(uri)
    try:
        return path.read_bytes() if path and stamp(uri) else None
    except OSError:
        return None
