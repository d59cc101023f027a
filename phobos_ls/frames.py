"""Messages in a stream of bytes: each is a body behind a header that tells its length.

In: bytes as they arrive, in chunks of any size. Out: the bodies of the messages that are complete. A header that gives
no length is passed over, so that what follows it is still understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Far above any message, far below what would exhaust the machine: a length like this one is no length.
MOST_BYTES = 1 << 30
# A header is two short lines; a stream that never ends one does not speak this protocol.
MOST_HEADER_BYTES = 1 << 16

_HEADER_END = re.compile(rb"\r?\n\r?\n")
# Names of headers are read in any case, as HTTP has it, whose headers they are.
_LENGTH = re.compile(rb"^[ \t]*content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class Frames:
    """What has arrived of a stream and is no whole message yet."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._length: int | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The messages that are complete with a chunk."""
        self._waiting += chunk
        while self._length is not None or self._header():
            if self._length is None:
                continue
            if len(self._waiting) < self._length:
                return
            body = bytes(self._waiting[: self._length])
            del self._waiting[: self._length]
            self._length = None
            yield body

    def _header(self) -> bool:
        """Takes a header; False where there is no whole one."""
        end = _HEADER_END.search(self._waiting)
        if end is None:
            if len(self._waiting) > MOST_HEADER_BYTES:
                self._waiting.clear()
            return False
        found = _LENGTH.search(self._waiting, 0, end.end())
        if found is not None and int(found[1]) <= MOST_BYTES:
            self._length = int(found[1])
        del self._waiting[: end.end()]
        return True
