"""PTX text in, a module of frozen data out.

The parser knows the grammar of PTX, not its instructions. Statements are cut by one regular expression and operand
texts are cached, because a kernel repeats the same few hundred operand texts.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass, field

from phobos_core.emulator.ptx import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Kernel,
    Module,
    Not,
    Operand,
    Pair,
    Parameter,
    PtxError,
    Register,
    Symbol,
    Variable,
    Vector,
)

SIZES = {"pred": 1} | {
    f"{kind}{bits}": bits // 8
    for kind in ("b", "u", "s", "f")
    for bits in (8, 16, 32, 64, 128)
    if kind != "f" or bits > 8
}

# What reading a number, a type or a name raises where the grammar wants something else.
_MISPLACED = (ValueError, IndexError, KeyError)

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.S)
_ITEM = re.compile(
    r"\s*(?:(?P<loc>\.loc\s[^\n]*)|(?P<line>\.(?:file|version|target|address_size)\s[^\n]*)|(?P<brace>[{}])"
    r"|(?P<label>[A-Za-z_$%][\w$]*):(?!:)|(?P<statement>[^;{}][^;]*);)"
)
_TOP = re.compile(
    r"\s*(?:(?P<line>\.(?:file|version|target|address_size|loc)\s[^\n]*)|(?P<section>\.section[^{]*\{[^}]*\})"
    r"|(?P<entry>(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(?:entry|func)\b)|(?P<statement>[^;]+);)"
)
_INSTRUCTION = re.compile(r"(?:@(!?)\s*([%\w$]+)\s+)?([A-Za-z][\w.:]*)\s*(.*)", re.S)
_OPERAND = re.compile(r"\([^)]*\)|\{[^}]*\}|\[[^\]]*\]|[^\s,][^,]*")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*(?:\.[xyzw])?")
_REGISTER_DECLARATION = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)", re.S)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<space>shared|global|const|local)\s+(?P<attributes>(?:\.[\w:]+(?:\s+\d+|\s*\([^)]*\))?\s+)*?)"
    r"(?:\.align\s+(?P<align>\d+)\s+)?(?:\.(?P<vector>v[24])\s+)?\.(?P<type>[busf]\d+)\s+(?P<name>[\w$%]+)\s*(?P<extents>(?:\[[^\]]*\]\s*)*)"
    r"(?:=\s*(?P<data>.*))?",
    re.S,
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)\s+(?P<pointer>\.ptr(?:\s+\.(?:global|shared|const|local))?(?:\s+\.align\s+\d+)?\s+)?"
    r"(?:\.align\s+\d+\s+)?(?P<name>[\w$%]+)\s*(?:\[(?P<extent>\d+)\])?"
)
_DIRECTIVE = re.compile(r"\.(\w+)\s*((?:\d+)(?:\s*,\s*\d+)*)?")


def parse_integer(text: str) -> int:
    text = text.rstrip("Uu")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    if digits[:2] in ("0b", "0B"):
        return sign * int(digits[2:], 2)
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return sign * int(digits, 8)
    return sign * int(digits)


def _parse_literal(text: str) -> Immediate | None:
    prefix = text[:2]
    if prefix in ("0f", "0F") and len(text) == 10:
        return Immediate(int(text[2:], 16), "f32")
    if prefix in ("0d", "0D") and len(text) == 18:
        return Immediate(int(text[2:], 16), "f64")
    try:
        return Immediate(parse_integer(text), "int")
    except ValueError:
        pass
    try:
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), "f64")
    except ValueError:
        return None


def _split_offset(text: str) -> tuple[str, int]:
    """`%rd1+-4` and `name+16` into the base and a byte offset."""
    base, plus, rest = text.partition("+")
    if plus:
        return base.strip(), parse_integer(rest.strip())
    return text.strip(), 0


@dataclass(slots=True)
class _Scope:
    """Register names of nested `{ }` blocks: an inner declaration hides an outer one of the same name."""

    registers: dict[str, str] = field(default_factory=dict)
    renamed: list[dict[str, str]] = field(default_factory=list)
    count: int = 0

    def declare(self, text: str, ptx_line: int) -> None:
        found = _REGISTER_DECLARATION.fullmatch(text)
        if not found:
            raise PtxError(f"register declaration not understood: {text}", ptx_line)
        kind = found[1]
        for item in found[2].split(","):
            name = item.strip()
            if name.endswith(">"):
                stem, _, extent = name[:-1].partition("<")
                names = [f"{stem}{i}" for i in range(int(extent))]
            else:
                names = [name]
            for each in names:
                self._add(each, kind)

    def _add(self, name: str, kind: str) -> None:
        unique = name
        if self.renamed:
            self.count += 1
            unique = f"{name}'{self.count}"
            self.renamed[-1][name] = unique
        self.registers[unique] = kind

    def resolve(self, name: str) -> str:
        for scope in reversed(self.renamed):
            if name in scope:
                return scope[name]
        return name


class _Body:
    """Collects one kernel's statements."""

    def __init__(self, newlines: list[int]) -> None:
        self.newlines = newlines
        self.scope = _Scope()
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.variables: list[Variable] = []
        self.cache: dict[str, Operand] = {}
        self.pending_label: str | None = None
        self.position = 0
        self.line: int | None = None

    def ptx_line(self, offset: int) -> int:
        return bisect_right(self.newlines, offset) + 1

    def parse(self, text: str, start: int) -> int:
        """Reads from just after the opening brace to after the closing one."""
        self.position = start
        try:
            return self._parse(text)
        except _MISPLACED as error:
            raise PtxError("statement not understood", self.ptx_line(self.position)) from error

    def _parse(self, text: str) -> int:
        depth = 1
        position = self.position
        match_item = _ITEM.match
        while True:
            item = match_item(text, position)
            if item is None:
                raise PtxError("statement not understood", self.ptx_line(position))
            self.position = item.start(item.lastgroup or 0)
            position = item.end()
            kind = item.lastgroup
            if kind == "statement":
                self._statement(item["statement"].strip(), item.start("statement"))
            elif kind == "loc":
                number = int(item["loc"].split()[2])
                self.line = number or None
            elif kind == "label":
                self.labels[item["label"]] = len(self.instructions)
                self.pending_label = item["label"]
            elif kind == "brace":
                if item["brace"] == "{":
                    depth += 1
                    self.scope.renamed.append({})
                    self.cache = {}
                else:
                    depth -= 1
                    if depth == 0:
                        return position
                    self.scope.renamed.pop()
                    self.cache = {}

    def _statement(self, text: str, offset: int) -> None:
        if text[0] == ".":
            self._directive(text, offset)
            return
        ptx_line = self.ptx_line(offset)
        found = _INSTRUCTION.fullmatch(text)
        if not found:
            raise PtxError(f"statement not understood: {text}", ptx_line)
        negated, guard, name, rest = found.groups()
        opcode, *modifiers = name.split(".")
        operands = tuple([self._operand(each, ptx_line) for each in _OPERAND.findall(rest)])
        self.instructions.append(
            Instruction(
                opcode,
                tuple(modifiers),
                operands,
                Guard(Register(self.scope.resolve(guard)), negated == "!") if guard else None,
                ptx_line,
                self.line,
            )
        )

    def _directive(self, text: str, offset: int) -> None:
        word = text.split(None, 1)[0]
        if word == ".reg":
            self.scope.declare(text, self.ptx_line(offset))
            self.cache = {}
        elif word == ".branchtargets" and self.pending_label is not None:
            self.tables[self.pending_label] = tuple(each.strip() for each in text[len(word) :].split(","))
        elif word == ".pragma":
            pass
        else:
            self.variables.append(parse_variable(text, self.ptx_line(offset)))

    def _operand(self, text: str, ptx_line: int) -> Operand:
        found = self.cache.get(text)
        if found is None:
            found = self.cache[text] = self._parse_operand(text.strip(), ptx_line)
        return found

    def _parse_operand(self, text: str, ptx_line: int) -> Operand:
        first = text[0]
        if first in "{(":
            inner = text[1:-1].strip()
            return Vector(tuple(self._operand(each, ptx_line) for each in _OPERAND.findall(inner)))
        if first == "[":
            return self._parse_address(text[1:-1].strip(), ptx_line)
        if first == "!":
            return Not(Register(self.scope.resolve(text[1:].strip())))
        if "|" in text:
            left, _, right = text.partition("|")
            return Pair(Register(self.scope.resolve(left.strip())), Register(self.scope.resolve(right.strip())))
        literal = _parse_literal(text)
        if literal is not None:
            return literal
        base, offset = _split_offset(text)
        if not _NAME.fullmatch(base):
            raise PtxError(f"operand not understood: {text}", ptx_line)
        return self._named(base, offset)

    def _named(self, name: str, offset: int = 0) -> Register | Symbol:
        resolved = self.scope.resolve(name)
        if resolved in self.scope.registers or name.startswith("%") or name == "_":
            return Register(resolved)
        return Symbol(name, offset)

    def _parse_address(self, text: str, ptx_line: int) -> Address:
        base, offset = _split_offset(text)
        literal = _parse_literal(base)
        if literal is not None:
            return Address(literal, offset)
        if not _NAME.fullmatch(base):
            raise PtxError(f"address not understood: [{text}]", ptx_line)
        return Address(self._named(base), offset)


def parse_variable(text: str, ptx_line: int) -> Variable:
    found = _VARIABLE.fullmatch(text)
    if not found:
        raise PtxError(f"declaration not understood: {text}", ptx_line)
    element = SIZES[found["type"]]
    count = int(found["vector"][1:]) if found["vector"] else 1
    size: int | None = element * count
    for extent in re.findall(r"\[([^\]]*)\]", found["extents"]):
        size = None if not extent.strip() or size is None else size * parse_integer(extent.strip())
    data = _initial_data(found["data"], found["type"], ptx_line) if found["data"] else b""
    if size is None and data:
        size = len(data)
    align = int(found["align"]) if found["align"] else element * count
    return Variable(found["name"], found["space"], align, size, data)


def _initial_data(text: str, kind: str, ptx_line: int) -> bytes:
    size = SIZES[kind]
    out = bytearray()
    for item in text.replace("{", " ").replace("}", " ").split(","):
        if not item.strip():
            continue
        literal = _parse_literal(item.strip())
        if literal is None:
            raise PtxError(f"initial value not understood: {item.strip()}", ptx_line)
        out += (literal.value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(out)


def _parse_parameters(text: str, ptx_line: int) -> tuple[Parameter, ...]:
    parameters = []
    for item in text.split(","):
        if not item.strip():
            continue
        found = _PARAMETER.fullmatch(item.strip())
        if not found:
            raise PtxError(f"parameter not understood: {item.strip()}", ptx_line)
        size = SIZES[found["type"]] * int(found["extent"] or 1)
        parameters.append(Parameter(found["name"], found["type"], size))
    return tuple(parameters)


def _parse_kernel(text: str, position: int, newlines: list[int]) -> tuple[Kernel, int]:
    ptx_line = bisect_right(newlines, position) + 1
    head = re.compile(r"\s*([\w$]+)\s*(?:\(([^)]*)\))?").match(text, position)
    brace = text.find("{", position)
    if head is None or brace < 0:
        raise PtxError("entry not understood", ptx_line)
    directives = {
        name: tuple(int(each) for each in values.split(",")) if values else ()
        for name, values in _DIRECTIVE.findall(text[head.end() : brace])
    }
    body = _Body(newlines)
    end = body.parse(text, brace + 1)
    kernel = Kernel(
        head[1],
        _parse_parameters(head[2] or "", ptx_line),
        tuple(body.instructions),
        body.labels,
        body.tables,
        body.scope.registers,
        tuple(body.variables),
        directives,
        ptx_line,
    )
    return kernel, end


class _Module:
    """Collects what stands outside kernels."""

    def __init__(self) -> None:
        self.header = {"version": "", "target": ""}
        self.kernels: dict[str, Kernel] = {}
        self.variables: list[Variable] = []
        self.files: dict[int, str] = {}

    def add(self, item: re.Match[str], text: str, newlines: list[int]) -> int:
        """Reads one item and says where the next one starts."""
        ptx_line = bisect_right(newlines, item.start(item.lastgroup or 0)) + 1
        match item.lastgroup:
            case "line":
                word, *rest = item["line"].split(None, 2)
                if word == ".file":
                    self.files[int(rest[0])] = rest[1].split('"')[1]
                elif word[1:] in self.header:
                    self.header[word[1:]] = rest[0].rstrip(",")
            case "entry":
                if item["entry"].endswith(".func"):
                    raise PtxError("device functions (.func) are not supported", ptx_line)
                kernel, position = _parse_kernel(text, item.end(), newlines)
                self.kernels[kernel.name] = kernel
                return position
            case "statement" if not item["statement"].startswith(".pragma"):
                self.variables.append(parse_variable(item["statement"].strip(), ptx_line))
        return item.end()


def _without_comment(found: re.Match[str]) -> str:
    """A string stays, and a comment leaves its line ends behind."""
    return found[0] if found[0][0] == '"' else "\n" * found[0].count("\n")


def parse(text: str) -> Module:
    """Parses a module; device functions (`.func`) are refused, since kernels are expected to be inlined."""
    text = _COMMENT.sub(_without_comment, text)
    newlines = [found.start() for found in re.finditer("\n", text)]
    module = _Module()
    position = 0
    while item := _TOP.match(text, position):
        start = item.start(item.lastgroup or 0)
        try:
            position = module.add(item, text, newlines)
        except _MISPLACED as error:
            raise PtxError("declaration not understood", bisect_right(newlines, start) + 1) from error
    if text[position:].strip():
        raise PtxError("text is not PTX", bisect_right(newlines, position) + 1)
    return Module(
        module.header["version"], module.header["target"], module.kernels, tuple(module.variables), module.files
    )
