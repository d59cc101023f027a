"""Any text, through the whole server: every request that it announces is answered, with no error, and what it knows of
a text after any edits is what it knows of that text opened anew.

By default a sample. `PHOBOS_LS_FUZZ=20000` makes as many random edits, and takes every prefix of every example.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.language_client import Client
from phobos_core.analysis import check
from phobos_core.syntax import parse
from phobos_core.syntax.lines import Encoding, LineIndex
from phobos_ls import diagnostics
from phobos_ls.server import FEATURES, OWN
from phobos_ls.settings import Settings
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Command
from phobos_ls.text import encoded
from tests.ls.test_process import start as start_server
from tests.ls.wire import COMMAND, URI, Wired, wire

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.ph"))
EDITS = int(os.environ.get("PHOBOS_LS_FUZZ", "0"))
SAMPLED = 12  # prefixes of each example, unless all are asked for
SECONDS = 20.0  # in which all requests about a text are answered, on a machine that does much else

Params = dict[str, Any]
DOCUMENT: Params = {"textDocument": {"uri": URI}}
CLIENT = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "diagnostic": {},
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}},
        "rename": {"prepareSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}},
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "semanticTokens": {"requests": {"full": {"delta": True}, "range": True}, "formats": ["relative"]},
    },
    "workspace": {"diagnostics": {"refreshSupport": True}},
}
# What is open at first is built, and its hints move with the edits; what builds find wrong is compared nowhere.
BUILDS = {"build": "onSave", "hints": True}


def _at(place: Params) -> Params:
    return {**DOCUMENT, "position": place}


def _between(start: Params, end: Params) -> Params:
    return {**DOCUMENT, "range": {"start": start, "end": end}}


def _called(place: Params) -> Params:
    range_ = {"start": place, "end": place}
    return {"name": "k", "kind": 12, "uri": URI, "range": range_, "selectionRange": range_}


_STYLE = {"tabSize": 2, "insertSpaces": True}
# The parameters of each request about a document, from the place of the cursor, the start and the end of the text.
PARAMETERS: Mapping[str, Callable[[Params, Params, Params], Params]] = {
    "textDocument/diagnostic": lambda at, start, end: DOCUMENT,
    "textDocument/hover": lambda at, start, end: _at(at),
    "textDocument/completion": lambda at, start, end: {**_at(at), "context": {"triggerKind": 1}},
    "textDocument/signatureHelp": lambda at, start, end: _at(at),
    "textDocument/declaration": lambda at, start, end: _at(at),
    "textDocument/definition": lambda at, start, end: _at(at),
    "textDocument/typeDefinition": lambda at, start, end: _at(at),
    "textDocument/implementation": lambda at, start, end: _at(at),
    "textDocument/references": lambda at, start, end: {**_at(at), "context": {"includeDeclaration": True}},
    "textDocument/documentHighlight": lambda at, start, end: _at(at),
    "textDocument/prepareRename": lambda at, start, end: _at(at),
    "textDocument/documentSymbol": lambda at, start, end: DOCUMENT,
    "textDocument/documentLink": lambda at, start, end: DOCUMENT,
    "textDocument/semanticTokens/full": lambda at, start, end: DOCUMENT,
    "textDocument/semanticTokens/range": lambda at, start, end: _between(start, at),
    "textDocument/foldingRange": lambda at, start, end: DOCUMENT,
    "textDocument/selectionRange": lambda at, start, end: {**DOCUMENT, "positions": [at, start, end]},
    "textDocument/prepareCallHierarchy": lambda at, start, end: _at(at),
    "callHierarchy/incomingCalls": lambda at, start, end: {"item": _called(at)},
    "callHierarchy/outgoingCalls": lambda at, start, end: {"item": _called(at)},
    "textDocument/rename": lambda at, start, end: {**_at(at), "newName": "another"},
    "textDocument/codeAction": lambda at, start, end: {**_between(start, end), "context": {"diagnostics": []}},
    "codeAction/resolve": lambda at, start, end: {
        "title": "all",
        "data": {"uri": URI, "action": "source.fixAll.phobos"},
    },
    "textDocument/codeLens": lambda at, start, end: DOCUMENT,
    "textDocument/inlayHint": lambda at, start, end: _between(start, end),
    "textDocument/formatting": lambda at, start, end: {**DOCUMENT, "options": _STYLE},
    "textDocument/rangeFormatting": lambda at, start, end: {**_between(start, at), "options": _STYLE},
    "textDocument/onTypeFormatting": lambda at, start, end: {**_at(at), "ch": "}", "options": _STYLE},
}
DELTA = "textDocument/semanticTokens/full/delta"
# Of no one document.
OVER_ALL: Mapping[str, Params] = {"workspace/symbol": {"query": "k"}, "workspace/diagnostic": {"previousResultIds": []}}
# What is asked of something that another request has found.
RESOLVED = {
    "completionItem/resolve": "textDocument/completion",
    "codeAction/resolve": "textDocument/codeAction",
    "codeLens/resolve": "textDocument/codeLens",
    "inlayHint/resolve": "textDocument/inlayHint",
    "documentLink/resolve": "textDocument/documentLink",
    "workspaceSymbol/resolve": "workspace/symbol",
}
# What may be refused, with the reason: an error by right. A broken kernel has no code.
REFUSED = {"textDocument/rename": -32803, "phobos/ptx": -32803, "phobos/sass": -32803, "phobos/memoryMap": -32803}
METHODS = [line.method for line in FEATURES if not isinstance(line, Command)]


def parameters(method: str, at: Params, start: Params, end: Params) -> Params:
    if method in OVER_ALL:
        return OVER_ALL[method]
    # Requests of our own are about a place, unless they stand in the table.
    return PARAMETERS.get(method, lambda at, start, end: _at(at))(at, start, end)


def test_every_request_is_asked() -> None:
    own = {method for method in METHODS if method.startswith(OWN)}
    assert set(METHODS) <= {*PARAMETERS, DELTA, *OVER_ALL, *RESOLVED, *own}


def position(text: str, index: int, encoding: Encoding = "utf-16") -> Params:
    line, column = LineIndex(encoded(text)).position(len(encoded(text[:index])), encoding)
    return {"line": line, "character": column}


class Asking:
    """Asks a server everything about its document, as an editor does that remembers what it was told."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tokens: Params = {"resultId": "", "data": []}

    def everything(self, text: str, index: int) -> None:
        """All requests at once: each has an answer in time, and no answer is an error."""
        client = self._client
        places = position(text, index), position(text, 0), position(text, len(text))
        begun = time.monotonic()
        asked = {DELTA: client.begin(DELTA, {**DOCUMENT, "previousResultId": self._tokens["resultId"]})}
        for method in METHODS:
            if method != DELTA and method not in RESOLVED:
                asked[method] = client.begin(method, parameters(method, *places))
        answers = {method: self._answer(method, msg_id, text) for method, msg_id in asked.items()}
        for method, of in RESOLVED.items():
            if method in METHODS:
                found = answers[of] or []
                for item in (found if isinstance(found, list) else found["items"])[:2]:
                    self._answer(method, client.begin(method, item), text)
        assert time.monotonic() - begun < SECONDS
        self._coloured(answers[DELTA], answers["textDocument/semanticTokens/full"], text)

    def _answer(self, method: str, msg_id: int, text: str) -> Any:
        answer = self._client.answer(msg_id, SECONDS)
        refused = REFUSED.get(method, 0) == answer.get("error", {}).get("code")
        assert "error" not in answer or refused, (method, answer["error"], text)
        return answer.get("result")

    def _coloured(self, delta: Params, full: Params, text: str) -> None:
        """The tokens remembered, changed as the answer says, are the tokens of the text."""
        data = list(self._tokens["data"])
        for edit in sorted(delta.get("edits", ()), key=lambda edit: -edit["start"]):
            data[edit["start"] : edit["start"] + edit["deleteCount"]] = edit.get("data", [])
        assert delta.get("data", data) == full["data"], text
        self._tokens = full


def same_as_fresh(wired: Wired, text: str) -> None:
    """What the server knows of a document is what it would know of its text."""
    shown = wired.client.request("textDocument/diagnostic", DOCUMENT)["items"]  # it has read every edit by then
    document = wired.server.session.documents.get(URI)
    assert document is not None
    assert document.revision.lines.text == encoded(text)
    known = document.reading.snapshot(document.revision, Settings(), "utf-16")
    fresh = Snapshot(URI, known.version, parse(text))
    assert known.source == fresh.source, text
    assert known.checked.diagnostics == check(fresh.source).diagnostics, text
    expected = diagnostics.diagnostics(fresh, wired.server.session.shown)
    converter = wired.server.messages._converter
    assert shown == [converter.unstructure(each) for each in expected], text


def prefixes(text: str) -> Iterator[int]:
    if EDITS:
        return iter(range(len(text) + 1))
    chance = random.Random(len(text))
    return iter(sorted({0, len(text), *(chance.randint(0, len(text)) for _ in range(SAMPLED))}))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_prefix_of_every_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    with wire(capabilities=CLIENT, initializationOptions=BUILDS) as wired:
        asking = Asking(wired.client)
        wired.open("")
        before = 0
        for version, end in enumerate(prefixes(text), 2):
            place = position(text, before)
            change = {"range": {"start": place, "end": place}, "text": text[before:end]}
            wired.change([change], version=version)
            before = end
            asking.everything(text[:end], end)
            if not EDITS or end % 50 == 0:
                same_as_fresh(wired, text[:end])
        assert not [m for m in wired.client.pending() if m.get("method") == "window/logMessage"]


PIECES = [
    *"{}()[]<>,;:.=+-*/@",
    "\n", "\r\n", "\r", " ", "  ", "\t", "\v", "\0", "é", "語", "😀", "\ud83d", "\u2028",
    "let ", "var ", "kernel ", "fn ", "for i in range(0, 4) {", "if ", "while ", "ctx.", "ctx.lane", "return", "break",
    "tile<f32>[64, 64]", "tensor<f16>", "dot(", "sum<over ctx.lane>(", "where(", ":+ ", "@autotune(T in [1, 2])\n",
    "kernel k(A: tensor<f32>[N]) {\n", "fn f(x) = x\n", "f(", "1", "0.5", "// ", "acc", "A[",
]  # fmt: skip


def edited(text: str, chance: random.Random, other: str) -> tuple[int, int, str]:
    """A place in a text and what is written there: a piece, some of another text, or nothing."""
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice((0, 0, 0, 1, 1, 2, 5, 40, 200)))
    match chance.randrange(8):
        case 0:
            at = chance.randrange(len(other))
            return start, end, other[at : at + chance.randint(1, 120)]
        case 1 | 2:
            return start, max(end, min(len(text), start + 1)), ""
        case _:
            return start, end, "".join(chance.choices(PIECES, k=chance.choice((1, 1, 1, 2))))


def whole_characters(text: str, index: int) -> int:
    """The nearest place before, that is not inside a line end: it has no position."""
    return index - 1 if text[:index].endswith("\r") and text[index:].startswith("\n") else index


def random_edits(seed: int, count: int) -> Iterator[tuple[Params, str, int]]:
    """Changes, each with the text after it and where in it it was made; the first opens the document."""
    chance = random.Random(seed)
    texts = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    text = chance.choice(texts)
    yield {"text": text}, text, 0
    for number in range(1, count + 1):
        if len(text) > 6000 or number % 200 == 0:
            text = chance.choice(texts)
            yield {"text": text}, text, 0
        start, end, new = edited(text, chance, chance.choice(texts))
        start, end = whole_characters(text, start), whole_characters(text, end)
        end = max(start, end)
        places = {"start": position(text, start), "end": position(text, end)}
        text = text[:start] + new + text[end:]
        yield {"range": places, "text": new}, text, start


@pytest.mark.parametrize("seed", range(4))
def test_random_edits(seed: int) -> None:
    with wire(capabilities=CLIENT, initializationOptions=BUILDS) as wired:
        asking = Asking(wired.client)
        edits = random_edits(seed, (EDITS or 240) // 4)
        wired.open(next(edits)[1])
        for version, (change, text, start) in enumerate(edits, 2):
            wired.change([change], version=version)
            if version % 3 == 0:
                asking.everything(text, start)
            if version % (50 if EDITS else 10) == 0:
                same_as_fresh(wired, text)
        assert not [m for m in wired.client.pending() if m.get("method") == "window/logMessage"]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_memory_stays_flat_whatever_is_typed() -> None:
    """What is asked of a text is forgotten with it."""
    count = EDITS // 4 or 400
    with start_server(COMMAND) as server:
        server.client.initialize(CLIENT, initializationOptions=BUILDS)
        asking = Asking(server.client)
        edits = random_edits(5, count)
        item = {"uri": URI, "languageId": "phobos", "version": 1, "text": next(edits)[1]}
        server.client.notify("textDocument/didOpen", {"textDocument": item})
        before = 0
        for version, (change, text, start) in enumerate(edits, 2):
            document = {"uri": URI, "version": version}
            server.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
            if version % 4 == 0:
                asking.everything(text, start)
                server.client.pending()
            if version == count // 2:
                before = server.memory()
        assert server.memory() - before < 4 << 20
