"""What may stand at a place in half-written text, found in the words before it.

In: a text and an offset, at which a word begins or would. Out: the kind of place it is. The tree has no answer where a
statement is not whole yet, and what a statement begins with says most: its first words are looked for, and what is open
between them and the place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from phobos_core.language.builtins import COLLECTIVES, MODES
from phobos_core.language.keywords import KEYWORDS


class Place(Enum):
    START = auto()  # of a statement, or of an item
    VALUE = auto()
    INTEGER = auto()  # a value that counts elements or is a bound
    TYPE = auto()
    ELEMENT = auto()  # a scalar type
    EXTENT = auto()  # in the brackets of a type
    IN = auto()  # the `in` of a loop
    RANGE = auto()  # what comes after that
    ELSE = auto()  # behind `else`
    NOTHING = auto()  # a new name, or nothing but an operator or a bracket


_TOKEN = re.compile(rb"//[^\r\n]*|[A-Za-z_]\w*|\d[\w.]*|:\+|[ \t\v\f]+|\r\n|[\x80-\xff]+|.", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_0-9]")
# No such word is inside brackets: a line that begins with one begins a statement or an item.
_BEGINNING = re.compile(rb"[ \t]*(?:(?:kernel|fn|let|var|if|for|while|break|continue|return|else)\b|[@}])")
_MOST_LINES = 200

_NAMING = frozenset({b"let", b"var", b"kernel", b"fn"})
_ENDING = frozenset({b"break", b"continue", b"return"})
_WORDS = frozenset(word.encode() for word in KEYWORDS) - {b"true", b"false"}
_GROUPS = frozenset(name.encode() for name in COLLECTIVES)
_SHAPED = frozenset({b"tensor", b"tile"})
_MODES = frozenset(word.encode() for word in MODES)
# What a number follows behind a `<` or a comma, where they are no names; `over` takes a field of `ctx`.
_COUNTED = _MODES - {b"over"} | {b"unroll", b"width"}
_CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{"}


@dataclass(slots=True)
class _Open:
    """An open bracket, what stands before it, and the words since."""

    bracket: bytes
    before: list[bytes]
    words: list[bytes] = field(default_factory=list)


def place_at(text: bytes, offset: int) -> Place:
    opened = _read(text[begin(text, offset) : offset])
    inner = opened[-1]
    match inner.bracket:
        case b"[":
            return _in_subscripts(inner)
        case b"(":
            return _in_parentheses(inner)
    return _in_statement(inner.words)


def begin(text: bytes, offset: int) -> int:
    """Of the line in which the statement at a place begins, or one before it. No bracket goes on over it."""
    start = offset
    for _ in range(_MOST_LINES):
        start = text.rfind(b"\n", 0, start) + 1
        if start == 0 or _BEGINNING.match(text, start, offset):
            break
        start -= 1
    return max(start, 0)


def _read(text: bytes) -> list[_Open]:
    """What is open at the end of a text, outermost first, each with the words of what is begun in it."""
    opened = [_Open(b"{", [])]
    for found in _TOKEN.finditer(text):
        token, inner = found[0], opened[-1]
        if token.startswith(b"//") or (token.isspace() and token not in (b"\n", b"\r", b"\r\n")):
            continue
        if token in (b"\n", b"\r", b"\r\n"):
            if inner.bracket == b"{" and inner.words and _ends(inner.words):
                inner.words.clear()
        elif token == b";":
            if inner.bracket == b"{":
                inner.words.clear()
        elif token in (b"(", b"[", b"{"):
            opened.append(_Open(token, list(inner.words)))
        elif token in _CLOSERS:
            if inner.bracket == _CLOSERS[token] and len(opened) > 1:
                opened.pop()
            inner = opened[-1]
            inner.words[:] = [] if token == b"}" else [*inner.words, token]
        else:
            inner.words.append(token)
    return opened


def _ends(words: list[bytes]) -> bool:
    """Whether a line end behind these words ends the statement."""
    return _is_operand(words[-1]) or words[-1] in _ENDING


def _is_operand(word: bytes) -> bool:
    return word in (b")", b"]") or (_WORD.match(word) is not None and word not in _WORDS)


def _in_subscripts(inner: _Open) -> Place:
    if _closes_type(inner.before):
        return _after(inner.words, Place.EXTENT)
    return _after(inner.words, Place.INTEGER)


def _in_parentheses(inner: _Open) -> Place:
    match inner.before:
        case [*_, b"kernel", _]:
            return Place.TYPE if inner.words[-1:] == [b":"] else _in_type(inner.words) or Place.NOTHING
        case [*_, b"fn", _]:
            return Place.NOTHING
        case [*_, b"in", b"range"]:
            return _after(inner.words, Place.INTEGER)
    return _after(inner.words, Place.VALUE)


def _in_statement(words: list[bytes]) -> Place:
    match words:
        case []:
            return Place.START
        case [b"for", *_, b"in"]:
            return Place.RANGE
        case [b"for", b"<", b"unroll"]:
            return Place.INTEGER
        case [b"for", name] if _is_operand(name):
            return Place.IN
        case [b"for", b"<", *_, b">", name] if _is_operand(name):
            return Place.IN
        case [b"for"] | [b"for", b"<", *_, b">"]:
            return Place.NOTHING
        case [b"else"]:
            return Place.ELSE
        case [b"let" | b"var", _, b":"]:
            return Place.TYPE
        case [b"kernel" | b"fn", *rest] if b"=" not in rest:
            return Place.NOTHING
        case [*_, last] if last in _NAMING or last in _ENDING:
            return Place.NOTHING
        case [b"let" | b"var", _, b":", *type_] if b"=" not in type_:
            return _in_type(words) or Place.NOTHING
    return _after(words, Place.VALUE)


def _in_type(words: list[bytes]) -> Place | None:
    return Place.ELEMENT if len(words) > 1 and words[-1] == b"<" and words[-2] in _SHAPED else None


def _after(words: list[bytes], value: Place) -> Place:
    """Where a value stands, unless there is one already."""
    if not words:
        return value
    last = words[-1]
    if last in _COUNTED and words[-2:-1] in ([b"<"], [b","]):
        return Place.INTEGER
    if _is_operand(last) or last in (b".", b"@") or _closes_group(words):
        return Place.NOTHING
    return value


def _opening(words: list[bytes]) -> int:
    """Where the `<` is that the `>` at the end closes, if it does; -1 otherwise."""
    if words[-1:] != [b">"] or b"<" not in words:
        return -1
    return len(words) - 1 - words[::-1].index(b"<")


def _closes_type(words: list[bytes]) -> bool:
    at = _opening(words)
    return at > 0 and words[at - 1] in _SHAPED


def _closes_group(words: list[bytes]) -> bool:
    """Whether the words end in the bracket of a collective."""
    at = _opening(words)
    return at > 0 and words[at - 1] in _GROUPS and words[at + 1] in _MODES
