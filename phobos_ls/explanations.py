"""The page that the code of a diagnostic links to: what `phobos explain` prints, as a file that any editor opens.

There is no server of such pages, and an editor may have no network. A page is written when a diagnostic first refers to
it, below the user's folder for caches; where that cannot be written, codes have no link.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from phobos_core import __version__
from phobos_core.language.codes import CODES, Code


@cache
def link(code: str) -> str | None:
    """The URI of a code's page."""
    described = CODES.get(code)
    if described is None:
        return None
    try:
        path = _folder() / f"{code}.md"
        _write(path, page(described).encode("utf-8"))
    except (OSError, RuntimeError):  # a full disk, or a user without a home
        return None
    return path.as_uri()


def _write(path: Path, text: bytes) -> None:
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


def page(code: Code) -> str:
    parts = [f"# {code.code}", code.title, code.rule]
    parts.append(f"From the section {code.section} of the language; `phobos {code.stage.value}` finds it.")
    options = f", with `{' '.join(code.options)}`" if code.options else ""
    for head, text in ((f"Wrong{options}", code.wrong), ("Right", code.right)):
        if text:
            parts += [f"{head}:", f"```phobos\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _folder() -> Path:
    match sys.platform:
        case "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        case "darwin":
            base = Path.home() / "Library" / "Caches"
        case _:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "phobos" / __version__ / "explain"
