"""What accesses to memory cost, for people: one row for each in the listing, two for all of them in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phobos_core.report.accesses.model import WIDEST, MemoryAccess

_VERBS = {"load": "loads", "store": "stores", "copy": "copies", "atomic": "updates"}


def described(access: MemoryAccess) -> str:
    """``loads `b` (shared f32), 12 x 8 bytes a lane: no bank conflicts; no wider: a thread computes ..``"""
    count = f"{access.instructions} x " if access.instructions > 1 else ""
    type = f" {access.dtype}" if access.dtype else ""
    name = f"`{access.name}` " if access.name else ""
    parts = [
        f"{_VERBS[access.kind]} {name}({access.space}{type}), {count}{_bytes(access.bytes)} a lane"
        f"{f' of {access.lanes}' if access.lanes < 32 else ''}: {_cost(access)}"
    ]
    if access.why_not_wider:
        parts.append(f"no wider: {access.why_not_wider}")
    return "; ".join(parts)


def _cost(access: MemoryAccess) -> str:
    by = f", by {' and '.join(access.depends_on)}" if access.depends_on else ""
    if access.banks is not None:
        if access.banks.degree == (1, 1):
            return "no bank conflicts"
        phases = "1 phase" if access.banks.phases == 1 else f"{access.banks.phases} phases"
        passes, degree = _span(access.banks.passes), _span(access.banks.degree)
        return f"{passes} passes over the banks for {phases}, at most {degree} for one{by}"
    if access.sectors is not None:
        return f"{_bytes(access.sectors.bytes)} of a warp in {_sectors(access.sectors.sectors)}{by}"
    return access.unknown or "not known"


def summary(accesses: Sequence[MemoryAccess]) -> Iterator[str]:
    """How many there are of each space, and the one that wastes most."""
    for space, worst in (("shared", _worst_banks), ("global", _worst_sectors)):
        found = [each for each in accesses if each.space == space]
        if not found:
            continue
        count = sum(each.instructions for each in found)
        narrow = sum(each.instructions for each in found if each.bytes < WIDEST)
        counted = f"{space}: {count} access{'' if count == 1 else 'es'}, {narrow or 'none'} of less than {WIDEST} bytes"
        yield "; ".join([counted, *worst(found), *_unknown(found)])


def _worst_banks(accesses: Sequence[MemoryAccess]) -> Iterator[str]:
    known = [(each, each.banks) for each in accesses if each.banks is not None]
    if not known:
        return
    worst, banks = max(known, key=lambda pair: (pair[1].degree[1], pair[1].passes[1] - pair[1].phases))
    if banks.degree[1] == 1:
        yield "no bank conflicts"
    else:
        yield f"bank conflicts, at worst {_span(banks.degree)} passes for one: {_place(worst)}"


def _worst_sectors(accesses: Sequence[MemoryAccess]) -> Iterator[str]:
    known = [(each, each.sectors) for each in accesses if each.sectors is not None]
    if not known:
        return
    worst, sectors = max(known, key=lambda pair: pair[1].sectors[1] - pair[1].needed)
    if sectors.sectors[1] == sectors.needed:
        yield "no sector more than the bytes need"
    else:
        used = f"{_bytes(sectors.bytes)} of a warp in {_sectors(sectors.sectors)}"
        yield f"at worst {used}: {_place(worst)}"


def _unknown(accesses: Sequence[MemoryAccess]) -> Iterator[str]:
    names = dict.fromkeys(_place(each) for each in accesses if each.unknown)
    if names:
        yield f"known only with the data: {', '.join(names)}"


def _place(access: MemoryAccess) -> str:
    name = f" `{access.name}`" if access.name else ""
    return f"line {access.line or '?'} {_VERBS[access.kind]}{name}"


def _sectors(span: tuple[int, int]) -> str:
    return "1 sector" if span == (1, 1) else f"{_span(span)} sectors"


def _span(span: tuple[int, int]) -> str:
    low, high = span
    return str(low) if low == high else f"{low} to {high}"


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
