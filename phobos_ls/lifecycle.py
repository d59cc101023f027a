"""The protocol's rules for messages and for the life of a server, whatever the messages are about.

Every request has one answer, an error where it cannot be served; a message that cannot be understood, and a bug, end
nothing. Before `initialize` and after `shutdown` nothing else is served. `exit` ends the session, with 0 after a
`shutdown` and 1 without.

pygls has the types of the protocol, their conversion and the requests to the client; receiving messages is replaced,
see `docs/decisions/language-server.md`.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import InvalidStateError
from enum import Enum, auto
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

from phobos_core import __version__
from phobos_ls.scheduling import Cancelled, Token
from phobos_ls.table import Later

log = logging.getLogger(__name__)

Handler = Callable[[Any], Any]


class State(Enum):
    NEW = auto()
    RUNNING = auto()
    SHUT_DOWN = auto()
    ENDED = auto()


class Refused(Exception):
    """A request that cannot be done, with the reason in words for the user."""

    def __init__(self, message: str, code: int = lsp.LSPErrorCodes.RequestFailed) -> None:
        super().__init__(message)
        self.code = code


def refused(code: int, message: str) -> lsp.ResponseError:
    return lsp.ResponseError(int(code), message)


class LifecycleProtocol(LanguageServerProtocol):
    """`serve` begins the answer to a request, which `run` or `fail` gives: it is told the request's id, method and
    parameters. `knows` says which methods it serves, and
    `notified` has what takes notifications. They are set before a message is received."""

    serve: Callable[[int | str, str, Any], None]
    notified: Mapping[str, Handler]
    knows: Callable[[str], bool]

    def __init__(self, server: Any, converter: Any) -> None:
        self.state = State.NEW  # before pygls looks at every attribute
        super().__init__(server, converter)
        self.exit_code = 1
        self._tokens: dict[int | str, Token] = {}

    @property
    def ended(self) -> bool:
        return self.state is State.ENDED

    # Receiving.

    def receive(self, body: bytes | str) -> None:
        """One message."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(None, lsp.ErrorCodes.ParseError, f"the message is not JSON: {error}")
            return
        if not isinstance(message, dict):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "a message is one JSON object")
            return
        try:
            self._receive(message)
        except Exception as error:
            self.bug(error, f"while it received {message.get('method', 'an answer')}")

    def _receive(self, message: dict[str, Any]) -> None:
        method, msg_id = message.get("method"), message.get("id")
        if isinstance(msg_id, bool) or not isinstance(msg_id, int | str | None):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "the id of a request is an integer or a string")
        elif not isinstance(method, str):
            if msg_id is not None and ("result" in message or "error" in message):
                self._answered(msg_id, message)
            else:
                self._refuse(msg_id, lsp.ErrorCodes.InvalidRequest, "a message has a method, or answers a request")
        elif msg_id is not None:
            self._requested(msg_id, method, message)
        else:
            self._notified(method, message)

    def _requested(self, msg_id: int | str, method: str, message: dict[str, Any]) -> None:
        problem = self._out_of_turn(method)
        if problem is not None:
            self._send_response(msg_id, error=problem)
            return
        if not self.knows(method):
            self._refuse(msg_id, lsp.ErrorCodes.MethodNotFound, f"`{method}` is not supported")
            return
        try:
            params = self._params(method, message)
        except Exception as error:
            self._refuse(msg_id, lsp.ErrorCodes.InvalidParams, f"the parameters of `{method}` are not valid: {error}")
            return
        try:
            self.serve(msg_id, method, params)
        except Exception as error:
            self.fail(msg_id, method, error)

    def _out_of_turn(self, method: str) -> lsp.ResponseError | None:
        match self.state:
            case State.NEW if method != lsp.INITIALIZE:
                return refused(lsp.ErrorCodes.ServerNotInitialized, "the first request is `initialize`")
            case State.RUNNING if method == lsp.INITIALIZE:
                return refused(lsp.ErrorCodes.InvalidRequest, "the server is already initialized")
            case State.SHUT_DOWN | State.ENDED:
                return refused(lsp.ErrorCodes.InvalidRequest, "the server is shut down")
        return None

    def _notified(self, method: str, message: dict[str, Any]) -> None:
        if method == lsp.EXIT:
            self.exit_code = 0 if self.state is State.SHUT_DOWN else 1
            self.state = State.ENDED
            return
        if self.state is not State.RUNNING:
            return
        handler = self.notified.get(method)
        if handler is None:
            if not method.startswith("$/"):
                log.info("the notification `%s` is not known", method)
            return
        try:
            params = self._params(method, message)
        except Exception as error:
            self.log(lsp.MessageType.Warning, f"the parameters of `{method}` are not valid: {error}")
            return
        handler(params)

    def _params(self, method: str, message: dict[str, Any]) -> Any:
        """Of a method of the protocol, its type; of ours, plain JSON. Raises where they are not valid."""
        kind = self.get_message_type(method)
        if kind is None:
            return message.get("params")
        message = {"jsonrpc": "2.0", **message}
        if method == lsp.INITIALIZE:
            message["params"] = self._lenient(message.get("params"))
        elif method == lsp.INITIALIZED:
            message["params"] = {}  # it says nothing, and some clients leave it out
        try:
            return self._converter.structure(message, kind).params
        except Exception as error:
            raise ValueError(_reasons(error)) from error

    def _lenient(self, params: Any) -> Any:
        """The parameters of `initialize` without the client's capabilities that are not understood: a client may know
        a later version of the protocol, and what it can do beyond this one does no harm."""
        capabilities = params.get("capabilities") if isinstance(params, dict) else None
        if not isinstance(capabilities, dict):
            return params
        kept = {name: value for name, value in capabilities.items() if self._understood({name: value})}
        for name in ("textDocument", "workspace"):
            parts = capabilities.get(name)
            if name not in kept and isinstance(parts, dict):
                kept[name] = {part: value for part, value in parts.items() if self._understood({name: {part: value}})}
        return {**params, "capabilities": kept}

    def _understood(self, capabilities: dict[str, Any]) -> bool:
        try:
            self._converter.structure(capabilities, lsp.ClientCapabilities)
        except Exception:
            return False
        return True

    def _answered(self, msg_id: int | str, message: dict[str, Any]) -> None:
        """What the client says to a request of ours."""
        future = self._request_futures.pop(msg_id, None)
        kind = self._result_types.pop(msg_id, None)
        if future is None:
            return
        try:
            if "error" in message:
                given = message["error"] if isinstance(message["error"], dict) else {}
                future.set_exception(JsonRpcException(str(given.get("message")), given.get("code")))
            elif kind is None:
                future.set_result(message.get("result"))
            else:
                try:
                    result = self._converter.structure({"jsonrpc": "2.0", **message}, kind).result
                except Exception as error:
                    future.set_exception(ValueError(_reasons(error)))
                else:
                    future.set_result(result)
        except InvalidStateError:
            return

    # Answering, from any thread.

    def token(self, msg_id: int | str) -> Token:
        """For the work of a request that is answered later: it says whether the answer is still wanted."""
        token = self._tokens[msg_id] = Token()
        return token

    def run(self, msg_id: int | str, method: str, compute: Callable[[], Any]) -> Later | None:
        """Computes the answer to a request, and gives it, unless it has to wait: then, what for."""
        try:
            result = compute()
        except Cancelled:
            raise
        except Exception as error:
            self.fail(msg_id, method, error)
        else:
            if isinstance(result, Later):
                return result
            token = self._tokens.pop(msg_id, None)
            if token is not None and token.cancelled:
                self.dropped(msg_id)
            else:
                self._send_response(msg_id, result)
        return None

    def dropped(self, msg_id: int | str) -> None:
        """The client has cancelled a request."""
        self._tokens.pop(msg_id, None)
        self._refuse(msg_id, lsp.LSPErrorCodes.RequestCancelled, "the request was cancelled")

    def fail(self, msg_id: int | str, method: str, error: Exception) -> None:
        self._tokens.pop(msg_id, None)
        if isinstance(error, Refused):
            self._refuse(msg_id, error.code, str(error))
            return
        self._refuse(msg_id, lsp.ErrorCodes.InternalError, self.bug(error, f"while it answered `{method}`"))

    def cancel(self, msg_id: int | str) -> None:
        token = self._tokens.get(msg_id)
        if token is not None:
            token.cancel()

    def cancel_all(self) -> None:
        for token in tuple(self._tokens.values()):
            token.cancel()

    def _refuse(self, msg_id: int | str | None, code: int, message: str) -> None:
        # The type of the id leaves no room for null, which the protocol asks for where there is none.
        error: Any = lsp.ResponseErrorMessage(id=msg_id, error=refused(code, message))
        self._send_data(error)

    # Telling.

    def log(self, kind: lsp.MessageType, message: str) -> None:
        log.log(logging.ERROR if kind is lsp.MessageType.Error else logging.WARNING, "%s", message)
        if self.state is State.RUNNING:
            self.notify(lsp.WINDOW_LOG_MESSAGE, lsp.LogMessageParams(kind, message))

    def bug(self, error: Exception, when: str) -> str:
        """Logs an error that is the server's own, with its place; the words for whoever waits for an answer."""
        log.error("%s", "".join(traceback.format_exception(error)))
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        message = f"bug in phobos {__version__} {when}: {type(error).__name__}: {error}{place}"
        self.log(lsp.MessageType.Error, message)
        return message


def _reasons(error: BaseException) -> str:
    """What a failed conversion says, without the names of our own classes."""
    causes = getattr(error, "exceptions", ())
    if causes:
        return "; ".join(dict.fromkeys(_reasons(cause) for cause in causes))
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error)
