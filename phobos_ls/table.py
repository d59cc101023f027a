"""What a feature is to the server: a method of the protocol, what is announced of it, and the function that answers.

A feature's function takes a snapshot and offsets and knows nothing of the protocol's parameters; `at`, `between`,
`whole` and `given` make an answer of it. An answer is called on the strand of the document that it is about, with the
newest text that the client had sent when it asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from phobos_ls.snapshot import Snapshot

if TYPE_CHECKING:
    from phobos_ls.session import Session

# A snapshot, the parameters of the request, and the session. Parameters of requests of our own are plain JSON.
Answer: TypeAlias = Callable[[Snapshot, Any, "Session"], Any]
SessionAnswer: TypeAlias = Callable[[Any, "Session"], Any]


def _nothing() -> Any:
    return None


@dataclass(frozen=True, slots=True)
class Feature:
    """`options` is what the server announces beside the method, where there is something to say. `absent` is the answer
    about a file that is not open and cannot be read, `unnamed` to parameters that name no file, if that is no mistake.
    `needs` are the client's capabilities without which the feature is not announced, as `text_document.diagnostic`."""

    method: str
    answer: Answer
    options: Any = None
    absent: Callable[[], Any] = _nothing
    unnamed: Callable[[Any], Any] | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionFeature:
    """About no single document: a request over the workspace, or about something found before. One `over_files` looks
    into files that are not open, and waits for others that do."""

    method: str
    answer: SessionAnswer
    options: Any = None
    needs: tuple[str, ...] = ()
    over_files: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """What a feature answers that has to wait: when `future` is done, or cancelled, `then` is called on the same strand
    and gives the answer. Nothing waits meanwhile but the client. `leave` is called where that does not want it any
    more, and cancels the future."""

    future: Future[Any]
    then: Callable[[], Any]
    leave: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Command:
    """For `workspace/executeCommand`. `answer` gets the list of arguments. A `slow` one waits for a build or a run."""

    name: str
    answer: Callable[[list[Any], Session], Any]
    slow: bool = False


def at(function: Callable[[Snapshot, int], Any]) -> Answer:
    """About the place of the cursor."""
    return lambda snapshot, params, session: function(snapshot, snapshot.offset(params.position))


def between(function: Callable[[Snapshot, int, int], Any]) -> Answer:
    """About a part of the text."""

    def answer(snapshot: Snapshot, params: Any, session: Session) -> Any:
        start, end = snapshot.offset(params.range.start), snapshot.offset(params.range.end)
        return function(snapshot, start, max(start, end))

    return answer


def whole(function: Callable[[Snapshot], Any]) -> Answer:
    """About the whole text."""
    return lambda snapshot, params, session: function(snapshot)


def given(function: Callable[[Snapshot, Any], Any]) -> Answer:
    """With the request's parameters as they are."""
    return lambda snapshot, params, session: function(snapshot, params)


def uri_of(params: Any) -> str | None:
    """The document that a request is about, wherever it says so."""
    for path in (("text_document", "uri"), ("textDocument", "uri"), ("item", "uri"), ("data", "uri"), ("uri",)):
        value = params
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if isinstance(value, str):
            return value
    return None


Table: TypeAlias = tuple[Feature | SessionFeature | Command, ...]
