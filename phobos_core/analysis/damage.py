"""What a syntax error leaves unknown, so that one mistake gives one diagnostic.

The parser has reported the error, and recovered some tree. A statement or attribute on a line with a syntax error is
not checked, what it declares is in error silently, and a name that nothing declares stays silent where its declaration
may be what was lost: it stands on such a line, or the head of the kernel is broken.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from phobos_core.syntax.ast import Kernel, PlacedItem, Span

WORD = re.compile(rb"\w+")


@dataclass(frozen=True, slots=True)
class Damage:
    """The syntax errors of one kernel. `places`, and the spans `lines` of their lines, are relative to the kernel;
    `words` is what stands on these lines; `attributes` and `params` say which part of the kernel's head has errors."""

    attributes: bool = False
    params: bool = False
    places: tuple[int, ...] = ()
    lines: tuple[Span, ...] = ()
    words: frozenset[str] = frozenset()

    def inside(self, span: Span) -> bool:
        return bool(self.places) and any(span.start <= place <= span.end for place in self.places)

    def touches(self, span: Span) -> bool:
        """Whether a part of the text shares a line with an error."""
        return bool(self.lines) and any(line.start <= span.end and span.start <= line.end for line in self.lines)

    def may_hide(self, name: str) -> bool:
        """Whether the declaration of a name may have been lost."""
        return self.attributes or self.params or name in self.words


UNDAMAGED = Damage()


def damage_of(text: bytes, errors: Sequence[int], before: int, offset: int, kernel: Kernel) -> Damage:
    """The damage of a kernel at `offset`; `errors` are the sorted places of syntax errors in `text`, and `before` is
    where the item before the kernel ends: an attribute too broken to be one stands between them."""
    name, body = offset + kernel.name.span.start, offset + kernel.body.span.start
    places = [place for place in errors[bisect_left(errors, before) :] if place <= offset + kernel.span.end]
    if not places:
        return UNDAMAGED
    lines = sorted({line_at(text, place) for place in places})
    return Damage(
        any(place <= name for place in places),
        any(name <= place <= body for place in places),
        tuple(place - offset for place in places),
        tuple(Span(start - offset, end - offset) for start, end in lines),
        _words(text, lines),
    )


@dataclass(frozen=True, slots=True)
class LostFunctions:
    """What the syntax errors outside kernels may have swallowed: any function, where `any` is set by an error outside
    every item, else those named on the lines of the errors, in `words`."""

    any: bool = False
    words: frozenset[str] = frozenset()

    def may_hide(self, name: str) -> bool:
        return self.any or name in self.words


NONE_LOST = LostFunctions()


def lost_functions(text: bytes, errors: Sequence[int], items: Sequence[PlacedItem]) -> LostFunctions:
    """What the errors outside kernels may have swallowed."""
    words: set[str] = set()
    outside = False
    for place in errors:
        at = bisect_right(items, place, key=lambda placed: placed.offset) - 1
        inside = at >= 0 and place <= items[at].offset + items[at].item.span.end
        outside = outside or not inside
        if not (inside and isinstance(items[at].item, Kernel)):
            words |= _words(text, [line_at(text, place)])
    return LostFunctions(outside, frozenset(words)) if words else NONE_LOST


def _words(text: bytes, lines: Iterable[tuple[int, int]]) -> frozenset[str]:
    return frozenset(word.decode("utf-8", "replace") for start, end in lines for word in WORD.findall(text[start:end]))


def line_at(text: bytes, place: int) -> tuple[int, int]:
    end = text.find(b"\n", place)
    return text.rfind(b"\n", 0, place) + 1, len(text) if end < 0 else end
