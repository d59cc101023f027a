"""A diagnostic with the syntax around it, and the edits that a fix is made of.

In: a snapshot and a diagnostic, placed in the file. Offsets are the file's everywhere outside the syntax tree, whose
spans count from the item; `place` leads from one to the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, overload

from phobos_core.analysis import PlacedKernel
from phobos_core.analysis.program import Symbol
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import ast
from phobos_core.syntax.ast import PlacedItem
from phobos_core.syntax.formatter import INDENT
from phobos_ls.scopes import symbols_in_scope
from phobos_ls.snapshot import Snapshot
from phobos_ls.syntax_tree import STATEMENTS, Node, path
from phobos_ls.text import decoded

T = TypeVar("T")
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Change:
    """The bytes from `start` to `end` of the file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """`preferred` marks the one that most authors mean; a `guess` is for an author to look at, and never applied
    unseen. Of a `group` the first that helps is enough."""

    title: str
    changes: tuple[Change, ...]
    preferred: bool = False
    group: str = ""
    guess: bool = False


@dataclass(frozen=True)
class Problem:
    snapshot: Snapshot
    diagnostic: Diagnostic

    @property
    def start(self) -> int:
        return self.diagnostic.start

    @property
    def end(self) -> int:
        return self.diagnostic.end

    @property
    def message(self) -> str:
        return self.diagnostic.message

    @property
    def help(self) -> str:
        return self.diagnostic.help or ""

    @property
    def written(self) -> str:
        """What the diagnostic is said of."""
        return self.snapshot.spelled(self.start, self.end)

    # The syntax around.

    @cached_property
    def placed(self) -> PlacedItem | None:
        """The kernel or function that the diagnostic is in."""
        items = self.snapshot.source.items
        return next((p for p in items if p.offset <= self.start <= p.offset + p.item.span.end), None)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """From the item to the innermost node around the diagnostic."""
        if self.placed is None:
            return ()
        return path(self.placed.item, self.start - self.placed.offset, self.end - self.placed.offset)

    @overload
    def node(self, kind: type[T]) -> T | None: ...
    @overload
    def node(self, kind: tuple[type, ...]) -> Any: ...
    def node(self, kind: type | tuple[type, ...]) -> Any:
        """The innermost node of a kind around the diagnostic."""
        return next(self.around(kind), None)

    @overload
    def exactly(self, kind: type[T]) -> T | None: ...
    @overload
    def exactly(self, kind: tuple[type, ...]) -> Any: ...
    def exactly(self, kind: type | tuple[type, ...]) -> Any:
        """The node of a kind that the diagnostic is said of."""
        return next((n for n in self.around(kind) if self.place(n) == (self.start, self.end)), None)

    @overload
    def around(self, kind: type[T]) -> Iterator[T]: ...
    @overload
    def around(self, kind: tuple[type, ...]) -> Iterator[Any]: ...
    def around(self, kind: type | tuple[type, ...]) -> Iterator[Any]:
        """The nodes of a kind around the diagnostic, the innermost first."""
        return (node for node in reversed(self.nodes) if isinstance(node, kind))

    @property
    def kernel(self) -> ast.Kernel | None:
        return self.placed.item if self.placed is not None and isinstance(self.placed.item, ast.Kernel) else None

    @cached_property
    def checked(self) -> PlacedKernel | None:
        """What the checker knows of the kernel."""
        if self.placed is None:
            return None
        return next((k for k in self.snapshot.kernels() if k.ast is self.placed.item), None)

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """The statements around the diagnostic, the innermost first."""
        return tuple(n for n in reversed(self.nodes) if isinstance(n, STATEMENTS))

    def symbol(self, name: ast.Name) -> Symbol | None:
        """What a name of the kernel means, where the checker knows."""
        if self.checked is None:
            return None
        at = (name.span.start, name.span.end)
        found = (s for span, s in self.checked.references if span.frame is None and (span.start, span.end) == at)
        # The checker leaves a statement at its first mistake, and what it did not come to has no meaning yet.
        start = self.checked.offset + name.span.start
        seen = (s for s in symbols_in_scope(self.snapshot, self.checked, start) if s.name == name.text)
        return next(found, None) or next(seen, None)

    # Text.

    def place(self, node: Node) -> tuple[int, int]:
        offset = 0 if self.placed is None else self.placed.offset
        return node.span.start + offset, node.span.end + offset

    def spelled(self, node: Node) -> str:
        return self.snapshot.spelled(*self.place(node))

    @cached_property
    def newline(self) -> str:
        return "\r\n" if b"\r\n" in self.snapshot.text else "\n"

    def fresh(self, name: str) -> str:
        """The name, or with a number where the file has it already."""
        taken = {found.decode() for found in _IDENTIFIER.findall(self.snapshot.text)}
        return next(n for n in (name, *(f"{name}{i}" for i in range(2, len(taken) + 3))) if n not in taken)

    def line(self, offset: int) -> str:
        return decoded(self.snapshot.lines.line(self.snapshot.lines.position(offset).line))

    def indent(self, offset: int) -> str:
        """The white space that the line of an offset begins with."""
        line = self.line(offset)
        return line[: len(line) - len(line.lstrip(" \t"))]

    # Edits.

    def replace(self, node: Node, text: str) -> Change:
        return Change(*self.place(node), text)

    def wrap(self, node: Node, before: str, after: str = ")") -> Change:
        return self.replace(node, f"{before}{self.spelled(node)}{after}")

    def instead(self, text: str) -> Change:
        """In place of what the diagnostic is said of."""
        return Change(self.start, self.end, text)

    def before(self, statement: Node, text: str) -> Change:
        """A statement before another, on a line of its own where that one has one."""
        start, _ = self.place(statement)
        if self._first_on_line(start):
            return Change(start, start, f"{text}{self.newline}{self.indent(start)}")
        return Change(start, start, f"{text}; ")

    def after(self, statement: Node, text: str) -> Change:
        start, end = self.place(statement)
        if self._first_on_line(start):
            return Change(end, end, f"{self.newline}{self.indent(start)}{text}")
        return Change(end, end, f"; {text}")

    def at_start(self, block: ast.Block, text: str) -> Change:
        """A statement at the start of a block."""
        if block.body:
            return self.before(block.body[0], text)
        start, end = self.place(block)
        inner = self.indent(start) + " " * INDENT
        return Change(start, end, f"{{{self.newline}{inner}{text}{self.newline}{self.indent(start)}}}")

    def without(self, statement: Node) -> Change:
        """The statement taken out, with its line where it has one to itself."""
        return self.cut(*self.place(statement))

    def cut(self, start: int, end: int) -> Change:
        text = self.snapshot.text
        rest = re.compile(rb"[ \t]*;?[ \t]*").match(text, end)
        after = rest.end() if rest else end
        ended = re.compile(rb"\r\n|\n|\r|\Z").match(text, after)
        if ended is not None and self._first_on_line(start):
            return Change(self.snapshot.lines.starts[self.snapshot.lines.position(start).line], ended.end(), "")
        return Change(start, end if ended is not None and b";" not in text[end:after] else after, "")

    def from_list(self, nodes: tuple[Node, ...], node: Node) -> Change:
        """A node taken out of a list that commas separate."""
        at = nodes.index(node)
        start, end = self.place(node)
        if at + 1 < len(nodes):
            return Change(start, self.place(nodes[at + 1])[0], "")
        return Change(self.place(nodes[at - 1])[1] if at else start, end, "")

    def attribute(self, text: str) -> Change | None:
        """An attribute added to the kernel, below those it has."""
        kernel = self.kernel
        if kernel is None or self.placed is None:
            return None
        after = max((a.span.end for a in kernel.attributes), default=0) + self.placed.offset
        if kernel.attributes:
            return Change(after, after, f"{self.newline}{text}")
        return Change(after, after, f"{text}{self.newline}")

    def _first_on_line(self, offset: int) -> bool:
        start = self.snapshot.lines.starts[self.snapshot.lines.position(offset).line]
        return not self.snapshot.text[start:offset].strip()


# From a problem to what may mend it, the likeliest first.
Fixer: TypeAlias = Callable[[Problem], Iterator[Fix]]


def fix(
    title: str, *changes: Change | None, preferred: bool = False, group: str = "", guess: bool = False
) -> Iterator[Fix]:
    """One fix; none where a change that it needs cannot be made."""
    if changes and None not in changes:
        yield Fix(title, tuple(change for change in changes if change is not None), preferred, group, guess)
