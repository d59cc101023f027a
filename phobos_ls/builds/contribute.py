"""What builds find wrong with a text, as diagnostics in it: a limit that is passed, spills, code that is too large.

Of builds of exactly this text only: what was wrong with another may be mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedKernel
from phobos_core.language.diagnostic import Diagnostic
from phobos_ls import diagnostics
from phobos_ls.builds.content import Content, content_of
from phobos_ls.builds.shown import Known
from phobos_ls.builds.shown import placed as in_text
from phobos_ls.documents import Document
from phobos_ls.snapshot import Snapshot
from phobos_ls.uris import key

if TYPE_CHECKING:
    from phobos_ls.session import Session


class Contributions:
    """Used on the strands of documents."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: dict[str, list[lsp.Diagnostic]] = {}
        session.contributors.append(self.diagnostics)
        session.builds.listeners.append(self._built)

    def diagnostics(self, snapshot: Snapshot) -> list[lsp.Diagnostic]:
        found = self._of(snapshot)
        if self._session.documents.get(snapshot.uri) is not None:
            self._said[key(snapshot.uri)] = found
        return found

    def _of(self, snapshot: Snapshot) -> list[lsp.Diagnostic]:
        wrong = self._session.builds.wrong()
        kernels = [kernel for kernel in snapshot.kernels() if kernel.ast.name.text in wrong] if wrong else []
        found = dict.fromkeys(each for kernel in kernels for each in self._of_kernel(snapshot, kernel))
        return [diagnostics.diagnostic(snapshot, each, self._session.shown) for each in found]

    def _of_kernel(self, snapshot: Snapshot, kernel: PlacedKernel) -> Iterator[Diagnostic]:
        if kernel.kernel is None:
            return
        content = content_of(snapshot, kernel)
        for target in snapshot.settings.targets:
            known = self._session.builds.known(snapshot, kernel, target=target)
            if known is not None:
                yield from placed(snapshot, kernel, content, known)

    def _built(self, document: Document) -> None:
        snapshot = self._session.snapshot(document, document.revision)
        if self._of(snapshot) != self._said.get(key(document.uri), []):
            self._session.recontribute(document.uri)

    def forget(self, uri: str) -> None:
        self._said.pop(key(uri), None)


def placed(snapshot: Snapshot, kernel: PlacedKernel, content: Content, known: Known) -> Iterator[Diagnostic]:
    """The diagnostics of a build, in the text as it is now."""
    shown = in_text(kernel, content, known)
    for found in known.build.diagnostics:
        for then, now in zip(known.items, content.items, strict=True):
            if then.start <= found.start <= then.end:
                moved = found.shifted(now.start - then.start)
                end = min(moved.end, len(snapshot.text))
                help = None if moved.help is None else shown.told(moved.help)
                yield replace(moved, end=end, message=shown.told(moved.message), help=help)
                break
