"""Stores the operands of large contractions K by K, so that what a thread multiplies together lies side by side.

In: a kernel with its slices staged. Out: a tile [M, K] in shared memory that is filled from tensors and read by
nothing but contractions with large patches, which walk along its rows, is an allocation [K, M] that is filled with the
transposed value and read transposed. A thread then reads its rows 16 bytes at a time for one k, where it would read
several k of each row, and hold them until their turn. Each tile turned is a decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phobos_core.ir.builder import Builder
from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Decision, Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index, edit, indexed, with_attrs
from phobos_core.ir.tree import buffer_of, nodes, views_along
from phobos_core.ir.types import MemType
from phobos_core.language.targets import TARGETS
from phobos_core.passes.canonicalize import canonicalize
from phobos_core.passes.copies import can_be_pipelined
from phobos_core.passes.fitting import Pass, fits_after
from phobos_core.passes.materialize import name_of
from phobos_core.passes.promote import promote
from phobos_core.passes.thread_tiles import MOST_FETCHED, thread_tile, words_a_thread, words_of
from phobos_core.passes.turned import pitch_of
from phobos_core.passes.unroll import unroll

# What decides how much memory the tiles take.
_FOLLOWING: tuple[Pass, ...] = (unroll, canonicalize, promote)
# Sums of a thread beside which there is no room for several k of each row.
_LARGE = 32
# Registers of a thread for what it copies at once.
_MOST_COPIED = 32
# Elements of less are several to a bank, and storing them one by one takes long.
_LEAST_BYTES = 4


def k_major(kernel: Kernel) -> Kernel:
    """Padded where that fits: the copies then meet no bank twice and read whole sectors."""
    padded = _k_major(kernel, padded=True)
    if padded is kernel or fits_after(padded, _FOLLOWING):
        return padded
    unpadded = _k_major(kernel, padded=False)
    if fits_after(unpadded, _FOLLOWING):
        return unpadded
    return kernel if fits_after(kernel, _FOLLOWING) else padded


def _k_major(kernel: Kernel, *, padded: bool) -> Kernel:
    index = indexed(kernel.body)
    regions, vectors = Regions(kernel, index), Vectors(kernel, index)
    replaced: dict[Op, list[Op]] = {}
    decisions: list[Decision] = []
    for alloc in index.ops:
        dots = _readers(index, regions, alloc) if alloc.name == "alloc" else []
        if not dots or not all(_is_large(kernel, dot) for dot in dots) or not _is_small(kernel, index, alloc):
            continue
        (store,) = (use for use in _uses(index, alloc) if use.name == "store")
        run = vectors.widest(views_along(index, store.operands[1], 1), _shape(alloc)[1])
        replaced |= _turned(kernel, index, alloc, run.vector if padded else None)
        names = " and ".join(dict.fromkeys(f"`{name_of(dot)}` on line {dot.line}" for dot in dots))
        reason = f"a thread of {names} reads several of its rows together for each k"
        decisions.append(Decision(alloc.line, str(alloc.attrs["name"]), "stored transposed, k by k", reason))
    if not replaced:
        return kernel
    turned = replace(kernel, body=edit(kernel.body, replaced=replaced))
    return replace(turned, decisions=(*kernel.decisions, *decisions))


def _readers(index: Index, regions: Regions, alloc: Op) -> list[Op]:
    """The contractions that read a tile along K, if nothing else does and one store fills it from tensors."""
    mem = alloc.results[0].type
    assert isinstance(mem, MemType)
    users = index.used_by(alloc.results[0])
    if len(mem.shape) != 2 or mem.element.bytes < _LEAST_BYTES or not all(user.name == "view" for user in users):
        return []
    if not all(regions.whole_allocation(user.result) for user in users):
        return []
    stores = [use for use in _uses(index, alloc) if use.name == "store"]
    loads = [use for use in _uses(index, alloc) if use.name == "load"]
    if len(stores) != 1 or len(stores) + len(loads) != len(list(_uses(index, alloc))):
        return []
    if not _from_tensors(index, stores[0].operands[1]):
        return []
    dots = [dot for load in loads for dot in _walked_along(index, load.result)]
    return [] if None in dots else [dot for dot in dots if dot is not None]


def _uses(index: Index, alloc: Op) -> Iterator[Op]:
    for view in index.used_by(alloc.results[0]):
        yield from index.used_by(view.result)


def _from_tensors(index: Index, value: Value) -> bool:
    """Whether a value is made of slices of tensors, each along its rows."""
    tree = list(nodes(index, value))
    loads = [n for n in tree if n.op.name == "load"]
    own = all(n.axes[-1] == 1 and buffer_of(index, n.op.operands[0]) not in index.definition for n in loads)
    plain = not any(OPS[n.op.name].anchor or n.op.name in ("gather", "transpose") for n in tree)
    return bool(loads) and own and plain


def _walked_along(index: Index, value: Value) -> Iterator[Op | None]:
    """The contractions that walk along the rows of a value, None for every other reader."""
    for user in index.used_by(value):
        if user.name == "convert":
            yield from _walked_along(index, user.result)
        elif user.name == "dot" and (user.attrs["transposed"] or user.operands[1] is not value):
            yield user
        else:
            yield None


def _is_large(kernel: Kernel, dot: Op) -> bool:
    tm, tn = thread_tile(kernel, dot)
    return words_of(dot.result) * tm * tn >= _LARGE


def _is_small(kernel: Kernel, index: Index, alloc: Op) -> bool:
    """Whether a thread has registers for its part of a tile, which may be on its way there for a whole turn of a loop.
    What cp.async copies takes none, but it cannot transpose."""
    mem = alloc.results[0].type
    assert isinstance(mem, MemType)
    around = next(index.ancestors(alloc), None)
    ahead = around is not None and around.name == "for" and can_be_pipelined(kernel, around)
    words = words_a_thread(kernel, mem)
    return not TARGETS[kernel.target].has("cp_async") or words <= (MOST_FETCHED if ahead else _MOST_COPIED)


def _shape(alloc: Op) -> tuple[int, int]:
    mem = alloc.results[0].type
    assert isinstance(mem, MemType)
    rows, columns = mem.shape
    assert rows is not None
    assert columns is not None
    return rows, columns


def _turned(kernel: Kernel, index: Index, alloc: Op, run: int | None) -> dict[Op, list[Op]]:
    """The ops that stand for the allocation and its uses; padded for copies of `run` elements at a time."""
    old, token = alloc.results
    rows, columns = _shape(alloc)
    assert isinstance(old.type, MemType)
    mem = Value(MemType(old.type.element, (columns, rows), "shared"), old.hint)
    pitch = rows if run is None else pitch_of(kernel.threads, (columns, rows), run, old.type.element.bytes)
    padding = {"pitch": pitch} if pitch != rows else {}
    found = {alloc: [with_attrs(replace(alloc, results=(mem, token)), turned=True, **padding)]}
    for view in index.used_by(old):
        found[view] = []
        for use in index.used_by(view.result):
            build = Builder(use.line)
            whole = build.whole(mem)
            if use.name == "store":
                _, tile, before = use.operands
                build.append(replace(use, operands=(whole, build.transpose(tile), before)))
            else:
                loaded = build.load(whole, use.operands[1])
                build.append(Op("transpose", (loaded,), use.results, {}, (), use.line))
            found[use] = build.ops
    return found
