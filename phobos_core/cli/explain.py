"""`phobos explain CODE`: the rule behind a diagnostic, a source that breaks it and one that keeps it."""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Iterator

from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output
from phobos_core.language.codes import CODES, FAMILIES, Code
from phobos_core.report.style import Style


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    if arguments.code is None:
        for line in _list(output.style):
            output.line(line)
        return Status.OK
    # As it stands in a message, `error[code]`, it is accepted too.
    name = arguments.code.strip().rpartition("[")[2].rstrip("]:").lower()
    if name not in CODES:
        near = difflib.get_close_matches(name, CODES, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`phobos explain` alone lists them all"
        raise CommandError(f"no diagnostic has the code `{name}`; {hint}")
    for line in _explanation(CODES[name], output.style):
        output.line(line)
    return Status.OK


def _explanation(code: Code, style: Style) -> Iterator[str]:
    yield f"{style(code.severity, f'{code.severity}[{code.code}]')}{style('strong', f': {code.title}')}"
    yield ""
    yield code.rule
    yield f"From the spec's section {code.section}; `phobos {code.stage.value}` finds it."
    options = f" with {' '.join(code.options)}" if code.options else ""
    for head, text in ((f"Wrong{options}", code.wrong), ("Right", code.right)):
        if text:
            yield ""
            yield style("strong", f"{head}:")
            yield ""
            yield from (f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _list(style: Style) -> Iterator[str]:
    width = max(map(len, CODES))
    for number, (family, codes) in enumerate(FAMILIES.items()):
        if number:
            yield ""
        yield style("strong", family)
        yield from (f"  {code.code:<{width}}  {code.title}" for code in codes)
