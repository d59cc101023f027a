"""What codegen tells the user instead of letting LLVM abort: the target lacks an operation."""

from __future__ import annotations


class CodegenError(Exception):
    """`code` is a diagnostic code, `line` the 1-based source line of the operation, 0 if none."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
