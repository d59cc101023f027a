"""Three editors as the server sees them: what each says of itself, and how its diagnostics are got."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient

from bench.measure import environment
from phobos_core.syntax.lines import Encoding

SECONDS = 30.0
SERVER = [sys.executable, "-m", "phobos_ls.main"]

Name = Literal["vscode", "neovim", "emacs"]


def _vscode() -> lsp.ClientCapabilities:
    """Of a version of today: the recorded one knows neither pulled diagnostics nor encodings."""
    told = pytest_lsp.client_capabilities("visual-studio-code")
    assert told.text_document
    assert told.workspace
    assert told.general
    told.text_document.diagnostic = lsp.DiagnosticClientCapabilities(True, True)
    told.workspace.diagnostics = lsp.DiagnosticWorkspaceClientCapabilities(True)
    told.general.position_encodings = [lsp.PositionEncodingKind.Utf16]
    return told


def _neovim() -> lsp.ClientCapabilities:
    told = pytest_lsp.client_capabilities("neovim")
    assert told.text_document
    # The set-up that a version before pulled diagnostics has.
    told.text_document.diagnostic = None
    return told


@dataclass(frozen=True)
class Profile:
    name: Name
    encoding: Encoding
    pulls: bool

    def capabilities(self) -> lsp.ClientCapabilities:
        match self.name:
            case "vscode":
                return _vscode()
            case "neovim":
                return _neovim()
            case "emacs":
                return pytest_lsp.client_capabilities("emacs")


PROFILES = (Profile("vscode", "utf-16", True), Profile("neovim", "utf-8", False), Profile("emacs", "utf-32", False))


class Editor:
    """A client of a profile with folders open in it, and the documents that it shows."""

    def __init__(self, profile: Profile, client: LanguageClient, answer: lsp.InitializeResult) -> None:
        self.profile, self.client, self.answer = profile, client, answer
        self._versions: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._known: dict[str, list[lsp.Diagnostic]] = {}

    def open(self, uri: str, text: str) -> None:
        self._versions[uri] = 1
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "phobos", 1, text)))

    def change(self, uri: str, *changes: lsp.TextDocumentContentChangeEvent) -> None:
        self._versions[uri] += 1
        document = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, list(changes)))

    def replace(self, uri: str, text: str) -> None:
        self.change(uri, lsp.TextDocumentContentChangeWholeDocument(text))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    async def diagnostics(self, uri: str, *codes: str) -> list[lsp.Diagnostic]:
        """What the editor shows of a document, once it shows diagnostics of these codes, in any order."""
        wanted, end = sorted(codes), time.monotonic() + SECONDS
        found: Sequence[lsp.Diagnostic] = ()
        while time.monotonic() < end:
            found = await self._pulled(uri) if self.profile.pulls else self.client.diagnostics.get(uri, ())
            shown = [d for d in found if d.severity != lsp.DiagnosticSeverity.Hint]
            if sorted(str(d.code) for d in shown) == wanted and (self.profile.pulls or uri in self.client.diagnostics):
                return list(found)
            await asyncio.sleep(0.01)
        raise AssertionError(f"{self.profile.name} shows {found}, not {wanted}")

    async def _pulled(self, uri: str) -> list[lsp.Diagnostic]:
        params = lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri), "phobos", self._ids.get(uri))
        report = await self.client.text_document_diagnostic_async(params)
        if isinstance(report, lsp.RelatedUnchangedDocumentDiagnosticReport):
            assert report.result_id == self._ids[uri]
            return self._known[uri]
        if report.result_id is not None:
            self._ids[uri] = report.result_id
        self._known[uri] = list(report.items)
        return self._known[uri]


async def start(profile: Profile, folders: Sequence[Path] = (), **more: Any) -> Editor:
    """An editor with a server of its own. `configuration` has its settings, as those of pytest-lsp."""
    configuration = more.pop("configuration", None)
    config = ClientServerConfig(SERVER, server_env={**environment(), **more.pop("environment", {})})
    client = await config.start()
    assert isinstance(client, LanguageClient)
    for scope, value in (configuration or {}).items():
        client.set_configuration(value, section="phobos", scope_uri=scope)
    named = [lsp.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(params: lsp.RegistrationParams) -> None:
        return None

    params = lsp.InitializeParams(profile.capabilities(), workspace_folders=named or None, **more)
    answer = await client.initialize_session(params)
    return Editor(profile, client, answer)


async def stop(editor: Editor) -> None:
    await editor.client.shutdown_session()
    await editor.client.stop()
