"""`phobos fmt`: sources written in the one style. A file with a syntax error is left as it is, and reported."""

from __future__ import annotations

import codecs
import difflib
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from phobos_core.cli import findings as found
from phobos_core.cli.files import find_sources, report, source_of, status_with, write
from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output
from phobos_core.report.source import Finding, Source
from phobos_core.syntax import parse
from phobos_core.syntax.formatter import format_file

STANDARD_INPUT = "-"


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    if STANDARD_INPUT in arguments.paths:
        if len(arguments.paths) > 1:
            raise CommandError("standard input (`-`) is formatted alone")
        return _standard_input(arguments, output, messages)
    sources = find_sources(arguments.paths)
    report(sources, messages)
    changed = broken = 0
    for each in sources.files:
        result = _formatted(each.source, messages)
        if result is None:
            broken += 1
        elif result != each.source.text:
            changed += 1
            if arguments.diff:
                _show(_difference(each.source, result), output)
            elif arguments.check:
                output.line(f"would reformat {each.source.name}")
            else:
                _replace(Path(each.source.name), result)
    _summary(len(sources.files), changed, broken, arguments, output)
    looked = arguments.check or arguments.diff
    return status_with(sources, Status.FOUND if broken or (looked and changed) else Status.OK)


def _standard_input(arguments: Namespace, output: Output, messages: Output) -> Status:
    source = source_of("<stdin>", sys.stdin.buffer.read())
    result = _formatted(source, messages)
    if result is None:
        return Status.FOUND
    if arguments.diff:
        _show(_difference(source, result), output)
    elif not arguments.check:
        output.text(result.decode("utf-8"))
    return Status.FOUND if (arguments.check or arguments.diff) and result != source.text else Status.OK


def _formatted(source: Source, messages: Output) -> bytes | None:
    """None where the text has a syntax error, which is shown."""
    file = parse(source.text)
    errors = [Finding(source, each) for each in file.diagnostics if each.severity == "error"]
    if errors:
        found.show(errors, "text", messages)
        return None
    return format_file(file)


def _replace(path: Path, text: bytes) -> None:
    marked = path.read_bytes().startswith(codecs.BOM_UTF8)
    write(path, (codecs.BOM_UTF8 if marked else b"") + text)


def _difference(source: Source, result: bytes) -> Iterator[str]:
    before, after = (text.decode("utf-8").splitlines() for text in (source.text, result))
    return difflib.unified_diff(before, after, source.name, source.name, lineterm="")


def _show(lines: Iterator[str], output: Output) -> None:
    for line in lines:
        kind = "error" if line.startswith("-") else "note" if line.startswith("+") else None
        output.line(output.style(kind, line) if kind else line)


def _summary(files: int, changed: int, broken: int, arguments: Namespace, output: Output) -> None:
    if arguments.diff:
        return
    parts = []
    if changed:
        parts.append(f"{_files(changed)} {'would be reformatted' if arguments.check else 'reformatted'}")
    if broken:
        parts.append(f"{_files(broken)} not formatted, with a syntax error")
    if files - changed - broken:
        parts.append(f"{_files(files - changed - broken)} already in style")
    output.line(", ".join(parts) or "nothing to format")


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
