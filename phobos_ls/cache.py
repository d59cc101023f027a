"""Files of the server's own, for an editor to open: below the user's folder for caches, by the version of Phobos."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from phobos_core import __version__


def folder() -> Path:
    """Raises RuntimeError for a user without a home."""
    match sys.platform:
        case "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        case "darwin":
            base = Path.home() / "Library" / "Caches"
        case _:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "phobos" / __version__


def write(path: Path, text: bytes) -> None:
    """The whole file or nothing. Raises OSError."""
    if path.is_file() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another server may write it at the same time.
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_bytes(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
