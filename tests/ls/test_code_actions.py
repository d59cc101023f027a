"""Code actions as a client gets them: kinds, marks, edits, and what is asked for."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import pytest
from lsprotocol import types as lsp

from bench.language_client import SECONDS
from phobos_core.syntax.lines import Encoding
from phobos_ls.features.code_actions import Client, code_actions, fixed, resolve
from tests.ls.cursor import Cursor, cursor
from tests.ls.wire import PUSH, URI, wire

QUICK, REWRITE, EXTRACT = (
    lsp.CodeActionKind.QuickFix,
    lsp.CodeActionKind.RefactorRewrite,
    lsp.CodeActionKind.RefactorExtract,
)
UNKNOWN = "kernel k(n: i32) {\n  let first = n\n  let b = $0frist\n}\n"


def actions(
    c: Cursor, *only: str, client: Client | None = None, told: list[lsp.Diagnostic] | None = None, to: int = 0
) -> list[lsp.CodeAction]:
    context = lsp.CodeActionContext(told or [], list(only) or None)
    return code_actions(c.snapshot, c.offset, c.offsets[to], context, client or Client())


def titles(found: list[lsp.CodeAction]) -> list[str]:
    return [action.title for action in found]


def applied(c: Cursor, edit: lsp.WorkspaceEdit | None) -> str:
    """The text after an edit, as a client applies it."""
    assert edit is not None
    changes: list[Any] = (
        list(edit.document_changes[0].edits)  # type: ignore[union-attr,index]
        if edit.document_changes is not None
        else list((edit.changes or {})[c.snapshot.uri])
    )
    text = c.snapshot.text
    for change in sorted(changes, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = c.snapshot.offset(change.range.start), c.snapshot.offset(change.range.end)
        text = text[:start] + change.new_text.encode() + text[end:]
    return text.decode()


def test_a_fix_and_its_explanation() -> None:
    found = actions(cursor(UNKNOWN))
    assert titles(found)[0] == "Change to `first`"
    assert found[0].kind == QUICK
    explain = next(action for action in found if action.title == "Explain `unknown-name`")
    assert explain.command is not None
    assert explain.command.command == "phobos.explain"
    assert explain.command.arguments == ["unknown-name"]


def test_one_fix_is_preferred() -> None:
    assert [action.title for action in actions(cursor(UNKNOWN)) if action.is_preferred] == ["Change to `first`"]


def test_a_client_that_knows_no_preference_gets_none() -> None:
    found = actions(cursor(UNKNOWN), client=Client(prefers=False))
    assert found
    assert all(action.is_preferred is None for action in found)


def test_fixes_name_the_clients_own_diagnostics() -> None:
    c = cursor(UNKNOWN)
    told = lsp.Diagnostic(lsp.Range(c.position, lsp.Position(2, 15)), "as shown", code="unknown-name")
    other = lsp.Diagnostic(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1)), "elsewhere", code="unknown-name")
    found = actions(c, QUICK, told=[told, other])
    assert found
    assert all(action.diagnostics == [told] for action in found)


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        ((QUICK,), {QUICK}),
        ((lsp.CodeActionKind.Refactor,), set()),
        (("source",), {"source.fixAll.phobos"}),
        (("source.fixAll",), {"source.fixAll.phobos"}),
        (("source.organizeImports",), set()),
        (("quickfix.other",), set()),
        (("",), {QUICK, "source.fixAll.phobos"}),
        ((), {QUICK, "source.fixAll.phobos"}),
    ],
)
def test_only_what_is_asked_for(only: tuple[str, ...], kinds: set[str]) -> None:
    assert {action.kind for action in actions(cursor(UNKNOWN), *only)} == kinds


@pytest.mark.parametrize(
    "source",
    [
        "kernel k(n: i32) {\n  let $0a = n\n  let b = frist + a\n}\n",
        "$0",
        "kernel k() {\n$0}\n",
        "// $0a comment\nkernel k() {\n}\n",
    ],
)
def test_nothing_to_do_where_nothing_is_wrong(source: str) -> None:
    found = [action for action in actions(cursor(source), QUICK) if "no-kernels" not in action.title]
    assert [title for title in titles(found) if title not in ("Write a kernel",)] == []


def test_a_range_that_touches_no_diagnostic() -> None:
    c = cursor("kernel k(n: i32) {\n  $0let first = n$1\n  let b = frist + first\n}\n")
    assert actions(c, QUICK, to=1) == []


def test_a_range_over_several_diagnostics() -> None:
    c = cursor("$0kernel k(n: i32) {\n  let first = n\n  let b = frist\n  let $0c = lenght\n}$1\n".replace("$0c", "c"))
    found = titles(actions(c, QUICK, to=1))
    assert "Change to `first`" in found
    assert "Declare `let lenght = 0`" in found
    assert found.count("Explain `unknown-name`") == 1


# Edits.


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_edits_are_in_the_clients_encoding(encoding: Encoding) -> None:
    c = cursor("// 😀é漢\nkernel k(n: i32) { let first = n; /**/let b = $0frist } // 😀é漢\n".replace("/**/", ""),
               encoding=encoding)  # fmt: skip
    (first, *_) = actions(c, QUICK)
    assert applied(c, first.edit) == c.snapshot.text.decode().replace("frist", "first")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_an_edit_behind_wide_characters_of_its_line(encoding: Encoding) -> None:
    source = "kernel k(A: tensor<f32>[64, 64]) {\n  A[ctx.thread, 0] = 1.0 // 😀é漢\n  A[:, :] = $0A[:, :] // 漢\n}\n"
    c = cursor(source, encoding=encoding)
    (first, *_) = actions(c, QUICK)
    assert "漢\n  barrier()\n  A[:, :] = A[:, :] // 漢" in applied(c, first.edit)


def test_lines_that_are_added_end_as_the_others_do() -> None:
    c = cursor("kernel k(A: tensor<f32>[64, 64]) {\r\n  A[ctx.thread, 0] = 1.0\r\n  A[:, :] = $0A[:, :]\r\n}\r\n")
    (first, *_) = actions(c, QUICK)
    after = applied(c, first.edit)
    assert "\r\n  barrier()\r\n  A[:, :]" in after
    assert "\n" not in after.replace("\r\n", "")


def test_tabs_before_a_statement_are_kept() -> None:
    c = cursor("kernel k(A: tensor<f32>[64, 64]) {\n\tA[ctx.thread, 0] = 1.0\n\tA[:, :] = $0A[:, :]\n}\n")
    (first, *_) = actions(c, QUICK)
    assert "\n\tbarrier()\n\tA[:, :]" in applied(c, first.edit)


def test_edits_are_of_a_version_where_the_client_counts_them() -> None:
    (first, *_) = actions(cursor(UNKNOWN), QUICK)
    assert first.edit is not None
    assert first.edit.document_changes is not None
    (change,) = first.edit.document_changes
    assert isinstance(change, lsp.TextDocumentEdit)
    assert change.text_document.version == 1
    (plain, *_) = actions(cursor(UNKNOWN), QUICK, client=Client(versioned=False))
    assert plain.edit is not None
    assert list(plain.edit.changes or {}) == ["file:///kernel.ph"]


# All fixes at once.

BROKEN = (
    "kernel k(A: tensor<f32>[64, 64], n: i32) {\n  let first = $0frist0 + n\n  if n {\n    A[0, 0] = 1.0\n  }\n"
    "  let x = 1\n  x = 2\n  A[:] = A[:, :]\n}\n"
)


def test_every_preferred_fix_in_one_edit() -> None:
    c = cursor(BROKEN)
    (action,) = actions(c, "source.fixAll.phobos")
    assert action.edit is None
    done = resolve(c.snapshot, action, Client())
    after = applied(c, done.edit)
    assert "if n != 0 {" in after
    assert "frist" in after, "a name may be another than the one that is close"
    assert "var x = 1" in after
    assert "A[:, :] = A[:, :]\n}" in after


def test_an_edit_of_a_text_that_is_gone_is_not_made() -> None:
    c = cursor(BROKEN)
    (action,) = actions(c, "source.fixAll.phobos")
    action.data = {**action.data, "version": 0}  # type: ignore[dict-item]
    assert resolve(c.snapshot, action, Client()).edit is None


def test_a_client_that_cannot_ask_later_gets_the_edit_at_once() -> None:
    c = cursor(BROKEN)
    (action,) = actions(c, "source.fixAll", client=Client(resolves=False))
    assert action.edit is not None
    assert all(action.kind != "source.fixAll.phobos" for action in actions(c, client=Client(resolves=False)))


def test_fixing_all_of_a_right_text_changes_nothing() -> None:
    c = cursor("$0kernel k(A: tensor<f32>[4]) {\n  A[0] = 1.0\n}\n")
    assert fixed(c.snapshot) is c.snapshot


# Rewriting what is right.

RAGGED = "kernel k(A: tensor<f32>[M, N], C: tensor<f32>[M, 1]) {{\n  for i in range(0, N, 32) {{\n{}\n  }}\n}}\n"


def rewritten(source: str, title: str, *only: str) -> str:
    c = cursor(source)
    found = {action.title: action for action in actions(c, *only, to=1 if 1 in c.offsets else 0)}
    assert title in found, list(found)
    return applied(c, found[title].edit)


REWRITES = [
    (
        "a maximum over a copied slice",
        RAGGED.format("    var s = A[0 :+ 4, i :+ 32]\n    C[0 :+ 4, :] = $0rowmax(s)"),
        "Mask what is past the end: `where(iota(1) < N - i, .., -1.0e30)`",
        "    var s = A[0 :+ 4, i :+ 32]\n    s = where(iota(1) < N - i, s, -1.0e30)\n    C[0 :+ 4, :] = rowmax(s)",
    ),
    (
        "a maximum over a slice itself",
        RAGGED.format("    C[0 :+ 4, :] = $0rowmax(A[0 :+ 4, i :+ 32])"),
        "Mask what is past the end: `where(iota(1) < N - i, .., -1.0e30)`",
        "    var masked = A[0 :+ 4, i :+ 32]\n    masked = where(iota(1) < N - i, masked, -1.0e30)\n"
        "    C[0 :+ 4, :] = rowmax(masked)",
    ),
    (
        "the scores of attention",
        "kernel k(Q: tensor<f32>[M, 64], K: tensor<f32>[N, 64], O: tensor<f32>[M, 1]) {\n"
        "  for kt in range(0, N, 32) {\n    var s: tile<f32>[32, 32] = dot_t(Q[0 :+ 32, :], K[kt :+ 32, :])\n"
        "    O[0 :+ 32, :] = $0rowmax(s)\n  }\n}\n",
        "Mask what is past the end: `where(iota(1) < N - kt, .., -1.0e30)`",
        "    s = where(iota(1) < N - kt, s, -1.0e30)\n    O[0 :+ 32, :] = rowmax(s)",
    ),
    (
        "bytes, which have no value as low",
        "kernel k(A: tensor<i8>[M, N], O: tensor<i8>[M, 1]) {\n  let n0 = ctx.block.x * 32\n"
        "  var s = A[0 :+ 4, n0 :+ 32]\n  O[0 :+ 4, :] = $0rowmax(s)\n}\n",
        "Mask what is past the end: `where(iota(1) < N - n0, .., -128)`",
        "  s = where(iota(1) < N - n0, s, -128)\n  O[0 :+ 4, :] = rowmax(s)",
    ),
    (
        "a promise for the dimension of a loop",
        "kernel k(A: tensor<f32>[N, 4]) {\n  for i in $0range(0, N, 32) {\n"
        "    A[i :+ 32, :] = A[i :+ 32, :] * 2.0\n  }\n}\n",
        "Promise whole tiles: `@aligned(N = 32)`, checked at launch",
        "@aligned(N = 32)\nkernel k(A: tensor<f32>[N, 4]) {",
    ),
    (
        "a promise for the dimension of a slice",
        "@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 4]) {\n  let i = ctx.block.x * T\n"
        "  A[i :+ T, :] = $0A[i :+ T, :] * 2.0\n}\n",
        "Promise whole tiles: `@aligned(N = T)`, checked at launch",
        "@autotune(T in [16, 32])\n@aligned(N = T)\nkernel",
    ),
    (
        "a promise beside another",
        "@aligned(M = 4)\nkernel k(A: tensor<f32>[M, N]) {\n  A[0 :+ 4, 0 :+ 8] = $0A[0 :+ 4, 0 :+ 8] * 2.0\n}\n",
        "Promise whole tiles: `@aligned(N = 8)`, checked at launch",
        "@aligned(M = 4, N = 8)\nkernel",
    ),
    (
        "a scalar with a name",
        "kernel k(A: tensor<f32>[64], n: i32) {\n  A[$0n * 2$1 + 1] = 1.0\n}\n",
        "Extract into `let value`",
        "  let value = n * 2\n  A[value + 1] = 1.0",
    ),
    (
        "a slice with a name: a view",
        "kernel k(A: tensor<f32>[64, 64], C: tensor<f32>[64, 1]) {\n  C[:, :] = rowmax($0A[:, :]$1)\n}\n",
        "Extract into `let value`",
        "  let value = A[:, :]\n  C[:, :] = rowmax(value)",
    ),
    (
        "a tile with a name",
        "kernel k(A: tensor<f32>[64, 64]) {\n  A[:, :] = $0A[:, :] * 2.0$1 + 1.0\n}\n",
        "Extract into `var value`",
        "  var value = A[:, :] * 2.0\n  A[:, :] = value + 1.0",
    ),
    (
        "white space around what is selected",
        "kernel k(A: tensor<f32>[64], n: i32) {\n  A[0] = f32($0 n * 2 $1)\n}\n",
        "Extract into `let value`",
        "  let value = n * 2\n  A[0] = f32( value )",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "title", "expected"), [r[1:] for r in REWRITES], ids=[r[0] for r in REWRITES])
def test_rewritten(source: str, title: str, expected: str) -> None:
    assert expected in rewritten(source, title, "refactor")


NOT_REWRITTEN = [
    ("a masked one", RAGGED.format(
        "    var s = A[0 :+ 4, i :+ 32]\n    s = where(iota(1) < N - i, s, -1.0e30)\n    C[0 :+ 4, :] = $0rowmax(s)")),
    ("a static one",
     "kernel k(A: tensor<f32>[4, 64], C: tensor<f32>[4, 1]) {\n  C[:, :] = $0rowmax(A[:, 0 :+ 32])\n}\n"),
    ("a promised one", "@aligned(N = 32)\n" + RAGGED.format("    C[0 :+ 4, :] = $0rowmax(A[0 :+ 4, i :+ 32])")),
    ("a sum, which zeros do not change", RAGGED.format("    C[0 :+ 4, :] = $0rowsum(A[0 :+ 4, i :+ 32])")),
    ("the condition of a loop, evaluated each time",
     "kernel k(A: tensor<i32>[4], n: i32) {\n  while $0A[0] > n$1 {\n    A[0] = 1\n  }\n}\n"),
    ("a name", "kernel k(A: tensor<i32>[4], n: i32) {\n  A[0] = $0n$1 + 1\n}\n"),
    ("a whole value that has a name already", "kernel k(n: i32) {\n  let a = $0n + 1$1\n}\n"),
    ("what is assigned to", "kernel k(A: tensor<i32>[4]) {\n  $0A[0]$1 = 1\n}\n"),
    ("an atomic, which happens where it stands",
     "kernel k(A: tensor<i32>[4]) {\n  A[0] = $0atomic_add(A, 1, 1)$1 + 1\n}\n"),
    ("the body of an expression function", "fn f(x) = $0x * 2$1 + 1\nkernel k() {\n}\n"),
    ("a part of an expression that is none", "kernel k(A: tensor<i32>[4], n: i32) {\n  A[0] = n $0* 2 +$1 1\n}\n"),
]  # fmt: skip


@pytest.mark.parametrize("source", [s for _, s in NOT_REWRITTEN], ids=[n for n, _ in NOT_REWRITTEN])
def test_not_rewritten(source: str) -> None:
    c = cursor(source)
    found = titles(actions(c, "refactor", to=1 if 1 in c.offsets else 0))
    assert not [title for title in found if title.startswith(("Mask", "Extract"))]


# Over the wire.

LITERALS = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor"]}}}
FULL = {
    **PUSH,
    "textDocument": {
        **PUSH["textDocument"],
        "codeAction": {
            **LITERALS,
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}
TEXT = "kernel k(n: i32) {\n  let first = n\n  if frist > 0 {\n  }\n  if first {\n  }\n}\n"


def ask(wired: Any, line: int, character: int, **context: Any) -> Any:
    place = {"line": line, "character": character}
    params = {
        "textDocument": {"uri": URI},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": [], **context},
    }
    return wired.client.request("textDocument/codeAction", params)


def test_over_the_wire() -> None:
    with wire(capabilities=FULL) as wired:
        wired.open(TEXT)
        found = ask(wired, 2, 6)
        assert found[0]["title"] == "Change to `first`"
        assert found[0]["isPreferred"] is True
        all_ = next(action for action in found if action["kind"] == "source.fixAll.phobos")
        assert "edit" not in all_
        done = wired.client.request("codeAction/resolve", all_)
        (change,) = done["edit"]["documentChanges"]
        assert change["textDocument"]["version"] == 1
        assert [edit["newText"] for edit in change["edits"]] == ["  if first != 0 {\n"]
        assert wired.client.request("codeAction/resolve", found[0]) == found[0]  # it has its edit


def test_a_client_of_commands_only() -> None:
    asked: SimpleQueue[Any] = SimpleQueue()

    def apply(params: Any) -> Any:
        asked.put(params)
        return {"applied": True}

    answers = {"workspace/applyEdit": apply}
    with wire(capabilities=None, answers=answers) as wired:
        assert wired.client.initialize(PUSH)["capabilities"]["codeActionProvider"] is True
        wired.open(TEXT)
        found = ask(wired, 2, 6)
        assert all(isinstance(each["command"], str) for each in found)
        command = next(each for each in found if each["title"] == "Change to `first`")
        wired.client.request(
            "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
        )
        (edit,) = asked.get(timeout=SECONDS)["edit"]["changes"][URI]
        assert edit["newText"] == "first"


def test_what_is_announced() -> None:
    with wire(capabilities=None) as wired:
        provider = wired.client.initialize(FULL)["capabilities"]["codeActionProvider"]
        assert provider["resolveProvider"] is True
        assert set(provider["codeActionKinds"]) == {
            "quickfix",
            "refactor.rewrite",
            "refactor.extract",
            "source.fixAll.phobos",
        }
