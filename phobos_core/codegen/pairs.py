"""Two copies of which different threads have a run each, as one load and one store.

In: a store, or a load to registers, and the next one, which begins in the thread after its last. Out: one access whose
address is that of the one or of the other, chosen by the thread's number: where a loop moves both, before the loop.
"""

from __future__ import annotations

from operator import attrgetter

from phobos_core.codegen import access, index, memory
from phobos_core.codegen.address import either
from phobos_core.codegen.context import Context, Window
from phobos_core.codegen.memory import GLOBAL
from phobos_core.codegen.sweep import in_line, own_run, run_place
from phobos_core.ir.module import Op
from phobos_core.ir.pairs import spread

# What two memories have alike where one pointer may be into either.
_SAME = [attrgetter(name) for name in ("element", "space", "read_only", "stage_bytes")]


def paired(cg: Context, a: Op, b: Op) -> bool:
    """Writes both, if they can be one access."""
    its = spread(a)
    assert its is not None
    runs, _, vector = its
    if a.name == "load":
        loaded = _loaded(cg, a, b, runs, vector)
        if loaded is not None:
            cg.registers[a.result] = cg.registers[b.result] = [loaded]
        return loaded is not None
    lines = [in_line(cg, cg.windows[op.operands[0]]) for op in (a, b)]
    one, other = lines
    if one is None or other is None or not _alike(one, other):
        return False
    loaded = _value(cg, a, b, runs, vector)
    if loaded is None:
        return False
    place = (index.scaled(cg, own_run(cg, runs), vector),)
    pointer = either(cg, index.less(cg, cg.thread, runs), (one, place), (other, place))
    access.store(cg, one.memory, pointer, loaded, vector, _here(cg, runs))
    return True


def _value(cg: Context, a: Op, b: Op, runs: int, vector: int) -> str | None:
    """What a thread stores."""
    held = [cg.registers.get(op.operands[1]) for op in (a, b)]
    if held[0] is not None:
        return held[0][0] if held[0] == held[1] else None
    loads = [cg.ir.defining(op.operands[1], "load") for op in (a, b)]
    if loads[0] is None or loads[1] is None or held[1] is not None:
        return None
    return _loaded(cg, loads[0], loads[1], runs, vector)


def _loaded(cg: Context, a: Op, b: Op, runs: int, vector: int) -> str | None:
    """The run of a thread, of the one load or of the other."""
    one, other = (cg.windows[op.operands[0]] for op in (a, b))
    if a.operands[2:] != b.operands[2:] or not _alike(one, other) or one.memory.space != GLOBAL:
        return None
    first, own = index.less(cg, cg.thread, runs), own_run(cg, runs)
    places = [run_place(cg, window.shape, vector, index.ZERO, own) for window in (one, other)]
    valid = [memory.valid(cg, window, place) for window, place in zip((one, other), places, strict=True)]
    inside = index.chosen(cg, "i1", first, *valid)
    pointer = either(cg, first, (one, places[0]), (other, places[1]))
    asked = cg.scalars[a.operands[2]] if len(a.operands) > 2 else "true"
    condition = index.both(cg, asked, index.both(cg, inside, _here(cg, runs)))
    return access.load(cg, one.memory, pointer, vector, condition, zero=inside != "true")


def _here(cg: Context, runs: int) -> str:
    """Whether the thread has a run."""
    return index.less(cg, cg.thread, 2 * runs) if 2 * runs < cg.kernel.threads else "true"


def _alike(a: Window, b: Window) -> bool:
    return a.stage == b.stage and all(its(a.memory) == its(b.memory) for its in _SAME)
