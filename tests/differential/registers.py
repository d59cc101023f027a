"""Random tiles under `@registers`: declared and updated in the kernel's own block, carried by loops, folded by rows."""

from __future__ import annotations

from tests.differential.declarations import declare, recap
from tests.differential.expressions import expression
from tests.differential.program import CAP, Place, Program, Value, clamped, is_float, literal, room


def in_registers(p: Program) -> None:
    shapes = [(r, c) for r in (1, 2, 4, 8, 16, 32) for c in (1, 4, 8, 16, 32, 12) if r * c <= 512]
    shapes = [s for s in shapes if s[0] * s[1] % p.threads == 0 and s[0] * s[1] <= 64 * p.threads]
    if p.depth > 1 or not shapes or p.inlined:
        return
    element, shape = p.pick(["f32", "i32", p.element()]), p.pick(shapes)
    tile = declare(p, element, shape, clamped(expression(p, element, shape, 0), element).text, "reg")
    p.places.remove(tile)
    p.extras.add(f"@registers {tile.name}")
    for _ in range(p.integer(0, 2)):
        update(p, tile)
    if p.chance():
        name = p.fresh("k")
        with p.block(f"for {name} in range(0, {p.integer(0, 4)}) {{"):
            p.integers.append(name)
            for _ in range(p.integer(1, 2)):
                update(p, tile)
    if p.chance() and (not is_float(element) or CAP * shape[1] < room(element)):
        fold = p.pick(["rowsum", "rowmax"])
        value = Value(f"{fold}({tile.name})", CAP * shape[1])
        declare(p, element, (shape[0], 1), clamped(value, element).text, "r")
    # From here on it is read only: an update under `if` or `while` is refused.
    p.places.append(Place(tile.name, element, shape, "tile", False))


def update(p: Program, tile: Place) -> None:
    value = clamped(expression(p, tile.element, tile.shape, p.integer(0, 2)), tile.element)
    if p.chance(3):
        p.emit(f"{tile.name} += {value.text}")
        recap(p, tile, 2 * CAP)
    else:
        scale = literal(p.integer(-1, 2), tile.element)
        scale = scale if "-" not in scale else f"({scale})"
        text = f"{tile.name} * {scale} + {value.text}"
        p.emit(f"{tile.name} = {clamped(Value(text, 3 * CAP), tile.element).text}")
