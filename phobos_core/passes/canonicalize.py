"""Folds constants, merges equal scalar computations, and drops what is not used.

In: any kernel. Out: the same kernel in which no scalar is computed twice in a scope from the same operands, branches on
constants are gone, and every op without an effect has a user. Tile values are left alone: they are virtual, so that
sharing one saves nothing, and the passes that follow look at each statement's own tree.

Float arithmetic is not folded here: LLVM does it with the rounding of the target.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_

from phobos_core.ir.folding import ARITHMETIC, COMMUTATIVE, COMPARISONS, NEUTRAL
from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import without_unused
from phobos_core.ir.types import RunType, TokenType
from phobos_core.language.types import BF16, BOOL, F16, F32, F64, INDEX, Kind, ScalarType

Constant = int | float | bool


def canonicalize(kernel: Kernel) -> Kernel:
    body = _Canonicalizer(kernel.index_bits).run(kernel.body)
    return replace(kernel, body=without_unused(body))


class _Canonicalizer:
    """`known` has the scalars computed so far in the scopes around, by what they compute."""

    def __init__(self, index_bits: int) -> None:
        self.index_bits = index_bits
        self.renamed: dict[Value, Value] = {}
        self.constants: dict[Value, Constant] = {}
        self.known: dict[object, Value] = {}
        self.ops: list[Op] = []

    def run(self, block: Block) -> Block:
        for op in block.ops:
            self.op(op)
        same = len(self.ops) == len(block.ops) and all(map(is_, self.ops, block.ops))
        return block if same else Block(block.args, tuple(self.ops))

    def region(self, block: Block) -> Block:
        """A region on its own: what it computes is not known outside."""
        ops, before = self.ops, len(self.known)
        self.ops = []
        result = self.run(block)
        self.ops = ops
        while len(self.known) > before:
            self.known.popitem()
        return result

    def op(self, op: Op) -> None:
        if not self.renamed.keys().isdisjoint(op.operands):
            op = replace(op, operands=tuple(self.renamed.get(v, v) for v in op.operands))
        if op.regions:
            self.control(op)
        elif len(op.results) == 1 and isinstance(op.result.type, ScalarType | RunType):
            self.scalar(op, op.result.type)
        else:
            self.ops.append(op)

    def scalar(self, op: Op, type: ScalarType | RunType) -> None:
        value = op.attrs["value"] if op.name == "const" else None
        if not self.constants.keys().isdisjoint(op.operands):
            same = self.simpler(op)
            if same is not None:
                self.renamed[op.result] = same
                return
            value = self.folded(op, type) if isinstance(type, ScalarType) else None
            if value is not None:
                op = Op("const", (), op.results, {"value": value}, (), op.line)
        # 0.0 is -0.0, and True is 1, but for how they are written.
        kind = type.name if isinstance(type, ScalarType) else type
        key = (op.name, op.operands, tuple(op.attrs.items()), kind, None if value is None else repr(value))
        earlier = self.known.setdefault(key, op.result)
        if earlier is not op.result:
            self.renamed[op.result] = earlier
            return
        if value is not None:
            self.constants[op.result] = value
        self.ops.append(op)

    def simpler(self, op: Op) -> Value | None:
        """The operand that the op gives as it is."""
        constants = [self.constants.get(v) for v in op.operands]
        match op.name, constants:
            case "select", [bool(condition), _, _]:
                return op.operands[1] if condition else op.operands[2]
            case "and" | "or", [bool(a), _]:
                return op.operands[1] if a is (op.name == "and") else op.operands[0]
            case "and" | "or", [_, bool(b)]:
                return op.operands[0] if b is (op.name == "and") else op.operands[1]
            case name, [a, b] if _is_integer(op.result.type):
                if b is not None and b == NEUTRAL.get(name):
                    return op.operands[0]
                if a is not None and a == NEUTRAL.get(name) and name in COMMUTATIVE:
                    return op.operands[1]
            case _:
                pass
        return None

    def folded(self, op: Op, type: ScalarType) -> Constant | None:
        """The value of the op's result, where its operands are constants."""
        constants = [self.constants.get(v) for v in op.operands]
        integers = [v for v in constants if isinstance(v, int)]
        if len(integers) != len(constants):
            return None
        operand = op.operands[0].type
        match op.name:
            case "cmp":
                return COMPARISONS[op.attrs["predicate"]](*integers)
            case "not":
                return not integers[0] if type == BOOL else ~integers[0]
            case "neg":
                return self.wrapped(-integers[0], type)
            case "convert" if type.is_float:
                exact = abs(integers[0]) <= _EXACT[type.name]
                return float(integers[0]) if exact else None
            case "convert" if operand != BOOL:
                return self.wrapped(integers[0], type)
            case "div" | "rem" if integers[1] == 0:
                return None
            case name if name in ARITHMETIC and _is_integer(type):
                return self.wrapped(ARITHMETIC[name](*integers), type)
            case _:
                return None

    def wrapped(self, value: int, type: ScalarType) -> int:
        bits = self.index_bits if type == INDEX else type.bits
        value %= 1 << bits
        return value - (1 << bits) if type.kind is not Kind.UINT and value >> bits - 1 else value

    def control(self, op: Op) -> None:
        condition = self.constants.get(op.operands[0]) if op.name == "if" else None
        if condition is not None:
            chosen = op.regions[0 if condition else 1]
            for inner in chosen.ops[:-1]:
                self.op(inner)
            self.rename(op.results, chosen.ops[-1].operands)
            return
        if op.name == "for":
            lo, hi = (self.constants.get(v) for v in op.operands[:2])
            if lo is not None and hi is not None and lo >= hi:
                self.rename(op.results, op.operands[3:])
                return
        regions = tuple(self.region(r) for r in op.regions)
        if not op.results and all(_harmless(r) for r in regions) and op.name != "while":
            return
        self.ops.append(op if all(map(is_, regions, op.regions)) else replace(op, regions=regions))

    def rename(self, results: tuple[Value, ...], values: tuple[Value, ...]) -> None:
        for result, value in zip(results, values, strict=True):
            self.renamed[result] = self.renamed.get(value, value)


def _harmless(block: Block) -> bool:
    """Whether nothing in the block has an effect. What reads only has none."""
    return all(
        OPS[op.name].effect in ("none", "read") or (op.name == "yield" and not op.operands) for op in block.ops
    ) and not any(isinstance(v.type, TokenType) for v in block.args)


def _is_integer(type: object) -> bool:
    return isinstance(type, ScalarType) and type.is_integer


# The integers up to this are exact in the type.
_EXACT = {F16.name: 1 << 11, BF16.name: 1 << 8, F32.name: 1 << 24, F64.name: 1 << 53}
