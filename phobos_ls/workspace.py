"""The folders that the client has open, each with its settings, and the sources below them.

Settings come from three places, each more particular than the one before: `initializationOptions`, what
`didChangeConfiguration` brought, and the answers to `workspace/configuration`, one for each folder. A file takes those
of the innermost folder that it lies in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from phobos_ls.settings import Settings, read_settings
from phobos_ls.uris import key, path_of

SECTION = "phobos"
SUFFIX = ".ph"
# Folders that hold no sources of the project, however large they are.
SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
# A workspace is a project, not a disk.
MOST_SOURCES = 10_000


@dataclass(slots=True)
class Workspace:
    """`folders` has each folder's settings, as far as they are known, by the folder's URI."""

    folders: dict[str, Settings | None] = field(default_factory=dict)
    common: Settings = field(default_factory=Settings)
    problems: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, folders: Sequence[lsp.WorkspaceFolder]) -> None:
        """Folders are replaced and not changed: a thread that computes may be looking at them."""
        self.folders = {**{folder.uri: None for folder in folders}, **self.folders}

    def remove(self, folders: Sequence[lsp.WorkspaceFolder]) -> None:
        gone = {key(folder.uri) for folder in folders}
        self.folders = {uri: settings for uri, settings in self.folders.items() if key(uri) not in gone}
        self.problems = {uri: found for uri, found in self.problems.items() if key(uri) not in gone}

    def configure(self, given: Any, folder: str | None = None) -> tuple[str, ...]:
        """Takes settings, of one folder or of all that have none of their own; those that were stay where these are
        none at all. What is new wrong with them."""
        settings, problems = read_settings(given)
        if given is not None and not isinstance(given, Mapping):
            pass
        elif folder is None:
            self.common = settings
        elif folder in self.folders:
            self.folders = {**self.folders, folder: settings}
        known = {problem for found in self.problems.values() for problem in found}
        self.problems[folder or ""] = problems
        return tuple(problem for problem in problems if problem not in known)

    def forget_folders(self) -> None:
        """All folders take the common settings."""
        self.folders = dict.fromkeys(self.folders)

    def settings(self, uri: str) -> Settings:
        folder = self.folder_of(uri)
        own = self.folders.get(folder) if folder is not None else None
        return self.common if own is None else own

    def folder_of(self, uri: str) -> str | None:
        """The innermost folder that a file lies in."""
        around = [folder for folder in self.folders if _is_below(key(uri), key(folder))]
        return max(around, key=len) if around else None

    def sources(self) -> Iterator[str]:
        """The URIs of the sources below the folders, in their order."""
        found: set[str] = set()
        for folder in self.folders:
            root = path_of(folder)
            for path in _below(root) if root else ():
                uri = from_fs_path(path)
                if uri is not None and uri not in found:
                    found.add(uri)
                    yield uri
                if len(found) >= MOST_SOURCES:
                    return


def section(given: Any) -> Any:
    """What is below `phobos` where a client sends all of its settings, else what it sent."""
    return given[SECTION] if isinstance(given, Mapping) and SECTION in given else given


def _is_below(uri: str, folder: str) -> bool:
    return uri == folder or uri.startswith(folder if folder.endswith("/") else f"{folder}/")


def _below(root: Path) -> Iterator[str]:
    for here, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        yield from (os.path.join(here, name) for name in sorted(files) if name.endswith(SUFFIX))
