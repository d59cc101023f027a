"""What tries of kernels found, as diagnostics of the text that was tried. They go with the first edit."""

from __future__ import annotations

import threading

from phobos_core.language.diagnostic import Diagnostic
from phobos_ls.snapshot import Snapshot
from phobos_ls.uris import key


class Tries:
    """Of all documents of a client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the file and the kernel, with the text.
        self._known: dict[tuple[str, str], tuple[bytes, tuple[Diagnostic, ...]]] = {}

    def remember(self, snapshot: Snapshot, kernel: str, found: tuple[Diagnostic, ...]) -> None:
        """In place of what was found before of this kernel."""
        with self._lock:
            self._known[key(snapshot.uri), kernel] = snapshot.text, found

    def found(self, snapshot: Snapshot) -> list[Diagnostic]:
        with self._lock:
            known = [(each, *entry) for each, entry in self._known.items() if each[0] == key(snapshot.uri)]
            for each, text, _ in known:
                if text != snapshot.text:
                    del self._known[each]
        return [one for _, text, found in known if text == snapshot.text for one in found]
