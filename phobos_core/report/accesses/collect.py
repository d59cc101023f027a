"""From a kernel and its PTX to what is told of its accesses to memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from phobos_core.ir.module import Kernel, Param
from phobos_core.language.targets import LANES
from phobos_core.report.accesses.code import read
from phobos_core.report.accesses.context import Context
from phobos_core.report.accesses.forms import Atom, Form, known, one, simplest
from phobos_core.report.accesses.lanes import SECTOR
from phobos_core.report.accesses.measure import Measured, Measurer, Span, over
from phobos_core.report.accesses.model import BankUse, MemoryAccess, SectorUse
from phobos_core.report.accesses.sites import sites
from phobos_core.report.accesses.uses import Use, Uses

# Allocators start a tensor at a multiple of this at least, though its parameter promises 16 bytes only.
_TENSOR_ALIGNMENT = 256


def memory_accesses(kernel: Kernel, ptx: str) -> tuple[MemoryAccess, ...]:
    """By source line, and then in the order of the PTX."""
    uses = Uses(kernel)
    found: dict[tuple[object, ...], list[MemoryAccess]] = {}
    for access in _told(_measurer(kernel, ptx), uses):
        key = (access.line, access.name, access.kind, access.space, access.bytes, access.unknown)
        found.setdefault(key, []).append(access)
    return tuple(sorted((_joined(alike) for alike in found.values()), key=lambda a: a.line or 0))


def measure(kernel: Kernel, ptx: str) -> list[Measured]:
    """Each access that an instruction makes, in the order of the PTX."""
    return list(_measured(_measurer(kernel, ptx)))


def _measurer(kernel: Kernel, ptx: str) -> Measurer:
    return Measurer(Context(read(ptx), _given(kernel)), kernel.threads)


def _measured(measurer: Measurer) -> Iterator[Measured]:
    for site in sites(measurer.code):
        found = measurer.measure(site)
        if found is not None:
            yield found


def _told(measurer: Measurer, uses: Uses) -> Iterator[MemoryAccess]:
    """Two of an access that is made for two uses by different threads."""
    for measured in _measured(measurer):
        site = measured.site
        tensors = {atom.name for atom in measured.atoms if atom.kind == "tensor"}
        parts = uses.parts(site.kind, site.space, measured.reach, tensors)
        for part in parts:
            found = measurer.measure(replace(site, only=part.threads))
            if found is not None:
                yield _access(found, uses, [part.use], part.use.line)
        if not parts:
            at = measured.reach[0] if measured.reach is not None else None
            tensor = next(iter(tensors), None)
            matching = uses.find(site.at.line, site.kind, site.space, at, tensor)
            yield _access(measured, uses, matching, site.at.line, tensor)


def _given(kernel: Kernel) -> dict[str, Form]:
    """The values that the code is given, by their names in the PTX."""
    threads = tuple(range(kernel.threads))
    forms = {f"{kernel.name}_shared": known(0), "%laneid": known(simplest(tuple(t % LANES for t in threads)))}
    for number, param in enumerate(kernel.params):
        kind: Literal["tensor", "given"] = "tensor" if param.kind == "tensor" else "given"
        forms[f"{kernel.name}_param_{number}"] = one(Atom(kind, param.name), _multiple(kernel, param))
    for axis in "xyz":
        forms[f"%ctaid.{axis}"] = one(Atom("given", f"ctx.block.{axis}"))
        forms[f"%nctaid.{axis}"] = one(Atom("given", f"ctx.blocks.{axis}"))
        forms[f"%tid.{axis}"] = known(simplest(threads) if axis == "x" else 0)
        forms[f"%ntid.{axis}"] = known(kernel.threads if axis == "x" else 1)
    return forms


def _multiple(kernel: Kernel, param: Param) -> int:
    if param.kind == "tensor":
        return _TENSOR_ALIGNMENT
    assumed = param.name in kernel.assumed and not any(r.text.startswith(f"{param.name} % ") for r in kernel.requires)
    return kernel.divisors.get(param.name, 1) if param.kind == "dim" and not assumed else 1


def _access(
    measured: Measured, uses: Uses, matching: Sequence[Use], line: int | None, tensor: str | None = None
) -> MemoryAccess:
    site, banks, touched = measured.site, measured.banks, measured.sectors
    name = matching[0].name if matching else tensor
    return MemoryAccess(
        line=line,
        name=name,
        kind=site.kind,
        space=site.space,
        dtype=str(matching[0].dtype) if matching else None,
        bytes=site.size,
        instructions=1,
        lanes=measured.lanes,
        masked=measured.masked,
        why_not_wider=next((why for use in matching if (why := uses.why(use, site.size)) is not None), None),
        banks=BankUse(banks.phases, banks.passes, banks.degree) if banks else None,
        sectors=_sectors(touched.bytes, touched.touched) if touched else None,
        depends_on=measured.depends_on if _varies(measured) else (),
        sampled=measured.sampled or measured.apart,
        unknown=measured.unknown,
    )


def _varies(measured: Measured) -> bool:
    spans = [measured.sectors.touched] if measured.sectors else []
    spans += [measured.banks.degree, measured.banks.passes] if measured.banks else []
    return any(low != high for low, high in spans)


def _sectors(bytes: int, touched: Span) -> SectorUse:
    return SectorUse(bytes, -(-bytes // SECTOR), touched, bytes / (touched[1] * SECTOR))


def _joined(alike: Sequence[MemoryAccess]) -> MemoryAccess:
    """Accesses of one line as one."""
    banks = [each.banks for each in alike if each.banks is not None]
    touched = [each.sectors for each in alike if each.sectors is not None]
    return replace(
        alike[0],
        instructions=len(alike),
        lanes=max(each.lanes for each in alike),
        masked=any(each.masked for each in alike),
        sampled=any(each.sampled for each in alike),
        banks=BankUse(
            sum(b.phases for b in banks),
            (sum(b.passes[0] for b in banks), sum(b.passes[1] for b in banks)),
            over([b.degree for b in banks]),
        )
        if banks
        else None,
        sectors=_sectors(max(s.bytes for s in touched), over([s.sectors for s in touched])) if touched else None,
        depends_on=tuple(dict.fromkeys(name for each in alike for name in each.depends_on)),
    )
