"""Tile IR as text, for people, `--emit ir` and filecheck. `parser.py` reads the same form back.

    kernel @scale target=sm_80 threads=256 index=64 (%X: mem<f32>[?x64, global], %X.t: token, %n: index) {
      %0 = const {value = 0} : index
      %1 = view %X, %0, %0, %n {bounds = [upper, none]} : view<f32>[64x64, global] @4
      ...
    }

`@4` is the source line; regions follow in braces with their arguments in parentheses.
"""

from __future__ import annotations

from typing import Any

from phobos_core.ir.module import Block, Kernel, Op, Value


def print_kernel(kernel: Kernel) -> str:
    names = _Names()
    header = f"kernel @{kernel.name} target={kernel.target} threads={kernel.threads} index={kernel.index_bits}"
    args = ", ".join(f"{names.of(v)}: {v.type}" for v in kernel.body.args)
    lines = [f"{header} ({args}) {{"]
    for op in kernel.body.ops:
        lines += _op(op, names, "  ")
    return "\n".join([*lines, "}"]) + "\n"


class _Names:
    """Gives each value a name: its hint where free, else a number."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._next = 0

    def of(self, value: Value) -> str:
        name = self._names.get(value)
        if name is None:
            name = self._fresh(value.hint)
            self._names[value] = name
            self._taken.add(name)
        return name

    def _fresh(self, hint: str) -> str:
        if not hint:
            self._next += 1
            return f"%{self._next - 1}"
        name, number = f"%{hint}", 1
        while name in self._taken:
            number += 1
            name = f"%{hint}.{number}"
        return name


def _op(op: Op, names: _Names, indent: str) -> list[str]:
    operands = ", ".join(names.of(v) for v in op.operands)
    results = ", ".join(names.of(v) for v in op.results)
    text = indent + (f"{results} = " if results else "") + op.name + (f" {operands}" if operands else "")
    if op.attrs:
        text += " {" + ", ".join(f"{k} = {_attr(v)}" for k, v in op.attrs.items()) + "}"
    if op.results:
        text += " : " + ", ".join(str(v.type) for v in op.results)
    if op.line:
        text += f" @{op.line}"
    lines = [text]
    for region in op.regions:
        lines[-1] += " " + _region_head(region, names)
        for inner in region.ops:
            lines += _op(inner, names, indent + "  ")
        lines.append(indent + "}")
    return lines


def _region_head(region: Block, names: _Names) -> str:
    args = ", ".join(f"{names.of(v)}: {v.type}" for v in region.args)
    return f"({args}) {{" if args else "{"


def _attr(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value if value.replace("_", "").replace(".", "").isalnum() else f'"{value}"'
        case tuple():
            return "[" + ", ".join(_attr(v) for v in value) + "]"
        case _:
            return str(value)
