"""What a pass raises when the kernel cannot be built as the source asks."""

from __future__ import annotations


class PassError(Exception):
    """A fault of the kernel in this configuration, not of the compiler. `code` is one of `language.codes`."""

    def __init__(self, code: str, line: int, message: str, help: str | None = None) -> None:
        super().__init__(f"line {line}: {message} [{code}]")
        self.code = code
        self.line = line
        self.message = message
        self.help = help
