"""What three editors show, over the wire, as their users expect it (pytest-lsp; a server process for each editor)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types as lsp

from phobos_core.language.codes import CODES
from phobos_core.syntax import LineIndex
from tests.ls.profiles import PROFILES, SECONDS, Editor, Profile, start, stop

pytestmark = pytest.mark.asyncio(loop_scope="module")

RIGHT = "kernel k(A: tensor<f32>[64]) {\n  A[ctx.lane] = 1.0\n}\n"
WRONG = "kernel k(A: tensor<f32>[64]) {\n  A[ctx.lane] = y\n}\n"
TWICE = "kernel k() {\n}\n\nkernel k() {\n}\n"
LATER_CHIP = CODES["needs-target"].wrong


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=PROFILES, ids=lambda profile: profile.name)
async def editor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    profile: Profile = request.param
    cache = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    started = await start(profile, environment=cache)
    yield started
    await stop(started)


def uri_of(name: str) -> str:
    return f"file:///somewhere/{name}.ph"


async def test_the_encoding(editor: Editor) -> None:
    assert editor.answer.capabilities.position_encoding == editor.profile.encoding


async def test_diagnostics_are_pushed_or_pulled_and_never_both(editor: Editor) -> None:
    uri = uri_of("both")
    editor.open(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")
    provider = editor.answer.capabilities.diagnostic_provider
    if editor.profile.pulls:
        assert isinstance(provider, lsp.DiagnosticOptions)
        assert provider.workspace_diagnostics
        await asyncio.sleep(0.2)
        assert editor.client.diagnostics == {}
    else:
        assert provider is None


async def test_one_mistake_is_one_diagnostic(editor: Editor) -> None:
    uri = uri_of("one")
    editor.open(uri, WRONG)
    (found,) = await editor.diagnostics(uri, "unknown-name")
    assert found.severity is lsp.DiagnosticSeverity.Error
    assert found.source == "phobos"
    assert found.message == "`y` is not declared here"
    assert found.range == lsp.Range(lsp.Position(1, 16), lsp.Position(1, 17))


async def test_places_behind_any_characters(editor: Editor) -> None:
    """Nothing but a comment may hold them, and a comment ends its line: so a line end of another kind, which ends a
    comment in Phobos and a line in the protocol, tells whether lines are counted as both count them."""
    text = "// é\r// 語\r\n// 😀\u2028\v\f\x85 é\nkernel k(A: tensor<f32>[64]) {\r  A[1] = y\r\n}\n"
    uri = uri_of("places")
    editor.open(uri, text)
    (found,) = await editor.diagnostics(uri, "unknown-name")
    assert found.range == lsp.Range(lsp.Position(4, 9), lsp.Position(4, 10))


async def test_places_behind_what_does_not_belong(editor: Editor) -> None:
    uri = uri_of("strange")
    editor.open(uri, "kernel k() {\n  é語😀 é\n}\n")
    found = await editor.diagnostics(uri, "syntax-error")
    units = {"utf-8": (2, 11), "utf-16": (2, 6), "utf-32": (2, 5)}[editor.profile.encoding]
    assert (found[0].range.start.character, found[0].range.end.character) == units


async def test_fixing_clears(editor: Editor) -> None:
    uri = uri_of("fixed")
    editor.open(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")
    place = lsp.Range(lsp.Position(1, 16), lsp.Position(1, 17))
    editor.change(uri, lsp.TextDocumentContentChangePartial(place, "2.0"))
    assert await editor.diagnostics(uri) == []
    editor.replace(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")


async def test_closing_clears(editor: Editor) -> None:
    uri = uri_of("closed")
    editor.open(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")
    editor.close(uri)
    assert await editor.diagnostics(uri) == []
    editor.open(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")


@pytest.mark.parametrize("how", ["watched", "deleted", "renamed"])
async def test_deleting_and_renaming_clear(editor: Editor, how: str) -> None:
    uri = uri_of(how)
    editor.open(uri, WRONG)
    await editor.diagnostics(uri, "unknown-name")
    match how:
        case "watched":
            events = [lsp.FileEvent(uri, lsp.FileChangeType.Deleted)]
            editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(events))
        case "deleted":
            editor.client.workspace_did_delete_files(lsp.DeleteFilesParams([lsp.FileDelete(uri)]))
        case "renamed":
            renamed = lsp.FileRename(uri, uri_of("new"))
            editor.client.workspace_did_rename_files(lsp.RenameFilesParams([renamed]))
    assert await editor.diagnostics(uri) == []
    # It is there again once it is saved or created.
    editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    await editor.diagnostics(uri, "unknown-name")


async def test_related_places(editor: Editor) -> None:
    uri = uri_of("twice")
    editor.open(uri, TWICE)
    (found,) = await editor.diagnostics(uri, "duplicate-name")
    if editor.profile.name == "emacs":  # which cannot show them beside
        assert found.related_information is None
        assert found.message.splitlines()[-1] == "line 1: declared here"
    else:
        (related,) = found.related_information or ()
        assert related.message == "declared here"
        assert related.location == lsp.Location(uri, lsp.Range(lsp.Position(0, 7), lsp.Position(0, 8)))


async def test_codes_link_to_their_explanation(editor: Editor) -> None:
    uri = uri_of("link")
    editor.open(uri, WRONG)
    (found,) = await editor.diagnostics(uri, "unknown-name")
    if editor.profile.name == "vscode":
        assert found.code_description is not None
        page = Path(found.code_description.href.removeprefix("file://")).read_text(encoding="utf-8")
        assert CODES["unknown-name"].rule in page
        assert CODES["unknown-name"].right.rstrip() in page
    else:
        assert found.code_description is None


async def test_names_that_nothing_reads_are_faded(editor: Editor) -> None:
    uri = uri_of("unused")
    editor.open(uri, "kernel k(A: tensor<f32>[64], n: i32) {\n  let _x = 1\n  let spare = 2\n  A[0] = 1.0\n}\n")
    found = await editor.diagnostics(uri)
    assert [(d.range.start.line, d.severity, d.tags) for d in found] == [
        (0, lsp.DiagnosticSeverity.Hint, (lsp.DiagnosticTag.Unnecessary,)),
        (2, lsp.DiagnosticSeverity.Hint, (lsp.DiagnosticTag.Unnecessary,)),
    ]


async def test_an_open_file_without_a_mistake_shows_nothing(editor: Editor) -> None:
    uri = uri_of("right")
    editor.open(uri, RIGHT)
    assert await editor.diagnostics(uri) == []


async def test_resource_hints(editor: Editor) -> None:
    """At the end of a line, whatever stands before it, counted as the editor counts."""
    uri = uri_of("hints")
    editor.open(uri, "kernel k(A: tensor<f32>[64]) { // 😀é\n  A[ctx.lane] = 1.0\n}\n")
    params = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), lsp.Range(lsp.Position(0, 0), lsp.Position(3, 0)))
    end = time.monotonic() + SECONDS
    while not (found := await editor.client.text_document_inlay_hint_async(params)) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    assert found
    (hint,) = found
    assert "shared 0 B" in str(hint.label)
    units = {"utf-8": 6, "utf-16": 3, "utf-32": 2}[editor.profile.encoding]
    assert hint.position == lsp.Position(0, len("kernel k(A: tensor<f32>[64]) { // ") + units)


# Settings. Each of these has servers of its own.


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
async def test_two_folders_have_two_settings_and_change_them(profile: Profile, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    configuration = {"": {"target": "sm_80"}, old.as_uri(): {"target": "sm_61"}, new.as_uri(): {"target": "sm_90"}}
    editor = await start(profile, [old, new], configuration=configuration)
    in_old, in_new = (old / "a.ph").as_uri(), (new / "deep" / "a.ph").as_uri()
    editor.open(in_old, LATER_CHIP)
    editor.open(in_new, LATER_CHIP)
    await editor.diagnostics(in_old, "needs-target")
    await editor.diagnostics(in_new)
    editor.client.set_configuration("sm_90", section="phobos.target", scope_uri=old.as_uri())
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
    await editor.diagnostics(in_old)
    if profile.pulls:
        assert editor.client.diagnostic_refresh_count >= 1
    await stop(editor)


# What can be done about the code.

SLIP = "// 😀é漢\nkernel k(A: tensor<f32>[64], first: f32) {\n  A[ctx.lane] = first; A[0] = frist // 語\n}\n"


def edited(editor: Editor, text: str, edit: lsp.WorkspaceEdit | None, uri: str) -> str:
    """As the editor applies an edit: in its own encoding, of the version that it has."""
    assert edit is not None
    changes: list[lsp.TextEdit] = []
    for each in edit.document_changes or ():
        assert isinstance(each, lsp.TextDocumentEdit)
        assert each.text_document.version == 1
        changes += [change for change in each.edits if isinstance(change, lsp.TextEdit)]
    changes += (edit.changes or {}).get(uri, [])
    lines = LineIndex(text.encode())
    after = text.encode()
    for change in sorted(changes, key=lambda c: (c.range.start.line, c.range.start.character), reverse=True):
        first, last = (
            lines.offset((place.line, place.character), editor.profile.encoding)
            for place in (change.range.start, change.range.end)
        )
        after = after[:first] + change.new_text.encode() + after[last:]
    return after.decode()


async def test_a_fix_clears_its_diagnostic(editor: Editor) -> None:
    uri = uri_of("fix")
    editor.open(uri, SLIP)
    (found,) = await editor.diagnostics(uri, "unknown-name")
    context = lsp.CodeActionContext([found], [lsp.CodeActionKind.QuickFix])
    params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), found.range, context)
    actions = await editor.client.text_document_code_action_async(params)
    assert actions
    preferred = next(a for a in actions if isinstance(a, lsp.CodeAction) and a.is_preferred)
    assert list(preferred.diagnostics or ()) == [found]
    after = edited(editor, SLIP, preferred.edit, uri)
    assert after == SLIP.replace("frist", "first")
    editor.replace(uri, after)
    await editor.diagnostics(uri)


async def test_all_fixes_at_once(editor: Editor) -> None:
    uri = uri_of("all")
    slip = SLIP.replace("A[0] = frist", "A[0] = first; let a = threadIdx.x")
    editor.open(uri, slip)
    await editor.diagnostics(uri, "syntax-error")
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(4, 0))
    context = lsp.CodeActionContext([], ["source.fixAll"])
    params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), everything, context)
    (action,) = await editor.client.text_document_code_action_async(params) or ()
    assert isinstance(action, lsp.CodeAction)
    if action.edit is None:
        action = await editor.client.code_action_resolve_async(action)
    assert edited(editor, slip, action.edit, uri) == slip.replace("threadIdx.x", "ctx.thread")


async def test_lenses_and_links(editor: Editor) -> None:
    uri = uri_of("lenses")
    editor.open(uri, "// as `exp` says\n" + RIGHT)
    document = lsp.TextDocumentIdentifier(uri)
    lenses = await editor.client.text_document_code_lens_async(lsp.CodeLensParams(document))
    titles = [lens.command.title for lens in lenses or () if lens.command is not None]
    assert titles == ["Build", "Run on the emulator", "PTX", "SASS"]
    assert {lens.range.start.line for lens in lenses or ()} == {1}
    (link,) = await editor.client.text_document_document_link_async(lsp.DocumentLinkParams(document)) or ()
    resolved = await editor.client.document_link_resolve_async(link)
    assert resolved.target is not None
    assert resolved.target.endswith("exp.md")
