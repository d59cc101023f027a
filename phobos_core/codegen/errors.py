"""What codegen tells the user instead of letting LLVM abort: the target lacks an operation."""

from __future__ import annotations


class CodegenError(Exception):
    """`code` is one of `language.codes`, `line` the 1-based source line of the operation."""

    def __init__(self, code: str, line: int, message: str, help: str | None = None) -> None:
        super().__init__(f"line {line}: {message} [{code}]")
        self.code = code
        self.line = line
        self.message = message
        self.help = help
