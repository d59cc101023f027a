"""What tests of builds share: a client that shows hints and a status, and waiting until all is built."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from phobos_core.toolchain import ptxas, sass
from phobos_ls.builds.work import Build, Job, compile_job
from tests.ls.wire import PUSH, URI, Wired

SECONDS = 60.0
SHOWING = {
    **PUSH,
    "workspace": {"inlayHint": {"refreshSupport": True}},
    "experimental": {"phobos": {"status": True}},
}
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 100_000, "character": 0}}
# No assembler, whatever is installed.
NO_PTXAS = {"ptxas": "/no/such/ptxas"}

needs_ptxas = pytest.mark.skipif(ptxas.for_target("sm_80") is None, reason="needs ptxas, of the extra `ptxas`")
needs_nvdisasm = pytest.mark.skipif(sass.nvdisasm() is None, reason="needs nvdisasm, of the extra `ptxas`")


def slow(job: Job) -> Build:
    """In place of a build: never done for a text that says so."""
    if b"SLOW" in job.text:
        time.sleep(1000)
    return compile_job(job)


def die(job: object) -> None:
    """In place of a build, in the building process."""
    os._exit(3)


SCALE = """\
@launch(64)
kernel scale(X: tensor<f32>[64], Y: tensor<f32>[64]) {
  var t = X[:]
  Y[:] = t * 2.0
}
"""


def document(uri: str = URI) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}}


def status(wired: Wired, uri: str = URI) -> dict[str, Any]:
    found: dict[str, Any] = wired.client.request("phobos/status", document(uri))
    return found


def settled(wired: Wired, uri: str = URI) -> dict[str, Any]:
    """The status when all of the text is built, or something failed."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = status(wired, uri)
        if (found["state"] == "idle" and found["fresh"]) or found["state"] == "failed":
            return found
        time.sleep(0.01)
    raise AssertionError(f"it never settles: {found}")


def at_rest(wired: Wired, uri: str = URI) -> None:
    """Until all is built, everything that follows from that is done, and the client has heard of it."""
    settled(wired, uri)
    known = wired.server.session.documents.get(uri)
    assert known is not None
    until(lambda: not known.strand._busy)
    status(wired, uri)


def hints(wired: Wired, uri: str = URI, where: dict[str, Any] = WHOLE) -> list[tuple[int, str]]:
    """Of each hint its line and its label."""
    found = wired.client.request("textDocument/inlayHint", {**document(uri), "range": where})
    return [(hint["position"]["line"], hint["label"]) for hint in found]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it never happens"
        time.sleep(0.005)


def refreshes(wired: Wired) -> int:
    """How often the client was told to ask for hints again."""
    return sum(message["method"] == "workspace/inlayHint/refresh" for message in wired.client.requested)


def insert(wired: Wired, line: int, text: str, version: int, character: int = 0, uri: str = URI) -> None:
    place = {"line": line, "character": character}
    wired.change([{"range": {"start": place, "end": place}, "text": text}], uri, version)
