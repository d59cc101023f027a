"""The server: which function answers which request, and what each notification does.

`FEATURES` is the one table of what the server can do; a feature is a line of it, and what the server announces of
itself is read from there. In: messages, through `connections`. Out: answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from phobos_core import __version__
from phobos_ls import diagnostics, registry
from phobos_ls.lifecycle import LifecycleProtocol, Refused, State
from phobos_ls.scheduling import Pool, Strand, Token
from phobos_ls.session import PULLING, Session, supports
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Command, Feature, SessionFeature, Table, uri_of
from phobos_ls.workspace import SUFFIX

# Requests of our own begin with this. They are announced to every client, and wait for one to ask.
OWN = "phobos/"

# A client without this knows no kinds of code actions either.
_LITERALS = "text_document.code_action.code_action_literal_support"

_FILES = lsp.FileOperationRegistrationOptions(
    [lsp.FileOperationFilter(lsp.FileOperationPattern(f"**/*{SUFFIX}"), "file")]
)


def _document_diagnostics(snapshot: Snapshot, params: lsp.DocumentDiagnosticParams, session: Session) -> Any:
    return diagnostics.document_report(session.diagnostics(snapshot), params.previous_result_id)


def _workspace_diagnostics(params: lsp.WorkspaceDiagnosticParams, session: Session) -> Any:
    return session.workspace_report(params)


FEATURES: Table = (
    Feature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        _document_diagnostics,
        lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=True, identifier="phobos"),
        absent=lambda: diagnostics.document_report([], None),
        needs=PULLING,
    ),
    SessionFeature(lsp.WORKSPACE_DIAGNOSTIC, _workspace_diagnostics, needs=PULLING, over_files=True),
    *registry.FEATURES,
)


class Server(LanguageServer):
    """One client's server. `protocol` receives its messages, `session` is what is known of it."""

    def __init__(self, table: Table = FEATURES, pool: Pool | None = None) -> None:
        super().__init__("phobos", __version__, protocol_cls=LifecycleProtocol, converter_factory=default_converter)
        assert isinstance(self.protocol, LifecycleProtocol)
        self.messages: LifecycleProtocol = self.protocol
        self.session = Session(self, pool=pool or Pool())
        self._features = {line.method: line for line in table if not isinstance(line, Command)}
        self._commands = {line.name: line for line in table if isinstance(line, Command)}
        self._own: Mapping[str, Callable[[Any], Any]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.SHUTDOWN: self._shutdown,
        }
        self.messages.knows = self._knows
        self.messages.serve = self._serve
        self.messages.notified = _notifications(self)

    def report_server_error(self, error: Exception, source: Any) -> None:
        self.messages.bug(error, "while it sent a message")

    # Requests.

    def _knows(self, method: str) -> bool:
        return method in self._own or method in self._features or method == lsp.WORKSPACE_EXECUTE_COMMAND

    def _serve(self, msg_id: int | str, method: str, params: Any) -> None:
        if method in self._own:
            self.messages.run(msg_id, method, partial(self._own[method], params))
            return
        strand, compute = self._work(method, params)
        token = self.messages.token(msg_id)
        self._soon(strand, msg_id, method, compute, token)

    def _soon(self, strand: Strand, msg_id: int | str, method: str, compute: Callable[[], Any], token: Token) -> None:
        def run() -> None:
            later = self.messages.run(msg_id, method, compute)
            if later is not None:
                later.future.add_done_callback(lambda _: self._soon(strand, msg_id, method, later.then, token))
                token.follow(later.leave)

        strand.soon(run, token, partial(self.messages.dropped, msg_id))

    def _work(self, method: str, params: Any) -> tuple[Strand, Callable[[], Any]]:
        """Where the answer is computed, and how: about the text as it is now, whatever is typed until then."""
        session = self.session
        if method == lsp.WORKSPACE_EXECUTE_COMMAND:
            command = self._commands.get(params.command)
            if command is None:
                raise Refused(f"there is no command `{params.command}`", lsp.ErrorCodes.InvalidParams)
            strand = session.commands if command.slow else session.general
            return strand, partial(command.answer, list(params.arguments or ()), session)
        feature = self._features[method]
        if isinstance(feature, SessionFeature):
            return session.closed if feature.over_files else session.general, partial(feature.answer, params, session)
        uri = uri_of(params)
        if uri is None and feature.unnamed is not None:
            return session.general, partial(feature.unnamed, params)
        if uri is None:
            raise Refused(f"`{method}` is about a document, and names none", lsp.ErrorCodes.InvalidParams)
        document = session.documents.get(uri)
        if document is None:
            return session.closed, partial(_about_closed, feature, uri, params, session)
        revision = document.revision
        return document.strand, lambda: feature.answer(session.snapshot(document, revision), params, session)

    def _initialize(self, params: lsp.InitializeParams) -> lsp.InitializeResult:
        self.process_id = params.process_id
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.session.start(params, lsp.PositionEncodingKind(encoding).value)
        announced = self._announced(params.capabilities, encoding)
        self.messages.state = State.RUNNING
        return lsp.InitializeResult(announced, lsp.ServerInfo("phobos", __version__))

    def _announced(self, client: lsp.ClientCapabilities, encoding: str) -> lsp.ServerCapabilities:
        lines = [line for line in self._features.values() if supports(client, line.needs)]
        builder = ServerCapabilitiesBuilder(
            client,
            {*self.messages.notified, *(line.method for line in lines)},
            {**_NOTIFICATION_OPTIONS, **{line.method: line.options for line in lines if line.options is not None}},
            list(self._commands),
            lsp.TextDocumentSyncKind.Incremental,
            None,
            encoding,
        )
        announced: lsp.ServerCapabilities = builder.build()  # type: ignore[no-untyped-call]
        if not supports(client, (_LITERALS,)) and announced.code_action_provider is not None:
            announced.code_action_provider = True
        own = [line.method for line in lines if line.method.startswith(OWN)]
        announced.experimental = {"phobos": {"requests": own}}
        return announced

    def _shutdown(self, params: None) -> None:
        self.messages.cancel_all()
        for document in self.session.documents:
            document.strand.clear()
        self.session.closed.clear()
        self.session.close()
        self.messages.state = State.SHUT_DOWN


def _about_closed(feature: Feature, uri: str, params: Any, session: Session) -> Any:
    snapshot = session.closed_snapshot(uri)
    return feature.absent() if snapshot is None else feature.answer(snapshot, params, session)


# Notifications: each is handled at once, on the thread that reads messages.

_NOTIFICATION_OPTIONS = {
    lsp.WORKSPACE_DID_CREATE_FILES: _FILES,
    lsp.WORKSPACE_DID_DELETE_FILES: _FILES,
    lsp.WORKSPACE_DID_RENAME_FILES: _FILES,
}


def _notifications(server: Server) -> Mapping[str, Callable[[Any], Any]]:
    session = server.session
    return {
        lsp.INITIALIZED: lambda params: session.started(),
        lsp.CANCEL_REQUEST: lambda params: server.messages.cancel(params.id),
        lsp.SET_TRACE: lambda params: None,
        lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: lambda params: session.stopped(params.token),
        lsp.TEXT_DOCUMENT_DID_OPEN: lambda params: session.opened(params.text_document),
        lsp.TEXT_DOCUMENT_DID_CHANGE: lambda params: session.changed(
            params.text_document.uri, params.text_document.version, params.content_changes
        ),
        lsp.TEXT_DOCUMENT_DID_SAVE: lambda params: session.saved(params.text_document.uri),
        lsp.TEXT_DOCUMENT_DID_CLOSE: lambda params: session.was_closed(params.text_document.uri),
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lambda params: session.sent_settings(params.settings),
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lambda params: _folders_changed(session, params.event),
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda params: _files_changed(session, params.changes),
        lsp.WORKSPACE_DID_CREATE_FILES: lambda params: _each(session.seen, params.files),
        lsp.WORKSPACE_DID_DELETE_FILES: lambda params: _each(session.lost, params.files),
        lsp.WORKSPACE_DID_RENAME_FILES: lambda params: _renamed(session, params.files),
    }


def _each(handle: Callable[[str], None], files: list[Any]) -> None:
    for file in files:
        handle(file.uri)


def _renamed(session: Session, files: list[lsp.FileRename]) -> None:
    for file in files:
        session.lost(file.old_uri)
        session.seen(file.new_uri)


def _files_changed(session: Session, changes: list[lsp.FileEvent]) -> None:
    for change in changes:
        if change.type == lsp.FileChangeType.Deleted:
            session.lost(change.uri)
        else:
            session.seen(change.uri)
    session.refresh()


def _folders_changed(session: Session, event: lsp.WorkspaceFoldersChangeEvent) -> None:
    session.workspace.remove(event.removed)
    session.workspace.add(event.added)
    session.ask_settings()
    session.configured()
