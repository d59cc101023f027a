"""The open documents: their texts as the client edits them, and the snapshots that are read of them.

In: `didOpen`, `didChange` and `didClose`, on the thread that reads messages, where an edit is some bytes moved and no
more. Out: `Revision`s, each one text; a strand of `scheduling` makes a `Snapshot` of one when it is needed. Whatever
edits lie between two snapshots, the parser is told of the one stretch in which their texts differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lsprotocol import types as lsp

from phobos_core.analysis import AnalysisCache
from phobos_core.syntax import Edit, LineIndex, Parser, SourceFile
from phobos_core.syntax.lines import Encoding
from phobos_core.syntax.source import difference
from phobos_ls.line_names import LineNames
from phobos_ls.memo import Memo
from phobos_ls.scheduling import Pool, Strand
from phobos_ls.settings import Settings
from phobos_ls.snapshot import Snapshot
from phobos_ls.text import encoded
from phobos_ls.uris import key

# Results of kernels that are kept beside those of the text as it is, so that an edit can be undone for nothing.
SPARE_RESULTS = 32


@dataclass(frozen=True, slots=True)
class Revision:
    """One text of a document. `lines` has the text, `names` what each line is known by from one text to the next."""

    uri: str
    version: int | None
    lines: LineIndex
    names: LineNames

    @staticmethod
    def first(uri: str, version: int | None, text: bytes) -> Revision:
        lines = LineIndex(text)
        return Revision(uri, version, lines, LineNames.of(len(lines.starts)))


class Reading:
    """What is remembered of a document to read its next text with. Used by one job at a time."""

    def __init__(self, strand: Strand) -> None:
        self._strand = strand
        self._parser = Parser()
        self._cache = AnalysisCache()
        self._memo = Memo()
        self._last: Snapshot | None = None

    def snapshot(self, revision: Revision, settings: Settings, encoding: Encoding) -> Snapshot:
        last = self._last
        known = last is not None and last.lines is revision.lines
        if last is None or not known or last.settings != settings or last.version != revision.version:
            source = last.source if last is not None and known else self._parse(revision.lines.text)
            last = self._last = Snapshot(
                revision.uri,
                revision.version,
                source,
                settings,
                encoding,
                self._cache,
                revision.lines,
                self._strand.checkpoint,
                self._memo,
                revision.names,
            )
            self._memo.turn()
            self._cache.keep(len(source.items) + SPARE_RESULTS)
        return last

    def _parse(self, text: bytes) -> SourceFile:
        if self._last is None:
            return self._parser.parse(text)
        file = self._last.source
        return self._parser.edit(file, [difference(file.text, text)])


@dataclass(slots=True)
class Document:
    """An open document. `missing` says that its file was deleted or renamed under the editor."""

    revision: Revision
    strand: Strand
    reading: Reading
    missing: bool = False

    @property
    def uri(self) -> str:
        return self.revision.uri

    def change(
        self, version: int | None, changes: list[lsp.TextDocumentContentChangeEvent], encoding: Encoding
    ) -> None:
        lines, names = self.revision.lines, self.revision.names
        for change in changes:
            edit = _edit(lines, change, encoding)
            edited = lines.edited(edit.start, edit.end, edit.replacement)
            lines, names = edited, names.edited(lines, edited, edit.start, edit.end)
        self.revision = replace(self.revision, version=version, lines=lines, names=names)
        self.missing = False


@dataclass(slots=True)
class Documents:
    """Those that are open."""

    pool: Pool
    encoding: Encoding = "utf-16"
    _open: dict[str, Document] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        return self._open.get(key(uri))

    def open(self, item: lsp.TextDocumentItem) -> Document:
        strand = Strand(self.pool)
        revision = Revision.first(item.uri, item.version, encoded(item.text))
        document = self._open[key(item.uri)] = Document(revision, strand, Reading(strand))
        return document

    def close(self, uri: str) -> Document | None:
        return self._open.pop(key(uri), None)


def _edit(lines: LineIndex, change: lsp.TextDocumentContentChangeEvent, encoding: Encoding) -> Edit:
    replacement = encoded(change.text)
    if not isinstance(change, lsp.TextDocumentContentChangePartial):
        return difference(lines.text, replacement)
    place = change.range
    start = lines.offset((place.start.line, place.start.character), encoding)
    end = lines.offset((place.end.line, place.end.character), encoding)
    return Edit(start, max(start, end), replacement)
