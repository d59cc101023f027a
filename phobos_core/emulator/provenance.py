"""Which pointer parameters a kernel may write through, from where its addresses come.

Reads of a parameter that nothing writes cannot race, so they need not be remembered. The answer is None when
some address cannot be traced to a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.emulator.ptx import (
    Address,
    Instruction,
    Kernel,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

_WRITES = frozenset({"st", "atom", "red"})


def _registers(operand: Operand) -> Iterator[str]:
    match operand:
        case Register(name):
            yield name
        case Not(register):
            yield register.name
        case Pair(first, second):
            yield first.name
            yield second.name
        case Vector(items):
            for item in items:
                yield from _registers(item)
        case Address(base=Register(name)):
            yield name
        case _:
            return


def _is_global_write(at: Instruction) -> bool:
    spaces = {word.partition("::")[0] for word in at.modifiers}
    return at.opcode in _WRITES and not spaces & {"shared", "local", "param"}


def written_parameters(kernel: Kernel) -> frozenset[str] | None:
    sources: dict[str, set[str]] = {}
    flows: list[tuple[list[str], list[str]]] = []
    for at in kernel.instructions:
        if not at.operands or at.opcode in _WRITES:
            continue
        targets = list(_registers(at.operands[0]))
        if at.opcode == "ld":
            origin = at.operands[1]
            if "param" in at.modifiers and isinstance(origin, Address) and isinstance(origin.base, Symbol):
                for target in targets:
                    sources.setdefault(target, set()).add(origin.base.name)
            continue
        flows.append((targets, [name for operand in at.operands[1:] for name in _registers(operand)]))
    changed = True
    while changed:
        changed = False
        for targets, origins in flows:
            found = set().union(*(sources.get(name, ()) for name in origins))
            for target in targets:
                known = sources.setdefault(target, set())
                if not found <= known:
                    known |= found
                    changed = True
    written: set[str] = set()
    for at in kernel.instructions:
        if _is_global_write(at):
            address = at.operands[0] if at.opcode in ("st", "red") else at.operands[1]
            reached = set().union(*(sources.get(name, ()) for name in _registers(address)))
            if not reached:
                return None
            written |= reached
    return frozenset(written)
