"""One version of a file as every feature sees it: its text, its syntax, and what the checker found.

Immutable, so that a request answers about the text it was asked about while the next edit is read. Positions are the
protocol's, in the encoding agreed with the client; everything else counts bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from lsprotocol import types as lsp

from phobos_core import analysis
from phobos_core.analysis.check import AnalysisCache, CheckedFile, PlacedKernel
from phobos_core.syntax import LineIndex, SourceFile
from phobos_core.syntax.lines import Encoding
from phobos_ls.line_names import LineNames
from phobos_ls.memo import Memo
from phobos_ls.settings import Settings
from phobos_ls.text import decoded


def _go_on() -> None:
    """The checkpoint of a snapshot that nobody gives up."""


@dataclass(frozen=True)
class Snapshot:
    """`cache` belongs to the document, as does `memo`, which has what features remember from one version to the next;
    both are used by one thread at a time. `known_lines` are those of the text where somebody has found them.
    `checkpoint` is called between the kernels of a check, which it leaves where it raises."""

    uri: str
    version: int | None
    source: SourceFile
    settings: Settings = field(default_factory=Settings)
    encoding: Encoding = "utf-16"
    cache: AnalysisCache | None = None
    known_lines: LineIndex | None = None
    checkpoint: Callable[[], None] = _go_on
    memo: Memo = field(default_factory=Memo)
    known_names: LineNames | None = None

    @cached_property
    def line_names(self) -> LineNames:
        return self.known_names or LineNames.of(len(self.lines.starts))

    @cached_property
    def lines(self) -> LineIndex:
        return self.known_lines or LineIndex(self.source.text)

    @cached_property
    def checked(self) -> CheckedFile:
        options = self.settings.options
        return analysis.check(
            self.source,
            dims=options.bindings,
            target=options.target,
            index_bits=options.index_bits,
            cache=self.cache,
            checkpoint=self.checkpoint,
        )

    @property
    def text(self) -> bytes:
        return self.source.text

    def offset(self, position: lsp.Position) -> int:
        return self.lines.offset((position.line, position.character), self.encoding)

    def position(self, offset: int) -> lsp.Position:
        line, column = self.lines.position(offset, self.encoding)
        return lsp.Position(line, column)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def location(self, start: int, end: int) -> lsp.Location:
        return lsp.Location(self.uri, self.range(start, end))

    def spelled(self, start: int, end: int) -> str:
        return decoded(self.text[start:end])

    def kernel_at(self, offset: int) -> PlacedKernel | None:
        """The kernel whose text holds the offset, its end included."""
        return next((k for k in self.kernels() if k.offset <= offset <= k.offset + k.ast.span.end), None)

    def kernels(self) -> Iterator[PlacedKernel]:
        return iter(self.checked.kernels)
