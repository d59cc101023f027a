"""When a client is told to ask for hints again: when a build that it waits for changes what it was answered.

What a client was answered of a text is kept until the text changes, when it asks again by itself. When a build is known
that was not, the same questions are answered again here, and where an answer is another now the client is told, once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from phobos_ls.documents import Document
from phobos_ls.features.inlay_hints import inlay_hints
from phobos_ls.snapshot import Snapshot
from phobos_ls.uris import key

if TYPE_CHECKING:
    from phobos_ls.session import Event, Session

# An editor asks for what each of its windows shows.
MOST_QUESTIONS = 8


class Hinting:
    """Used on the strands of documents."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answers: dict[str, dict[tuple[int, int], list[lsp.InlayHint]]] = {}
        self._versions: dict[str, object] = {}
        session.builds.listeners.append(self._built)
        session.listeners.append(self._told)

    def answer(self, snapshot: Snapshot, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        first, last = params.range.start.line, params.range.end.line
        self._session.builds.looked_at(snapshot, first, last)
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
        return inlay_hints(snapshot, self._session.builds.shown(snapshot), first, last)

    def _built(self, document: Document) -> None:
        """Compared with what the client shows, which may be of a text before this one: it asks again after it changes
        one, unless it was told of a build meanwhile."""
        if not self._session.supports("workspace.inlay_hint.refresh_support"):
            return
        snapshot = self._session.snapshot(document, document.revision)
        answers = self._answers.get(key(document.uri), {})
        if any(self._hints(snapshot, *place) != hints for place, hints in answers.items()):
            answers.clear()
            self._session.ask_again(lsp.WORKSPACE_INLAY_HINT_REFRESH)

    def _told(self, event: Event, document: Document) -> None:
        """Other settings may show other hints."""
        if event == "configured":
            document.strand.later(lsp.TEXT_DOCUMENT_INLAY_HINT, partial(self._built, document))

    def forget(self, uri: str) -> None:
        self._answers.pop(key(uri), None)
        self._versions.pop(key(uri), None)
