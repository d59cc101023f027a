"""What one client has told of itself, and what is done for it: its documents, its folders, and their diagnostics.

The thread that reads messages calls what begins with the name of an event (`opened`, `changed`, ..); it computes
nothing and returns at once. What is computed for a document is computed on the document's strand, for files that are
not open on one strand for all of them (`closed`), for commands, which may take long, on one of theirs (`commands`), and
what else is about no text on another (`general`).
"""

from __future__ import annotations

import codecs
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from phobos_core.syntax.lines import Encoding
from phobos_ls import diagnostics
from phobos_ls.builds.builds import Builds
from phobos_ls.builds.contribute import Contributions
from phobos_ls.documents import Document, Documents, Reading, Revision
from phobos_ls.hinting import Hinting
from phobos_ls.progress import Progress
from phobos_ls.scheduling import Pool, Strand, Token
from phobos_ls.settings import Settings
from phobos_ls.smoke.tries import Tries
from phobos_ls.snapshot import Snapshot
from phobos_ls.status import StatusItem
from phobos_ls.uris import key, read, stamp
from phobos_ls.workspace import SECTION, SUFFIX, Workspace, section

log = logging.getLogger(__name__)

Event: TypeAlias = Literal["opened", "changed", "saved", "closed", "configured"]
# Told of each event of an open document, on the thread that reads messages.
Listener: TypeAlias = Callable[[Event, Document], None]
# What else is wrong with a text, as a build found out.
Contributor: TypeAlias = Callable[[Snapshot], list[lsp.Diagnostic]]

DIAGNOSTICS = "diagnostics"
# What a client can do that is never sent diagnostics. One that asks for them and cannot be told to ask again would not
# see what a changed setting or a build changes.
PULLING = ("text_document.diagnostic", "workspace.diagnostics.refresh_support")
# How often what waits for another strand looks whether it is still wanted.
LOOK_SECONDS = 0.02
T = TypeVar("T")


def supports(client: lsp.ClientCapabilities, capabilities: Sequence[str]) -> bool:
    """Whether a client can do all of these, each given by its path, as `workspace.configuration`."""
    return all(get_capability(client, capability) not in (None, False) for capability in capabilities)


@dataclass
class Session:
    """`pulls` says that the client asks for diagnostics, and is never sent any. `listeners` and `contributors` are how
    work of longer breath than a check, as builds, hears of texts and tells what it found."""

    server: LanguageServer
    capabilities: lsp.ClientCapabilities = field(default_factory=lsp.ClientCapabilities)
    pool: Pool = field(default_factory=Pool)
    workspace: Workspace = field(default_factory=Workspace)
    documents: Documents = field(init=False)
    builds: Builds = field(init=False)
    tries: Tries = field(init=False)
    contributions: Contributions = field(init=False)
    hinting: Hinting = field(init=False)
    status: StatusItem = field(init=False)
    general: Strand = field(init=False)
    commands: Strand = field(init=False)
    closed: Strand = field(init=False)
    listeners: list[Listener] = field(default_factory=list)
    contributors: list[Contributor] = field(default_factory=list)
    on_start: list[Callable[[], None]] = field(default_factory=list)
    pulls: bool = False
    shown: diagnostics.Shown = field(default_factory=diagnostics.Shown)
    # What was last answered of each document's colours, which the client may ask the difference to.
    tokens: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.documents = Documents(self.pool)
        self.general, self.commands, self.closed = Strand(self.pool), Strand(self.pool), Strand(self.pool)
        self._closed_files = ClosedFiles(Reading(self.closed))
        self._publishing = threading.Lock()
        self._changed: dict[str, Document] = {}
        # Configurations that were picked for kernels, by the file's key and the kernel's name.
        self._picked: dict[str, dict[str, dict[str, int]]] = {}
        self.builds = Builds(self)
        self.tries = Tries()
        # What is shown of work that takes long, by the token that the client knows it by.
        self.progress: dict[str, Progress] = {}
        self.contributions, self.hinting, self.status = Contributions(self), Hinting(self), StatusItem(self)

    def supports(self, capability: str) -> bool:
        """A capability of the client by its path, as `workspace.configuration`."""
        return supports(self.capabilities, (capability,))

    # The client's first message.

    def start(self, params: lsp.InitializeParams, encoding: Encoding) -> None:
        self.capabilities = params.capabilities
        self.documents.encoding = encoding
        self.shown = diagnostics.shown_by(params.capabilities)
        self.pulls = supports(params.capabilities, PULLING)
        root = params.root_uri or (from_fs_path(params.root_path) if params.root_path else None)
        self.workspace.add(params.workspace_folders or ([lsp.WorkspaceFolder(root, "")] if root else []))
        self._complain(self.workspace.configure(section(params.initialization_options)))

    def started(self) -> None:
        """The client is ready to be asked."""
        for start in self.on_start:
            start()
        registrations = []
        if self.supports("workspace.did_change_configuration.dynamic_registration"):
            registrations.append(lsp.Registration("configuration", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION))
        if self.supports("workspace.did_change_watched_files.dynamic_registration"):
            watched = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(f"**/*{SUFFIX}")])
            registrations.append(lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, watched))
        if registrations:
            self.ask(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams(registrations))
        self.ask_settings()

    # Settings.

    def ask_settings(self) -> None:
        """Asks for the settings, common ones first, then of each folder."""
        if not self.supports("workspace.configuration"):
            return
        folders = list(self.workspace.folders)
        items = [lsp.ConfigurationItem(section=SECTION), *(lsp.ConfigurationItem(f, SECTION) for f in folders)]

        def take(answers: Sequence[Any]) -> None:
            # Nothing said in common leaves what the client said at its start.
            if answers and answers[0] is not None:
                self._complain(self.workspace.configure(answers[0]))
            for folder, answer in zip(folders, answers[1:], strict=False):
                if answer is not None:
                    self._complain(self.workspace.configure(answer, folder))
            self.configured()

        self.ask(lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items), take)

    def sent_settings(self, given: Any) -> None:
        """A client either sends all of its settings or says that they have changed."""
        if self.supports("workspace.configuration"):
            self.ask_settings()
            return
        self.workspace.forget_folders()
        self._complain(self.workspace.configure(section(given)))
        self.configured()

    def configured(self) -> None:
        for document in self.documents:
            self._tell("configured", document)
            self.analyse(document)
        self.refresh()

    def settings(self, uri: str) -> Settings:
        """Of a file: what its folder says, and what was picked for its kernels."""
        settings, picked = self.workspace.settings(uri), self._picked.get(key(uri))
        return replace(settings, picked=picked) if picked else settings

    def pick(self, uri: str, kernel: str, config: Mapping[str, int]) -> None:
        """The configuration of a kernel to show from now on, in place of the settings'."""
        self._picked = {**self._picked, key(uri): {**self._picked.get(key(uri), {}), kernel: dict(config)}}
        document = self.documents.get(uri)
        if document is not None:
            self._tell("configured", document)
            self.analyse(document)
        self.refresh()

    def _complain(self, problems: Sequence[str]) -> None:
        for problem in problems:
            self.show(lsp.MessageType.Warning, problem)

    # Documents.

    def opened(self, item: lsp.TextDocumentItem) -> None:
        before = self.documents.get(item.uri)
        if before is not None:
            before.strand.clear()
        document = self.documents.open(item)
        self._tell("opened", document)
        self._changed[key(item.uri)] = document

    def changed(self, uri: str, version: int | None, changes: list[lsp.TextDocumentContentChangeEvent]) -> None:
        document = self.documents.get(uri)
        if document is None:
            log.warning("a change of %s, which is not open, is not applied", uri)
            return
        document.change(version, changes, self.documents.encoding)
        self._tell("changed", document)
        self._changed[key(uri)] = document

    def saved(self, uri: str) -> None:
        document = self.documents.get(uri)
        if document is not None:
            self._found(document)
            self._tell("saved", document)

    def was_closed(self, uri: str) -> None:
        with self._publishing:
            document = self.documents.close(uri)
            self._changed.pop(key(uri), None)
            if document is None:
                return
            document.strand.clear()
            self.tokens.pop(document.uri, None)
            self._send(document.uri, None, [])
        self._tell("closed", document)
        for kept in (self.contributions, self.hinting, self.status):
            kept.forget(document.uri)

    def lost(self, uri: str) -> None:
        """A file is deleted, or has another name now. An editor may still show its text, which is no file's."""
        document = self.documents.get(uri)
        if document is not None:
            document.missing = True
            self.analyse(document)
        elif not self.pulls:
            self._send(uri, None, [])

    def seen(self, uri: str) -> None:
        """A file is there, perhaps with another text."""
        document = self.documents.get(uri)
        if document is not None:
            self._found(document)

    def _found(self, document: Document) -> None:
        if document.missing:
            document.missing = False
            self.analyse(document)

    def quiet(self) -> None:
        """No message waits to be read: what has changed is analysed, once however often it has."""
        changed, self._changed = self._changed, {}
        for document in changed.values():
            self.analyse(document)

    def _tell(self, event: Event, document: Document) -> None:
        for listener in self.listeners:
            listener(event, document)

    # Snapshots, on a strand.

    def snapshot(self, document: Document, revision: Revision) -> Snapshot:
        return document.reading.snapshot(revision, self.settings(document.uri), self.documents.encoding)

    def read(self, uri: str, compute: Callable[[Snapshot], T], checkpoint: Callable[[], None]) -> T | None:
        """What is computed of a file as it is now, on its strand; None where it cannot be read. Waits, and so is for
        the strand that may (`commands`); raises what `checkpoint` does, which is called meanwhile."""
        future: Future[T | None] = Future()
        document = self.documents.get(uri)

        def work() -> None:
            try:
                found = self.closed_snapshot(uri) if document is None else self.snapshot(document, document.revision)
                future.set_result(None if found is None else compute(found))
            except Exception as error:
                future.set_exception(error)

        strand = self.closed if document is None else document.strand
        strand.soon(work, Token(), lambda: None)
        while True:
            try:
                return future.result(LOOK_SECONDS)
            except NotYet:
                checkpoint()

    def sources(self) -> Iterator[str]:
        """Every source below the folders and every one that is open, for the strand of files that are not."""
        below = list(self.workspace.sources())
        known = set(map(key, below))
        yield from below
        yield from (document.uri for document in self.documents if key(document.uri) not in known)

    def closed_snapshot(self, uri: str) -> Snapshot | None:
        """Of a file that is not open, as it is on the disk. For the strand of such files."""
        return self._closed_files.snapshot(uri, self)

    def remembered(self, uri: str, kind: str, compute: Callable[[Snapshot], T]) -> T | None:
        """What a feature makes of a file, open or not, found again while the file stays as it is; None where it cannot
        be read. For the strand of files that are not open."""
        return self._closed_files.remembered(uri, kind, compute, self)

    # Diagnostics.

    def analyse(self, document: Document) -> None:
        if not self.pulls:
            document.strand.later(DIAGNOSTICS, lambda: self._publish(document))

    def refresh(self) -> None:
        """What was answered before may have changed without a change of a text."""
        if self.pulls:
            self.ask(lsp.WORKSPACE_DIAGNOSTIC_REFRESH, None)
        if self.supports("workspace.code_lens.refresh_support"):
            self.ask(lsp.WORKSPACE_CODE_LENS_REFRESH, None)

    def recontribute(self, uri: str) -> None:
        """A contributor has something else to say of a document."""
        document = self.documents.get(uri)
        if document is not None:
            self.analyse(document)
            self.refresh()

    def diagnostics(self, snapshot: Snapshot) -> list[lsp.Diagnostic]:
        document = self.documents.get(snapshot.uri)
        if document is not None and document.missing:
            return []
        found = diagnostics.diagnostics(snapshot, self.shown)
        found += [diagnostics.diagnostic(snapshot, each, self.shown) for each in self.tries.found(snapshot)]
        for contributor in self.contributors:
            found += contributor(snapshot)
        return found

    def _publish(self, document: Document) -> None:
        snapshot = self.snapshot(document, document.revision)
        found = self.diagnostics(snapshot)
        with self._publishing:
            if self.documents.get(document.uri) is document:
                self._send(document.uri, snapshot.version, found)

    def _send(self, uri: str, version: int | None, found: list[lsp.Diagnostic]) -> None:
        if not self.pulls:
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def workspace_report(self, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
        """Of every source below the folders that is not open: those that are have answers of their own."""
        known = {key(each.uri): each for each in params.previous_result_ids}
        items: list[diagnostics.WorkspaceReport] = []
        for uri in self.workspace.sources():
            self.closed.checkpoint()
            if self.documents.get(uri) is None:
                found = self.remembered(uri, DIAGNOSTICS, self._of_closed) or []
                before = known.pop(key(uri), None)
                items.append(diagnostics.workspace_report(uri, None, found, before.value if before else None))
        # What the client still shows of files that are gone.
        for gone in known.values():
            if self.documents.get(gone.uri) is None:
                items.append(lsp.WorkspaceFullDocumentDiagnosticReport(gone.uri, []))
        return lsp.WorkspaceDiagnosticReport(items)

    def _of_closed(self, snapshot: Snapshot) -> list[lsp.Diagnostic]:
        return diagnostics.diagnostics(snapshot, self.shown)

    def log(self, kind: lsp.MessageType, message: str) -> None:
        """A line in the client's log."""
        self.server.window_log_message(lsp.LogMessageParams(kind, message))

    def show(self, kind: lsp.MessageType, message: str) -> None:
        """A message for the user to read."""
        self.server.window_show_message(lsp.ShowMessageParams(kind, message))

    def stopped(self, token: int | str) -> None:
        """The user no longer wants what is shown as going on."""
        progress = self.progress.get(str(token))
        if progress is not None:
            progress.stop()

    def close(self) -> None:
        """The conversation is over."""
        self.builds.close()

    def ask_again(self, method: str) -> None:
        """Tells the client that what it was answered is another now."""
        self.ask(method, None)

    def ask(self, method: str, params: Any, take: Callable[[Any], None] | None = None) -> None:
        """Asks the client. An answer that is an error is logged, and nothing is taken."""

        def answered(future: Any) -> None:
            error = future.exception()
            if error is not None:
                log.warning("the client answers %s with an error: %s", method, error)
            elif take is not None:
                take(future.result())

        self.server.protocol.send_request(method, params).add_done_callback(answered)


class ClosedFiles:
    """What is known of files without a document to know it: by their state on the disk, or the text that the editor has
    of them. Used by one job at a time."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._found: dict[tuple[str, str], tuple[Any, Any]] = {}

    def snapshot(self, uri: str, session: Session) -> Snapshot | None:
        document = session.documents.get(uri)
        revision = self._on_disk(uri) if document is None else document.revision
        if revision is None:
            return None
        return self._reading.snapshot(revision, session.settings(uri), session.documents.encoding)

    def _on_disk(self, uri: str) -> Revision | None:
        text = read(uri)
        return None if text is None else Revision.first(uri, None, text.removeprefix(codecs.BOM_UTF8))

    def remembered(self, uri: str, kind: str, compute: Callable[[Snapshot], T], session: Session) -> T | None:
        document = session.documents.get(uri)
        state = (stamp(uri) if document is None else document.revision.lines, session.settings(uri))
        known = self._found.get((key(uri), kind))
        if known is None or known[0] != state:
            snapshot = self.snapshot(uri, session)
            known = self._found[key(uri), kind] = (state, None if snapshot is None else compute(snapshot))
        value: T | None = known[1]
        return value
