"""When a client is told to ask for hints again: when a build that it waits for changes what it was answered.

What a client was answered of a text is kept until the text changes, when it asks again by itself. When a build is known
that was not, the same questions are answered again here, and where an answer is another now the client is told, once.

A client that cannot be told waits for its answer until what is being built of the text is built.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from phobos_ls.documents import Document
from phobos_ls.features.inlay_hints import inlay_hints
from phobos_ls.features.type_hints import type_hints
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Later
from phobos_ls.uris import key

if TYPE_CHECKING:
    from phobos_ls.session import Event, Session

# An editor asks for what each of its windows shows.
MOST_QUESTIONS = 8
# How long a client waits that cannot be told, while one build after another becomes known.
MOST_SECONDS = 5.0


class Hinting:
    """Used on the strands of documents."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answers: dict[str, dict[tuple[int, int], list[lsp.InlayHint]]] = {}
        self._versions: dict[str, object] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[float, Future[None]]]] = {}
        session.builds.listeners.append(self._built)
        session.builds.moved.append(self._moved)
        session.listeners.append(self._told)

    def answer(self, snapshot: Snapshot, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | Later:
        first, last = params.range.start.line, params.range.end.line
        self._session.builds.looked_at(snapshot, first, last)
        if not self._refreshes():
            waits = self._wait(snapshot)
            if waits is not None:
                return Later(waits, lambda: self._hints(snapshot, first, last), lambda: _leave(waits))
        hints = self._hints(snapshot, first, last)
        document = key(snapshot.uri)
        if self._session.documents.get(snapshot.uri) is not None:
            if self._versions.get(document) is not snapshot.lines:
                self._versions[document], self._answers[document] = snapshot.lines, {}
            answers = self._answers[document]
            answers.pop((first, last), None)
            answers[first, last] = hints
            while len(answers) > MOST_QUESTIONS:
                del answers[next(iter(answers))]
        return hints

    def _hints(self, snapshot: Snapshot, first: int, last: int) -> list[lsp.InlayHint]:
        built = inlay_hints(snapshot, self._session.builds.shown(snapshot), first, last)
        return sorted([*type_hints(snapshot, first, last), *built], key=lambda hint: hint.position)

    def _refreshes(self) -> bool:
        return self._session.supports("workspace.inlay_hint.refresh_support")

    def _wait(self, snapshot: Snapshot) -> Future[None] | None:
        """Until the text is built or changed; nothing where it will not get any further."""
        document = self._session.documents.get(snapshot.uri)
        if document is None or document.revision.lines is not snapshot.lines:
            return None
        waits: Future[None] = Future()
        with self._lock:
            self._waiting.setdefault(key(snapshot.uri), []).append((time.monotonic(), waits))
        # Asked last, so that what happens meanwhile ends the wait.
        if not self._session.builds.goes_on(document.uri):
            self._end_waits(snapshot.uri)
        return waits

    def _end_waits(self, uri: str, before: float = inf) -> None:
        """Those that were begun before a time."""
        with self._lock:
            waiting = self._waiting.pop(key(uri), [])
            left = [each for each in waiting if each[0] >= before]
            if left:
                self._waiting[key(uri)] = left
        for begun, each in waiting:
            if begun < before and each.set_running_or_notify_cancel():
                each.set_result(None)

    def _moved(self, uri: str) -> None:
        goes_on = self._session.builds.goes_on(uri)
        self._end_waits(uri, time.monotonic() - MOST_SECONDS if goes_on else inf)

    def _built(self, document: Document) -> None:
        """Compared with what the client shows, which may be of a text before this one: it asks again after it changes
        one, unless it was told of a build meanwhile."""
        if not self._refreshes():
            return
        snapshot = self._session.snapshot(document, document.revision)
        answers = self._answers.get(key(document.uri), {})
        if any(self._hints(snapshot, *place) != hints for place, hints in answers.items()):
            answers.clear()
            self._session.ask_again(lsp.WORKSPACE_INLAY_HINT_REFRESH)

    def _told(self, event: Event, document: Document) -> None:
        """Other settings may show other hints."""
        if event in ("changed", "closed"):
            self._end_waits(document.uri)
        if event == "configured":
            document.strand.later(lsp.TEXT_DOCUMENT_INLAY_HINT, partial(self._built, document))

    def forget(self, uri: str) -> None:
        self._answers.pop(key(uri), None)
        self._versions.pop(key(uri), None)


def _leave(waits: Future[None]) -> None:
    waits.cancel()
