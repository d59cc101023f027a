"""Work that takes long, as the client shows it: that it goes on, and a way to stop it.

In: a session and a title. Out: a checkpoint for the work, which raises where the user has stopped it, or the client
cancelled the request. A client that shows no progress sees nothing of this.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from phobos_ls.scheduling import Cancelled

if TYPE_CHECKING:
    from phobos_ls.session import Session


@dataclass
class Progress:
    """`wanted` is the checkpoint of the request that the work is for."""

    wanted: Callable[[], None]
    stopped: bool = False
    begun: bool = False
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        self.stopped = True

    def checkpoint(self) -> None:
        if self.stopped:
            raise Cancelled
        self.wanted()


@contextmanager
def shown_progress(session: Session, title: str) -> Iterator[Progress]:
    """For work on the session's strand of commands."""
    progress = Progress(session.commands.checkpoint)
    if not session.supports("window.work_done_progress"):
        yield progress
        return
    token = f"phobos-{uuid.uuid4()}"

    def tell(value: object) -> None:
        session.server.protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token, value))

    def begin(_: object) -> None:
        # The client knows the token only once it has answered; by then the work may be over.
        with progress.lock:
            if not progress.ended:
                progress.begun = True
                tell(lsp.WorkDoneProgressBegin(title, cancellable=True))

    session.progress[token] = progress
    session.ask(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token), begin)
    try:
        yield progress
    finally:
        with progress.lock:
            progress.ended = True
            if progress.begun:
                tell(lsp.WorkDoneProgressEnd())
        session.progress.pop(token, None)
