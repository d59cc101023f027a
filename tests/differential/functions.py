"""Statement functions: some statements of a kernel, moved to a function and called from where they stood.

Functions are spliced in like macros, so a kernel and the same kernel with a part of it moved out mean the same,
whatever the names: parameters and the body's own names are chosen to be those of other things at the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.differential.program import Program

DECLARED = re.compile(r"\b(?:let|var|for(?:<unroll \d+>)?) (\w+)")


def renamed(lines: list[str], names: dict[str, str]) -> list[str]:
    pattern = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, names))})\b") if names else None
    return [pattern.sub(lambda m: names[m[1]], line) for line in lines] if pattern else lines


def mentions(lines: list[str], name: str) -> bool:
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", line) for line in lines)


def outlined(p: Program, statements: Callable[[Program], None]) -> None:
    """What `statements` emits, as a function with some of the names it takes from around as parameters."""
    start, marks, may_return = len(p.lines), list(p.marks), p.may_return
    before = dict(p.uses)
    p.may_return = False
    p.inlined += 1
    with p.scope():
        statements(p)
    p.inlined -= 1
    p.may_return = may_return
    body, p.lines, p.marks = p.lines[start:], p.lines[:start], marks
    around = [q.name for q in [*p.places, *p.inputs]] + [s.text for s in p.scalars if s.text.isidentifier()]
    used = [name for name in around if mentions(body, name)]
    free = [name for name in around if name not in used]
    own = sorted(set(DECLARED.findall("\n".join(body))))
    arguments = [name for name in used if p.chance()][:4]
    # Names of other things at the call, which the function's own must never meet.
    others = [*free, *arguments]
    names: dict[str, str] = {}
    for name in [*arguments, *own]:
        taken = {*names.values()}
        choices = [each for each in others if each not in taken and each not in own]
        if name in arguments or (choices and p.chance(3)):
            clash = p.pick(choices) if choices and p.chance() else p.fresh("p")
            names[name] = clash
    # A name that is not passed still means what it means at the call.
    kept = set(used) - set(arguments)
    names = {name: new for name, new in names.items() if new not in kept}
    arguments = [name for name in arguments if name in names]
    function = p.fresh("body")
    lines = [line.removeprefix("  " * (p.depth - 1)) for line in renamed(body, names)]
    head = f"fn {function}({', '.join(names[name] for name in arguments)}) {{"
    p.functions.append("\n".join([head, *lines, "}"]))
    call = f"{function}({', '.join(arguments)})"
    p.emit(call)
    if p.uses == before == {} and p.chance(4):
        p.emit(call)
