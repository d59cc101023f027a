"""Feature: one status item. What the server is doing for a file, and with what it builds.

`phobos/status` answers anybody who asks. A client that says so in `experimental.phobos.status` is told of every change
by a notification of that name; any other is told once, in words, where there is no assembler.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lsprotocol import types as lsp

from phobos_core.toolchain import ptxas
from phobos_ls.builds.work import assembler_of, why_no_assembler
from phobos_ls.documents import Document
from phobos_ls.settings import Settings

if TYPE_CHECKING:
    from phobos_ls.session import Session

METHOD = "phobos/status"
State: TypeAlias = Literal["idle", "checking", "building", "failed"]
# Whether all of a text is built, all but what has errors, or not all.
Current: TypeAlias = Literal["built", "errors", "ahead"]
# Of several documents the first of these that is one's.
_ORDER: tuple[State, ...] = ("building", "checking", "failed", "idle")


@dataclass(frozen=True, slots=True)
class Status:
    """`fresh` says that all there is to build is built, `ptxas` is the version of the assembler."""

    state: State
    target: str
    fresh: bool
    ptxas: str | None
    message: str


class StatusItem:
    """Told of on any thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._sent: dict[str, Status] = {}
        self._complained = False
        self._tools: dict[tuple[str | None, str], ptxas.Ptxas | None] = {}
        session.builds.moved.append(self._moved)
        session.builds.listeners.append(self._built)

    def answer(self, params: Any) -> dict[str, Any]:
        """Of a document, or of all together."""
        document = params.get("textDocument") if isinstance(params, dict) else None
        uri = document.get("uri") if isinstance(document, dict) else None
        if isinstance(uri, str):
            return asdict(self.of(uri))
        found = [self.of(each.uri) for each in self._session.documents]
        if not found:
            return asdict(self.of(""))
        return asdict(min(found, key=lambda each: _ORDER.index(each.state)))

    def _tool(self, settings: Settings, *, again: bool) -> ptxas.Ptxas | None:
        """The assembler, looked for again where that costs nobody anything."""
        place = settings.ptxas, settings.options.target
        if again or place not in self._tools:
            self._tools[place] = assembler_of(*place)
        return self._tools[place]

    def of(self, uri: str) -> Status:
        document = self._session.documents.get(uri)
        uri = uri if document is None else document.uri  # clients write one in several ways
        builds, settings = self._session.builds, self._session.settings(uri)
        pending, failures = builds.pending(uri), builds.failures(uri)
        if builds.checking(uri):
            state: State = "checking"
        elif pending:
            state = "building"
        elif failures:
            state = "failed"
        else:
            state = "idle"
        target = settings.options.target
        tool = self._tool(settings, again=state == "idle")
        fresh = state == "idle" and builds.is_fresh(uri)
        current: Current = "built" if fresh else "errors" if builds.is_current(uri) else "ahead"
        message = failures[0].message if state == "failed" else _message(state, settings, pending, current)
        if tool is None and state != "failed":
            message = f"{message}; {why_no_assembler(settings.ptxas, target)}"
        return Status(state, target, fresh, None if tool is None else tool.version, message)

    def _moved(self, uri: str) -> None:
        if not self._wanted():
            return
        status = self.of(uri)
        with self._lock:
            if self._session.documents.get(uri) is None or self._sent.get(uri) == status:
                return
            self._sent[uri] = status
        self._session.server.protocol.notify(METHOD, {"uri": uri, **asdict(status)})

    def _built(self, document: Document) -> None:
        """The first build tells whether there is an assembler."""
        settings = self._session.settings(document.uri)
        if self._complained or self._wanted() or assembler_of(settings.ptxas, settings.options.target) is not None:
            return
        self._complained = True
        why = why_no_assembler(settings.ptxas, settings.options.target)
        message = f"Phobos shows no registers and no machine code: {why}"
        self._session.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))

    def _wanted(self) -> bool:
        told: Any = self._session.capabilities.experimental
        own = told.get("phobos") if isinstance(told, dict) else getattr(told, "phobos", None)
        return bool(own.get("status") if isinstance(own, dict) else getattr(own, "status", False))

    def forget(self, uri: str) -> None:
        with self._lock:
            self._sent.pop(uri, None)


def _message(state: State, settings: Settings, pending: list[str], current: Current) -> str:
    match state:
        case "checking":
            return "the text is being read"
        case "building":
            more = f" and {len(pending) - 1} more" if len(pending) > 1 else ""
            return f"under way: {pending[0]}{more}"
    if settings.build == "off":
        return "nothing is built: `phobos.build` is off"
    match current:
        case "built":
            return f"built for {settings.options.target}"
        case "errors":
            return f"built for {settings.options.target}, except what has errors"
    return "the text is ahead of what is built"
