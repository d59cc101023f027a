"""Text with the places where it may break, laid out in lines of a given width.

In: a document. Out: lines, each with its code and the comment that follows it. The algebra is that of Wadler's "A
prettier printer" (2003) with alignment, fills, and comments that end their line: a group is written on one line if
that fits, else its own breaks become line ends; a fill puts as many items on a line as fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from phobos_core.language.records import dataclass


@dataclass(frozen=True, slots=True)
class Break:
    """A space, or a line end where the group around it does not fit."""


@dataclass(frozen=True, slots=True)
class Comment:
    """Stands at the end of its line, which therefore ends here."""

    text: str


@dataclass(frozen=True, slots=True)
class OwnLine:
    """A comment on a line of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Concat:
    parts: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """Lines inside are indented by `columns` more."""

    columns: int
    body: Document


@dataclass(frozen=True, slots=True)
class Align:
    """Lines inside begin at the column where this does."""

    body: Document


@dataclass(frozen=True, slots=True)
class Group:
    body: Document


@dataclass(frozen=True, slots=True)
class Fill:
    """Items with a break between each two, which becomes a line end where the next item does not fit."""

    items: tuple[Document, ...]


Document: TypeAlias = str | Break | Comment | OwnLine | Concat | Nest | Align | Group | Fill


@dataclass(frozen=True, slots=True)
class Line:
    indent: int
    code: str
    comment: str = ""


def concat(*parts: Document) -> Document:
    """Pieces of text become one."""
    try:
        return "".join(parts)  # type: ignore[arg-type]  # most often they are all text, and asking first takes longer
    except TypeError:
        return Concat(parts)


def group(body: Document) -> Document:
    """Text has nothing to break."""
    return body if isinstance(body, str) else Group(body)


def joined(items: Iterable[Document], separator: Document) -> Document:
    parts: list[Document] = []
    for item in items:
        parts += [separator, item] if parts else [item]
    return concat(*parts)


# What is left to write: the indentation of its lines, whether it is written on one line, and the document.
_Todo: TypeAlias = tuple[int, bool, Document]


def layout(document: Document, indent: int, width: int) -> list[Line]:
    """The lines of a document that begins at column `indent`."""
    writer = _Writer(indent)
    todo: list[_Todo] = [(indent, False, document)]
    while todo:
        at, flat, part = todo.pop()
        match part:
            case str():
                writer.text(part)
            case Break():
                writer.text(" ") if flat else writer.end(at)
            case Comment(text):
                writer.comment(text, at)
            case OwnLine(text):
                writer.end(at)
                writer.comment(text, at)
            case Concat(parts):
                todo += [(at, flat, each) for each in reversed(parts)]
            case Nest(columns, body):
                todo.append((at + columns, flat, body))
            case Align(body):
                todo.append((writer.column, flat, body))
            case Group(body) if not flat and (line := _on_one_line(width - writer.column, body, todo)) is not None:
                writer.text(line)
            case Group(body):
                todo.append((at, flat, body))
            case Fill(items):
                _fill(items, at, flat, width, writer, todo)
    return writer.finished()


def _fill(items: tuple[Document, ...], at: int, flat: bool, width: int, writer: _Writer, todo: list[_Todo]) -> None:
    """Writes the first item, and leaves the others to be filled in."""
    first, *rest = items
    if rest:
        second = rest[0]
        todo.append((at, flat, Fill(tuple(rest))))
        beside = flat or _fits(width - writer.column - 1, Concat((first, Break(), second)))
        todo.append((at, beside, Break()))
    todo.append((at, flat or _fits(width - writer.column, first), first))


def _fits(room: int, document: Document) -> bool:
    return _on_one_line(room, document, ()) is not None


def _on_one_line(room: int, document: Document, after: Iterable[_Todo]) -> str | None:
    """The document on one line, if that fits with what follows it up to the next line end."""
    text = _flat(document)
    if text is None or len(text) > room or not _follows(room - len(text), after):
        return None
    return text


def _flat(document: Document) -> str | None:
    """Without line ends; a comment ends its line."""
    parts: list[str] = []
    todo: list[Document] = [document]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Concat):
            todo += reversed(part.parts)
        elif isinstance(part, Break):
            parts.append(" ")
        elif isinstance(part, (Group, Align, Nest)):
            todo.append(part.body)
        elif isinstance(part, Fill):
            todo.append(joined(part.items, " "))
        else:
            return None  # a comment
    return "".join(parts)


def _follows(room: int, after: Iterable[_Todo]) -> bool:
    """Whether what is left to write fits up to the next line end."""
    todo = list(after)
    while todo and room >= 0:
        at, flat, part = todo.pop()
        match part:
            case str():
                room -= len(part)
            case Break() if flat:
                room -= 1
            case Break():
                return True
            case Comment() | OwnLine():
                return not flat
            case Concat(parts):
                todo += [(at, flat, each) for each in reversed(parts)]
            case Nest(_, body) | Align(body) | Group(body):
                todo.append((at, flat, body))
            case Fill(items):
                todo.append((at, flat, joined(items, Break())))
    return room >= 0


class _Writer:
    """Lines so far. Spaces at the start of a line, and line ends of a line with nothing on it, are left out."""

    def __init__(self, indent: int) -> None:
        self._lines: list[Line] = []
        self._indent = indent
        self._code = ""

    @property
    def column(self) -> int:
        return self._indent + len(self._code)

    def text(self, text: str) -> None:
        self._code += text if self._code else text.lstrip(" ")

    def end(self, indent: int) -> None:
        if self._code:
            self._lines.append(Line(self._indent, self._code.rstrip(" ")))
        self._indent, self._code = indent, ""

    def comment(self, text: str, indent: int) -> None:
        self._lines.append(Line(self._indent, self._code.rstrip(" "), text))
        self._indent, self._code = indent, ""

    def finished(self) -> list[Line]:
        self.end(0)
        return self._lines
