"""Fixes of the text itself: what is missing, what stands where it may not, how other languages write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.language.types import SPELLED
from phobos_core.syntax.build import MAX_INT
from phobos_ls.fixes import elsewhere
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.text import decoded

_WANTED = re.compile(r"^(?:expected|missing) `([^`]+)`")
_FOUND = re.compile(r", found (?:the keyword )?`")
_BREAK = re.compile(rb"\}([ \t]*(?:\r\n|\n|\r)\s*)$")
_ITEM = re.compile(rb"^(?:@|kernel\b|fn\b)", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*$")
_CHOICE = re.compile(r"\s*\?\s*([^:?\n]+?)\s*:\s*([^:?\n]+)$")


def syntax_error(problem: Problem) -> Iterator[Fix]:
    yield from _said(problem)
    yield from _other_spellings(problem)
    yield from _missing(problem)
    yield from _surplus(problem)


def _said(problem: Problem) -> Iterator[Fix]:
    """What the checker's own words ask for."""
    text, message = problem.snapshot.text, problem.message
    if problem.written == "else" and (broken := _BREAK.search(text, 0, problem.start)) is not None:
        yield from fix("Put `else` on the line of the `}`", Change(broken.start(1), problem.start, " "), preferred=True)
    if message.startswith("`=` assigns"):
        yield from fix("Compare with `==`", problem.instead("=="), preferred=True)
    if message.startswith("`range` takes") and problem.help:
        yield from fix("Count from 0", Change(problem.start + 1, problem.start + 1, "0, "), preferred=True)
    if message == "a comment is `// ...`, to the end of the line":
        body = problem.written.removeprefix("/*").removesuffix("*/").strip()
        indent = problem.indent(problem.start)
        lines = [f"// {line.strip()}".rstrip() for line in body.splitlines() or [""]]
        yield from fix("Write it as `//`", problem.instead(f"{problem.newline}{indent}".join(lines)), preferred=True)
    if message.startswith("expected a line end or `;`"):
        yield from fix(
            "Start a new line",
            Change(_trimmed(text, problem.start), problem.start, problem.newline + problem.indent(problem.start)),
            preferred=problem.written in ("let", "var", "for", "while", "if", "break", "continue", "return"),
            guess=True,
        )
    if message == "this `{` is never closed":
        after = _ITEM.search(text, problem.end)
        end = len(text.rstrip()) if after is None else len(text[: after.start()].rstrip())
        yield from fix("Close the block", Change(end, end, f"{problem.newline}}}"), preferred=True, guess=True)
    if message.endswith(("needs a value", "needs a type or a value")):
        end = _line_end(problem)
        yield from fix("Give it the value 0", Change(end, end, " = 0"))


def _other_spellings(problem: Problem) -> Iterator[Fix]:
    """What C, CUDA, Triton or Python write for what Phobos has."""
    start = problem.snapshot.lines.starts[problem.snapshot.lines.position(problem.start).line]
    end = _line_end(problem)
    line = decoded(problem.snapshot.text[start:end])
    for pattern, replacement in elsewhere.SPELLINGS:
        for found in pattern.finditer(line):
            low = start + len(line[: found.start()].encode("utf-8", "surrogatepass"))
            high = low + len(found[0].encode("utf-8", "surrogatepass"))
            if low <= problem.end and problem.start <= high:
                text = found.expand(replacement)
                yield from fix(f"Write `{text.strip()}`", Change(low, high, text), preferred=True)
    if problem.message == "only a name or an indexed name can be assigned to":
        called = re.fullmatch(r"([A-Za-z_]\w*)\((.*)\)", problem.written)
        if called is not None:
            yield from fix(
                f"Index it: `{called[1]}[{called[2]}]`", problem.instead(f"{called[1]}[{called[2]}]"), preferred=True
            )
    if problem.written == "?":
        condition = re.search(r"=\s*(.+)$", decoded(problem.snapshot.text[start : problem.start]))
        branches = _CHOICE.match(decoded(problem.snapshot.text[problem.start : end]))
        if condition is not None and branches is not None:
            low = problem.start - len(condition[1].encode())
            text = f"where({condition[1].strip()}, {branches[1]}, {branches[2].strip()})"
            yield from fix(f"Write `{text}`", Change(low, end, text), preferred=True)
    word = _WORD.search(problem.snapshot.text, start, _trimmed(problem.snapshot.text, problem.start))
    if word is not None and not problem.snapshot.text[start : word.start()].strip():
        declared = decoded(word[0])
        type_ = elsewhere.TYPES.get(declared, declared if declared in SPELLED else "")
        name = re.match(rb"[A-Za-z_]\w*", problem.snapshot.text[problem.start :])
        if name is not None and (type_ or declared in ("auto", "const", "mut", "local")):
            keyword = "let" if declared == "const" else "var"
            annotation = f": {type_}" if type_ else ""
            text = f"{keyword} {decoded(name[0])}{annotation}"
            yield from fix(f"Write `{text}`", Change(word.start(), problem.start + name.end(), text), preferred=True)


def _missing(problem: Problem) -> Iterator[Fix]:
    wanted = _WANTED.match(problem.message)
    if wanted is None:
        return
    token = wanted[1]
    text = problem.snapshot.text
    space = " " if token in ("=", "in", "{") and not text[problem.start - 1 : problem.start].isspace() else ""
    after = " " if text[problem.start : problem.start + 1].strip() and token not in (")", "]") else ""
    yield from fix(
        f"Insert `{token}`", Change(problem.start, problem.start, f"{space}{token}{after}"), preferred=True, guess=True
    )
    if token == "{":
        end = _line_end(problem)
        yield from fix("Give it an empty block", Change(problem.start, problem.start, f"{space}{{}}"))
        if text[end:]:
            yield from _enclosed(problem, space)


def _enclosed(problem: Problem, space: str) -> Iterator[Fix]:
    """The next line as the block."""
    lines = problem.snapshot.lines
    line = lines.position(problem.start).line + 1
    if line < len(lines.starts) and lines.line(line).strip():
        end = lines.starts[line] + len(lines.line(line))
        yield from fix(
            "Make the next line its block",
            Change(problem.start, problem.start, f"{space}{{"),
            Change(end, end, f"{problem.newline}{problem.indent(problem.start)}}}"),
        )


def _surplus(problem: Problem) -> Iterator[Fix]:
    if problem.start < problem.end and "\n" not in problem.written:
        yield from fix(f"Remove `{problem.written}`", problem.cut(problem.start, problem.end))


def reserved_name(problem: Problem) -> Iterator[Fix]:
    """Another name, wherever the word is meant as one."""
    word = problem.written
    base = "kernel1" if not word.strip("_") else f"{word}_"
    name = problem.fresh(base)
    places = [(problem.start, problem.end)]
    if problem.placed is not None and word == "ctx":
        # Read as a name, `ctx` has no field.
        text = problem.snapshot.text
        end = problem.placed.offset + problem.placed.item.span.end
        places += [
            found.span()
            for found in re.finditer(rb"(?<!\w)ctx(?!\s*\.|\w)", text[:end])
            if found.start() > problem.start
        ]
    yield from fix(f"Name it `{name}`", *(Change(*place, name) for place in places), preferred=True, guess=True)


def literal_too_large(problem: Problem) -> Iterator[Fix]:
    largest = "1.7976931348623157e308" if re.search(r"[.eE]", problem.written) else str(MAX_INT)
    yield from fix(f"Use the largest, {largest}", problem.instead(largest))


def nesting_too_deep(problem: Problem) -> Iterator[Fix]:
    """Parentheses around parentheses, taken off: `((e))` is `(e)`."""
    lines, text = problem.snapshot.lines, problem.snapshot.text
    begin = lines.starts[lines.position(problem.start).line]
    pairs = {}
    opened: list[int] = []
    for found in re.finditer(rb"[()]", text[begin:]):
        at = begin + found.start()
        if found[0] == b"(":
            opened.append(at)
        elif opened:
            pairs[opened.pop()] = at
        if not opened and at >= problem.end - 1:
            break
    doubled = [(low, high) for low, high in pairs.items() if pairs.get(low + 1) == high - 1]
    changes = [Change(at, at + 1, "") for pair in doubled for at in pair]
    if changes:
        yield Fix("Remove the doubled parentheses", tuple(changes), preferred=True)


def no_kernels(problem: Problem) -> Iterator[Fix]:
    end = len(problem.snapshot.text)
    gap = problem.newline if problem.snapshot.text.strip() else ""
    nl = problem.newline
    text = f"kernel example(A: tensor<f32>[N]) {{{nl}  let row = ctx.block.x{nl}  A[row] = A[row] * 2.0{nl}}}{nl}"
    yield from fix("Write a kernel", Change(end, end, gap + text))


def _line_end(problem: Problem) -> int:
    lines = problem.snapshot.lines
    number = lines.position(problem.start).line
    line = lines.line(number).partition(b"//")[0].rstrip()
    return max(lines.starts[number] + len(line), problem.start)


def _trimmed(text: bytes, end: int) -> int:
    """The end of what stands before an offset, white space left out."""
    return len(text[:end].rstrip(b" \t"))
