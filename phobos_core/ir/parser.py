"""Reads the text that `printer.py` writes back to a kernel, so that a pass can be tested on IR written by hand.

In: the text. Out: a `Kernel`, whose values keep their printed names as hints. Text that is not of that form raises
`IrSyntaxError` with the line: the reader is an engineer, not a user of the language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from phobos_core.ir import schedule
from phobos_core.ir.module import Block, Kernel, Op, Param, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.printer import HEADER, WORDS
from phobos_core.ir.types import (
    TOKEN,
    Cyclic,
    Layout,
    MemType,
    Patches,
    Rows,
    RunType,
    TileType,
    TokenType,
    Type,
    ViewType,
    element_of,
)
from phobos_core.language.types import BOOL, INDEX, SPELLED, ScalarType

T = TypeVar("T")

_SKIP = re.compile(r"(\s|//[^\n]*)*")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_VALUE = re.compile(r"%([\w.]+)")
_INT = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(\d+(\.\d+)?([eE][+-]?\d+)?|inf\b|nan\b)")
_STRING = re.compile(r'"(\\.|[^"\\])*"')
_SHAPED = re.compile(
    r"(mem|view|tile|run)<(\w+)>\[([?\dx]*)(?:, (global|shared)|, (cyclic|patches|rows)<([\d, ]+)>)?\]"
)
_ATTRS = re.compile(r"\{\s*\w+ =")

_SCHEDULES: dict[str, Callable[..., schedule.Schedule | Patches | Rows]] = {
    c.__name__: c
    for c in (
        schedule.Sweep,
        schedule.PatchSweep,
        schedule.Contraction,
        schedule.RowSweep,
        schedule.RowFold,
        schedule.RowReduction,
        schedule.ColumnScan,
        Patches,
        Rows,
    )
}
_LAYOUTS: dict[str, Callable[..., Layout]] = {"cyclic": Cyclic, "patches": Patches, "rows": Rows}
_SCALARS: dict[str, ScalarType] = {**SPELLED, BOOL.name: BOOL, INDEX.name: INDEX}


class IrSyntaxError(ValueError):
    """The text is not printed IR."""


def parse_kernel(text: str) -> Kernel:
    return _Parser(text).kernel()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values: dict[str, Value] = {}

    # Text

    def error(self, expected: str) -> IrSyntaxError:
        line = self.text.count("\n", 0, self.at) + 1
        return IrSyntaxError(f"line {line}: expected {expected} at {self.text[self.at : self.at + 30]!r}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        skipped = _SKIP.match(self.text, self.at)
        assert skipped is not None
        self.at = skipped.end()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def need(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = self.match(pattern)
        if not found:
            raise self.error(expected)
        return found

    def accept(self, word: str) -> bool:
        return self.match(re.compile(re.escape(word))) is not None

    def expect(self, word: str) -> None:
        self.need(re.compile(re.escape(word)), repr(word))

    def items(self, close: str, item: Callable[[], T]) -> list[T]:
        """Comma-separated items up to `close`."""
        found: list[T] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(item())
        return found

    # Grammar

    def kernel(self) -> Kernel:
        self.expect("kernel")
        self.expect("@")
        name = self.need(_NAME, "the kernel's name").group()
        fields: dict[str, Any] = {
            "min_blocks": None, "max_registers": None, "config": {}, "dims": {}, "divisors": {}, "assumed": ()
        }  # fmt: skip
        while not self.accept("("):
            word = self.need(_NAME, "a header field or '('").group()
            if word not in HEADER:
                raise self.error(f"a header field, not {word!r}")
            self.expect("=")
            fields[HEADER[word]] = self.attr()
        fields["assumed"] = frozenset(fields["assumed"])
        params = self.items(")", self.param)
        self.expect("{")
        block = self.block([value for value, _ in params])
        return Kernel(name=name, params=_params(params), body=block, **fields)

    def param(self) -> tuple[Value, tuple[str | int, ...]]:
        value = self.define()
        return value, self.attr() if self.accept("as") else ()

    def define(self) -> Value:
        name = self.need(_VALUE, "a value").group(1)
        self.expect(":")
        return self.bind(name, self.type())

    def bind(self, name: str, type: Type) -> Value:
        if name in self.values:
            raise self.error(f"a new name, not %{name}")
        value = Value(type, "" if name.isdigit() else name)
        self.values[name] = value
        return value

    def use(self) -> Value:
        name = self.need(_VALUE, "a value").group(1)
        if name not in self.values:
            raise self.error(f"a defined value, not %{name}")
        return self.values[name]

    def block(self, args: list[Value]) -> Block:
        ops: list[Op] = []
        while not self.accept("}"):
            ops.append(self.op())
        return Block(tuple(args), tuple(ops))

    def op(self) -> Op:
        results = self.listed(lambda: self.need(_VALUE, "a value").group(1))
        if results:
            self.expect("=")
        name = self.need(_NAME, "an op").group()
        if name not in OPS:
            raise self.error(f"an op of the table, not {name!r}")
        operands = self.listed(self.use)
        attrs = self.attrs()
        types: list[Type] = []
        if results:
            self.expect(":")
            types = [self.type()]
            while self.accept(","):
                types.append(self.type())
        if len(types) != len(results):
            raise self.error(f"{len(results)} result types")
        line = int(self.need(_INT, "a line").group()) if self.accept("@") else 0
        # Regions see values from outside, not the op's own results: bind those last.
        regions = [self.region() for _ in range(OPS[name].regions)]
        values = [self.bind(n, t) for n, t in zip(results, types, strict=True)]
        return Op(name, tuple(operands), tuple(values), attrs, tuple(regions), line)

    def listed(self, item: Callable[[], T]) -> list[T]:
        """Values with commas between, none where no `%` follows."""
        found: list[T] = []
        while self.match(re.compile("(?=%)")):
            found.append(item())
            if not self.accept(","):
                break
        return found

    def region(self) -> Block:
        args = self.items(")", self.define) if self.accept("(") else []
        self.expect("{")
        return self.block(args)

    def attrs(self) -> dict[str, Any]:
        if not self.match(re.compile(f"(?={_ATTRS.pattern})")):
            return {}
        self.expect("{")
        return dict(self.items("}", self.keyed("=")))

    def keyed(self, separator: str) -> Callable[[], tuple[str, Any]]:
        def item() -> tuple[str, Any]:
            key = self.need(_NAME, "a name").group()
            self.expect(separator)
            return key, self.attr()

        return item

    def attr(self) -> Any:
        if self.accept("["):
            return tuple(self.items("]", self.attr))
        if self.accept("{"):
            return dict(self.items("}", self.keyed(":")))
        if found := self.match(_NUMBER):
            text = found.group()
            return int(text) if _INT.fullmatch(text) else float(text)
        if found := self.match(_STRING):
            return json.loads(found.group())
        word = self.need(_NAME, "an attribute value").group()
        if word in _SCHEDULES:
            self.expect("(")
            return _SCHEDULES[word](**dict(self.items(")", self.keyed("="))))
        # Python prints a schedule's own flags its own way.
        return {**WORDS, "True": True, "False": False}.get(word, word)

    def type(self) -> Type:
        if found := self.match(_SHAPED):
            kind, element_name, dims, space, layout, numbers = found.groups()
            element = self.scalar(element_name)
            shape = tuple(None if d == "?" else int(d) for d in dims.split("x") if d)
            static = tuple(d for d in shape if d is not None)
            match kind, space:
                case "mem", "global" | "shared":
                    return MemType(element, shape, space)
                case "view", "global" | "shared" if static == shape:
                    return ViewType(element, static, space)
                case "run", None if static == shape and len(static) == 1:
                    return RunType(element, *static)
                case "tile", None if static == shape:
                    held = _LAYOUTS[layout](*map(int, numbers.split(","))) if layout else None
                    return TileType(element, static, held)
                case _:
                    raise self.error("a type before")
        name = self.need(_NAME, "a type").group()
        return TOKEN if name == str(TOKEN) else self.scalar(name)

    def scalar(self, name: str) -> ScalarType:
        if name not in _SCALARS:
            raise self.error(f"a scalar type, not {name!r}")
        return _SCALARS[name]


def _params(args: list[tuple[Value, tuple[str | int, ...]]]) -> tuple[Param, ...]:
    """A tensor's token follows it; no source type spells `index`, so a parameter of that type is a dimension."""
    params: list[Param] = []
    tokens = iter([v for v, _ in args if isinstance(v.type, TokenType)])
    for value, dims in args:
        match value.type:
            case MemType():
                params.append(Param(value.hint, "tensor", value.type.element, dims, value, next(tokens)))
            case TokenType():
                pass
            case _:
                element = element_of(value.type)
                params.append(Param(value.hint, "dim" if element == INDEX else "scalar", element, (), value))
    return tuple(params)
