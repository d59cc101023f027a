"""Integer arithmetic on operands, folded where both sides are constants, and the coordinates of elements in a tile.

A coordinate is base + offset: a 32-bit SSA value that all elements of an unrolled sweep share, and a constant of its
own. So the elements' addresses differ by constants, which become immediate offsets of their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

from phobos_core.codegen.context import Context
from phobos_core.ir.integers import Linear
from phobos_core.ir.module import Value

# The type of coordinates, with the flags that their limits prove: no sum or product of them wraps.
COORD = "nuw nsw i32"


def add(cg: Context, type: str, a: str, b: str) -> str:
    """`type` may begin with flags."""
    if a == "0":
        return b
    if b == "0":
        return a
    if a[0] != "%" and b[0] != "%":
        return str(int(a) + int(b))
    return cg.writer.pure(f"add {type} {a}, {b}")


def sub(cg: Context, type: str, a: str, b: str) -> str:
    if b[0] != "%":
        return add(cg, type, a, str(-int(b)))
    return cg.writer.pure(f"sub {type} {a}, {b}")


def mul(cg: Context, type: str, a: str, b: str) -> str:
    if a[0] != "%":
        a, b = b, a
    if b[0] == "%":
        return cg.writer.pure(f"mul {type} {a}, {b}")
    factor = int(b)
    if a[0] != "%":
        return str(int(a) * factor)
    if factor == 0:
        return "0"
    if factor == 1:
        return a
    if factor & (factor - 1) == 0 and factor > 0:
        return cg.writer.pure(f"shl {type} {a}, {factor.bit_length() - 1}")
    return cg.writer.pure(f"mul {type} {a}, {factor}")


def extremum(cg: Context, name: str, type: str, a: str, b: str) -> str:
    """`smin` or `smax`."""
    if a[0] != "%" and b[0] != "%":
        return str((min if name == "smin" else max)(int(a), int(b)))
    return cg.writer.call(type, f"llvm.{name}.{type}", (type, a), (type, b))


def resized(cg: Context, operand: str, source: str, target: str, extend: str = "sext") -> str:
    """A 32- or 64-bit integer as the other width."""
    if source == target or operand[0] != "%":
        return operand
    return cg.writer.pure(f"{'trunc' if target == 'i32' else extend} {source} {operand} to {target}")


def both(cg: Context, a: str, b: str) -> str:
    """The conjunction of two conditions."""
    if a == "true":
        return b
    if b == "true" or a == b:
        return a
    return cg.writer.pure(f"and i1 {a}, {b}")


def chosen(cg: Context, type: str, condition: str, a: str, b: str) -> str:
    """`a` where the condition holds, `b` elsewhere."""
    return a if a == b else cg.writer.pure(f"select i1 {condition}, {type} {a}, {type} {b}")


def less(cg: Context, a: str, b: int) -> str:
    """a < b as 32-bit numbers that are never negative."""
    if a[0] != "%":
        return "true" if int(a) < b else "false"
    return cg.writer.pure(f"icmp ult i32 {a}, {b}")


def linear(cg: Context, form: Linear, given: Mapping[Value, str]) -> str:
    """The value of a form as an index operand, atoms that are `given` in place of what they are."""
    total = str(form.constant)
    for atom, coefficient in form.terms.items():
        value = given.get(atom) or cg.scalars[atom]
        total = add(cg, cg.index, mul(cg, cg.index, value, str(coefficient)), total)
    return total


class Coord(NamedTuple):
    """`base` (None for 0) is a multiple of `multiple` and less than `limit`; neither it nor the sum is negative."""

    base: str | None
    offset: int
    limit: int = 1 << 31
    multiple: int = 1

    def plus(self, offset: int) -> Coord:
        return self._replace(offset=self.offset + offset)


ZERO = Coord(None, 0)


def fixed(offset: int) -> Coord:
    return Coord(None, offset)


def thread(cg: Context) -> Coord:
    """The thread's number in the CTA."""
    return Coord(cg.thread, 0, cg.kernel.threads) if cg.kernel.threads > 1 else ZERO


def operand(cg: Context, coord: Coord) -> str:
    """The coordinate as one i32 operand."""
    if coord.base is None:
        return str(coord.offset)
    return add(cg, COORD, coord.base, str(coord.offset))


def scaled(cg: Context, coord: Coord, factor: int) -> Coord:
    if coord.base is None:
        return Coord(None, coord.offset * factor)
    base = mul(cg, COORD, coord.base, str(factor))
    return Coord(base, coord.offset * factor, coord.limit * factor, coord.multiple * factor)


def total(cg: Context, a: Coord, b: Coord) -> Coord:
    if a.base is None:
        return b.plus(a.offset)
    if b.base is None:
        return a.plus(b.offset)
    # Each base is at most limit - 1.
    limit = a.limit + b.limit - 1
    return Coord(add(cg, COORD, a.base, b.base), a.offset + b.offset, limit, gcd(a.multiple, b.multiple))


def divided(cg: Context, coord: Coord, by: int) -> tuple[Coord, Coord]:
    """Quotient and remainder by a positive constant."""
    base, offset = coord.base, coord.offset
    if base is None:
        return fixed(offset // by), fixed(offset % by)
    if by == 1:
        return coord, ZERO
    if coord.multiple % by == 0:
        quotient = _quotient(cg, base, by)
        limit = (coord.limit + by - 1) // by
        return Coord(quotient, offset // by, limit, coord.multiple // by), fixed(offset % by)
    if coord.limit - 1 + offset % by < by:
        return fixed(offset // by), Coord(base, offset % by, coord.limit, coord.multiple)
    if offset % by == 0:
        quotient = _quotient(cg, base, by)
        rest = cg.writer.pure(f"urem i32 {base}, {by}")
        return Coord(quotient, offset // by, (coord.limit + by - 1) // by), Coord(rest, 0, min(by, coord.limit))
    whole = add(cg, COORD, base, str(offset))
    return divided(cg, Coord(whole, 0, coord.limit + offset), by)


def _quotient(cg: Context, base: str, by: int) -> str:
    quotient = cg.writer.pure(f"udiv i32 {base}, {by}")
    cg.quotients[quotient] = base, by
    return quotient


def masked_multiple(cg: Context, base: str, factor: int) -> str | None:
    """A quotient times a factor as a mask of what was divided; both are powers of two, the factor no less."""
    dividend, by = cg.quotients.get(base, ("", 0))
    if not dividend or by & (by - 1) or factor & (factor - 1) or factor < by:
        return None
    return cg.writer.pure(f"and i32 {mul(cg, 'i32', dividend, str(factor // by))}, {-factor}")


def unflattened(cg: Context, coord: Coord, shape: tuple[int, ...]) -> tuple[Coord, ...]:
    """The row-major coordinates of element number `coord`, which is inside the shape."""
    found: list[Coord] = []
    for extent in reversed(shape[1:]):
        coord, rest = divided(cg, coord, extent)
        found.append(rest)
    return (*([coord] if shape else []), *reversed(found))


def clamped(cg: Context, coord: Coord, extent: int) -> tuple[Coord, str]:
    """The coordinate kept below the extent, and the condition under which it was."""
    if (0 if coord.base is None else coord.limit - 1) + coord.offset < extent:
        return coord, "true"
    position = operand(cg, coord)
    inside = less(cg, position, extent)
    if extent == 1:
        return ZERO, inside
    last = cg.writer.call("i32", "llvm.umin.i32", ("i32", position), ("i32", str(extent - 1)))
    return Coord(last, 0, extent), inside


def positions(cg: Context, coord: Coord, width: int) -> str:
    """The indices of a run that starts at a coordinate, as i32."""
    if width == 1:
        return operand(cg, coord)
    steps = ", ".join(f"i32 {coord.offset + i}" for i in range(width))
    if coord.base is None:
        return f"<{steps}>"
    return cg.writer.pure(f"add <{width} x i32> {cg.splat_typed(coord.base, 'i32', width)}, <{steps}>")
