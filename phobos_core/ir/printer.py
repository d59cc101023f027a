"""Tile IR as text, for people, `--emit ir` and filecheck. `parser.py` reads the same form back.

    kernel @scale target=sm_80 threads=256 index=64 divisors={N: 4} (%X: mem<f32>[?x64, global] as [N, 64],
        %X.t: token, %N: index) {
      %0 = const {value = 0} : index
      %1 = view %X, %0, %0, %N {bounds = [upper, none]} : view<f32>[64x64, global] @4
      ...
    }

`as` gives a tensor's dimensions; `@4` is the source line; regions follow in braces with their arguments in
parentheses. The header has those fields of the kernel that are not at their defaults, but not what passes record for
the report (tiles, decisions, requirements, notes).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from phobos_core.ir.module import Block, Kernel, Op, Value

# Kernel fields in the header: the word that stands for each.
HEADER = {
    "target": "target",
    "threads": "threads",
    "index": "index_bits",
    "min_blocks": "min_blocks",
    "max_registers": "max_registers",
    "config": "config",
    "dims": "dims",
    "divisors": "divisors",
    "assumed": "assumed",
    "pipeline": "pipeline",
    "padstage": "padstage",
    "dynamic_shared": "dynamic_shared",
    "persistent": "persistent",
    "line": "line",
    "shared": "shared_bytes",
    "shared_without_reuse": "shared_bytes_without_reuse",
}

# Words that an attribute's text may not be without quotes, since they read as another value.
WORDS = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def print_kernel(kernel: Kernel) -> str:
    names = _Names()
    fields = {word: getattr(kernel, name) for word, name in HEADER.items()}
    header = " ".join(f"{word}={_attr(value)}" for word, value in fields.items() if value)
    dims = {p.value: p.dims for p in kernel.params if p.kind == "tensor"}
    args = ", ".join(
        f"{names.of(v)}: {v.type}" + (f" as {_attr(dims[v])}" if v in dims else "") for v in kernel.body.args
    )
    lines = [f"kernel @{kernel.name} {header} ({args}) {{"]
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
            return value if value.replace(".", "_").isidentifier() and value not in WORDS else json.dumps(value)
        case tuple() | frozenset():
            items = sorted(value) if isinstance(value, frozenset) else value
            return "[" + ", ".join(_attr(v) for v in items) + "]"
        case Mapping():
            return "{" + ", ".join(f"{k}: {_attr(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)
