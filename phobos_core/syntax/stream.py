"""The state of a recovering parse: a cursor over tokens, the brackets that are open, and what was reported.

A production that cannot go on reports why and raises `Abandoned`; `attempt` catches it where parsing can take
up again, and steps over the rest of what was abandoned. So one mistake gives one diagnostic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from phobos_core.language.diagnostic import Diagnostic, Related
from phobos_core.language.operators import COMPOUND
from phobos_core.syntax import build
from phobos_core.syntax.ast import Name, Span
from phobos_core.syntax.tokens import Kind, Token, tokenize

T = TypeVar("T")

STATEMENT_WORDS = frozenset(("let", "var", "if", "else", "for", "while", "break", "continue", "return", "kernel", "fn"))
ASSIGNMENTS = frozenset(("=", *COMPOUND))
NEVER_IN_BRACKETS = ASSIGNMENTS | {"{", "}", ";"}

# How many tokens a guess may look at, so that no text takes quadratic time.
LOOKAHEAD = 1000

CLOSERS = {"(": ")", "[": "]", "<": ">"}


class Abandoned(Exception):
    pass


class Stream:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.diagnostics: list[Diagnostic] = []
        self.open: list[Token] = []
        self.newline_ends = False  # whether a statement may end at the next line end
        self.depth = 0
        self.statement = 0  # where the statement being parsed starts
        self.failed = False  # whether the statement being parsed has been reported
        self.unclosed: Token | None = None  # the outermost `{` that the text does not close
        self.suspect: Token | None = None  # a `{` whose `}` stands further left, so perhaps belongs to another

    # Reading

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def last_end(self) -> int:
        return self.tokens[self.at - 1].end if self.at else 0

    def peek(self, ahead: int) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def here(self, text: str) -> bool:
        return self.tokens[self.at].text == text

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.here(text):
            self.take()
            return True
        return False

    def ends_statement(self) -> bool:
        return self.newline_ends and self.token.first

    def since(self, start: int) -> Span:
        return Span(start, max(self.last_end, start))

    def indent(self, token: Token) -> int:
        """The column of the first character on the token's line."""
        start = max(self.text.rfind(end, 0, token.start) for end in "\r\n") + 1
        line = self.text[start : token.start + 1]
        return len(line) - len(line.lstrip())

    def starts_statement(self) -> bool:
        """Whether a new statement plainly starts here, at the first token of a line."""
        return (
            self.token.first
            and self.at != self.statement
            and (self.token.text in STATEMENT_WORDS or self.starts_assignment())
        )

    def starts_assignment(self) -> bool:
        if self.token.kind is not Kind.NAME:
            return False
        level = 0
        for token in self.tokens[self.at + 1 : self.at + LOOKAHEAD]:
            if token.text == "[":
                level += 1
            elif level == 0:
                return token.text in ASSIGNMENTS
            elif token.text == "]":
                level -= 1
            elif token.text in STATEMENT_WORDS or token.text in ("{", "}", ";"):
                return False
        return False

    # Reporting

    def report(self, diagnostic: Diagnostic) -> None:
        self.failed = True
        self.diagnostics.append(diagnostic)

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
        """Reports why a production cannot go on, unless what went wrong before may be the reason."""
        if not self.failed:
            self.report(diagnostic)
        raise Abandoned

    def unexpected(self, wanted: str, help: str | None = None) -> Diagnostic:
        """That `wanted` should stand here: after the last token where the line, or the text, ends."""
        token = self.token
        if token.first and self.at not in (0, self.statement):
            end = self.last_end
            message = f"expected {wanted} after {shown(self.tokens[self.at - 1])}"
            return build.error("syntax-error", Span(end, end), message, help)
        message = strange(token) or f"expected {wanted}, found {shown(token)}"
        return build.error("syntax-error", Span(token.start, token.end), message, help)

    def expect(self, text: str, help: str | None = None) -> Token:
        if not self.here(text):
            self.fail(self.unexpected(f"`{text}`", help))
        return self.take()

    def name(self, role: str) -> Name:
        """A name that is bound here. A keyword in its place is reported and taken for one."""
        token = self.token
        span = Span(token.start, token.end)
        if token.kind is Kind.KEYWORD and not (token.first and self.at):
            self.report(reserved(token))
        elif token.kind is not Kind.NAME:
            self.fail(self.unexpected(role))
        self.take()
        return Name(span, token.text)

    # Brackets

    def opened(self) -> Token:
        token = self.take()
        self.open.append(token)
        return token

    def close(self, instead: str = "") -> None:
        """Takes the bracket that closes the last open one. `instead` is what else could stand here."""
        opening = self.open[-1]
        closer = CLOSERS[opening.text]
        if not self.here(closer):
            token = self.token
            if token.first or token.text in STATEMENT_WORDS or token.text in ("{", "}", ";", ")", "]"):
                end = self.last_end
                related = (Related(opening.start, opening.end, "opened here"),)
                message = f"missing `{closer}` to close `{opening.text}`"
                self.fail(Diagnostic("syntax-error", "error", end, end, message, related))
            self.fail(self.unexpected(f"{instead} or `{closer}`" if instead else f"`{closer}`"))
        self.take()
        self.open.pop()

    def items(self, item: Callable[[Stream], T], what: str, *, empty: bool = False) -> tuple[T, ...]:
        """A list in brackets, the opening one being here."""
        newline_ends, self.newline_ends = self.newline_ends, False
        closer = CLOSERS[self.opened().text]
        found: list[T] = []
        if not (empty and self.here(closer)):
            if self.here(closer):
                self.fail(self.unexpected(what))
            found.append(item(self))
            while self.here(",") or self.comma_is_missing():
                if not self.here(","):
                    end = self.last_end
                    self.report(build.error("syntax-error", Span(end, end), "missing `,` between two items"))
                    found.append(item(self))
                    continue
                comma = self.take()
                if self.here(closer):
                    span = Span(comma.start, comma.end)
                    self.report(build.error("syntax-error", span, "a list does not end with a comma"))
                    break
                found.append(item(self))
        self.close("`,`")
        self.newline_ends = newline_ends
        return tuple(found)

    def comma_is_missing(self) -> bool:
        """Whether the list plainly goes on here without a comma: its bracket is closed further on."""
        starts_item = self.token.kind in (Kind.NAME, Kind.INT, Kind.FLOAT) or self.token.text == "ctx"
        return starts_item and not self.failed and self.closing(1) is not None

    def deeper(self) -> None:
        """One level further down. The levels are bounded, as Python's stack is."""
        self.depth += 1
        if self.depth > build.MAX_DEPTH:
            self.too_deep(Span(self.token.start, self.token.end))
            raise Abandoned

    def too_deep(self, span: Span) -> None:
        """Reported once: where one thing is too deep, much that stands in it is."""
        self.failed = True
        if not any(diagnostic.code == "nesting-too-deep" for diagnostic in self.diagnostics):
            self.report(build.too_deep(span))

    # Recovery

    def attempt(self, parse: Callable[[], T]) -> T | None:
        """What `parse` gives, or None after a report, with the rest of the line stepped over."""
        opened, newline_ends, depth = len(self.open), self.newline_ends, self.depth
        try:
            return parse()
        except Abandoned:
            levels = self.forget(opened)
            self.newline_ends, self.depth = newline_ends, depth
            self.skip(levels)
            return None

    def forget(self, opened: int) -> int:
        """Leaves `opened` brackets open, and tells how many `(` and `[` it forgot."""
        levels = sum(bracket.text != "<" for bracket in self.open[opened:])
        del self.open[opened:]
        return levels

    def skip_item(self, levels: int) -> None:
        """To the end of one item of a list, in which `levels` brackets are open."""
        while self.token.kind is not Kind.END and self.token.text not in ("{", "}", ";"):
            text = self.token.text
            if (levels == 0 and text in (",", ")", "]")) or self.plainly_starts(self.at):
                return
            if text in ("(", "["):
                levels += 1
            elif text in (")", "]"):
                levels -= 1
            self.take()

    def skip(self, levels: int = 0) -> None:
        """To the end of the statement or of a header, where `levels` brackets of it are open.

        A bracket carries the statement over a line end only if it is closed before anything that looks like
        the next statement.
        """
        while self.token.kind is not Kind.END and self.token.text not in ("{", "}", ";"):
            if self.token.first:
                closed = self.closing(levels) if levels else None
                if closed is None:
                    return
                self.at, levels = closed, 0
                continue
            text = self.take().text
            if text in ("(", "["):
                levels += 1
            elif text in (")", "]"):
                levels = max(levels - 1, 0)

    def closing(self, levels: int) -> int | None:
        """Where the `levels` open brackets are closed, None if something of a new statement comes first."""
        for at, token in enumerate(self.tokens[self.at : self.at + LOOKAHEAD], self.at):
            if token.text in ("(", "["):
                levels += 1
            elif token.text in (")", "]"):
                levels -= 1
                if levels == 0:
                    return at + 1
            elif token.text in NEVER_IN_BRACKETS or self.plainly_starts(at):
                return None
        return None

    def plainly_starts(self, at: int) -> bool:
        """Whether a token is a word that starts a statement or an item, at the start of its line. `kernel` and `fn`
        start nothing without a name and parameters."""
        token = self.tokens[at]
        if not token.first or token.text not in STATEMENT_WORDS:
            return False
        return token.text not in ("kernel", "fn") or [t.text for t in self.tokens[at + 2 : at + 3]] == ["("]

    def skip_block(self) -> None:
        """Steps over a stray `{`: with its block where a line ends after it, else with the rest of its line."""
        block = self.peek(1).first
        level = 0
        while self.token.kind is not Kind.END and (block or not self.token.first):
            if level == 0 and self.here("}"):
                return
            text = self.take().text
            level += (text == "{") - (text == "}")
            if level == 0 and block:
                return


def shown(token: Token) -> str:
    if token.kind is Kind.END:
        return "the end of the file"
    text = readable(token.text)
    return f"the keyword `{text}`" if token.kind is Kind.KEYWORD else f"`{text}`"


def strange(token: Token) -> str | None:
    """What is wrong with a token that no production takes."""
    text = readable(token.text)
    match token.kind:
        case Kind.BAD_NUMBER:
            return f"`{text}` is not a number: letters may not follow its digits"
        case Kind.BLOCK_COMMENT:
            return "a comment is `// ...`, to the end of the line"
        case Kind.STRAY if any(character.isalnum() for character in decoded(token.text)):
            return f"`{text}` is not a name: names are made of ASCII letters, digits and `_`"
        case Kind.STRAY:
            return f"`{text}` has no meaning in Phobos"
        case _:
            return None


def decoded(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def readable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in decoded(text)[:40])


def reserved(token: Token) -> Diagnostic:
    span = Span(token.start, token.end)
    if token.text == "ctx":
        return build.error(
            "reserved-name",
            span,
            "`ctx` is a reserved name: it is read only through its fields and may not be bound",
        )
    return build.error(
        "reserved-name", span, f"`{token.text}` is a keyword and cannot be a name", "choose another name"
    )
