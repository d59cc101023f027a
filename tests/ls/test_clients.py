"""What a client can show decides how an answer is put: as Markdown or as plain text, as a tree or as a list."""

from typing import Any

import pytest

from phobos_ls.clients import plain
from tests.ls.wire import URI, Wired, wire

TEXT = (
    "// Doubles *x*.\nfn twice(x) = x * 2\nkernel k(A: tensor<f32>[4], n: i32) {\n  A[0 :+ 4] = exp(twice(A[:]))\n}\n"
)
PLAIN: dict[str, Any] = {
    "textDocument": {
        "hover": {"contentFormat": ["plaintext"]},
        "completion": {"completionItem": {"snippetSupport": False, "documentationFormat": ["plaintext"]}},
        "signatureHelp": {"signatureInformation": {"documentationFormat": ["plaintext"]}},
        "documentSymbol": {},
    }
}
RICH: dict[str, Any] = {
    "textDocument": {
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown", "plaintext"]}},
        "signatureHelp": {
            "signatureInformation": {
                "documentationFormat": ["markdown"],
                "parameterInformation": {"labelOffsetSupport": True},
            }
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    }
}


def asked(wired: Wired, method: str, line: int, character: int) -> Any:
    place = {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}
    return wired.client.request(f"textDocument/{method}", place)


def resolved(wired: Wired, label: str) -> dict[str, Any]:
    items = asked(wired, "completion", 3, 15)["items"]
    found = next(item for item in items if item["label"] == label)
    return {**found, **wired.client.request("completionItem/resolve", found)}


def test_a_client_of_plain_text() -> None:
    with wire(capabilities=PLAIN) as wired:
        wired.open(TEXT)
        hover = asked(wired, "hover", 3, 15)["contents"]
        assert hover["kind"] == "plaintext"
        assert hover["value"].startswith("exp(t)")
        assert not {"`", "[Page"} & set(hover["value"].split())
        item = resolved(wired, "log")
        assert item["documentation"]["kind"] == "plaintext"
        assert item["insertText"] == "log"
        assert "insertTextFormat" not in item
        (signature, *_) = asked(wired, "signatureHelp", 3, 18)["signatures"]
        assert signature["documentation"]["kind"] == "plaintext"
        assert [parameter["label"] for parameter in signature["parameters"]] == ["t"]
        symbols = wired.client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
        assert [(s["name"], s.get("containerName")) for s in symbols] == [
            ("twice", None), ("k", None), ("A", "k"), ("n", "k"),
        ]  # fmt: skip
        assert {s["location"]["uri"] for s in symbols} == {URI}


def test_a_client_that_shows_all() -> None:
    with wire(capabilities=RICH) as wired:
        wired.open(TEXT)
        assert asked(wired, "hover", 3, 15)["contents"]["kind"] == "markdown"
        item = resolved(wired, "log")
        assert item["documentation"]["kind"] == "markdown"
        assert item["insertText"] == "log(${1:t})"
        (signature, *_) = asked(wired, "signatureHelp", 3, 18)["signatures"]
        assert signature["parameters"][0]["label"] == [4, 5]
        symbols = wired.client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
        assert [[child["name"] for child in symbol["children"]] for symbol in symbols] == [[], ["A", "n"]]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("```phobos\nlet a: i32\n```\n\nscalar of `k`", "let a: i32\n\nscalar of k"),
        ("| | registers |\n|---|---|\n| **T=4** | 12 |", "| | registers |\n| T=4 | 12 |"),
        ("See [the page](file:///x.md) of it.", "See the page of it."),
        ("What it does.\n\n[Page of `exp`](file:///x.md)", "What it does."),
        ("A[i] and B[j] (both)", "A[i] and B[j] (both)"),
    ],
)
def test_plain(markdown: str, text: str) -> None:
    assert plain(markdown) == text
