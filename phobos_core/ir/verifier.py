"""Checks that a kernel is well formed: what every pass may rely on and must keep.

In: a kernel. Out: nothing, or a `VerifyError` that names the op and its source line. Checked are the op table
(attributes, regions), that values are defined before use and in scope, the types of each op (`signatures.py`), the
arguments and yields of regions, what schedules ask of their trees (`scheduling.py`), and the token chains: one per
buffer, each token superseded at most once, no access with a token that is not the buffer's current one, and no store
in a region that does not carry the chain out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index
from phobos_core.ir.scheduling import schedule_fault
from phobos_core.ir.signatures import signature_fault
from phobos_core.ir.types import TOKEN, Type
from phobos_core.language.types import BOOL, INDEX


class VerifyError(Exception):
    """The kernel is not well formed: a fault of the compiler, never of a user's source."""

    def __init__(self, op: Op, message: str) -> None:
        super().__init__(f"{op.name} (line {op.line}): {message}")


def verify(kernel: Kernel) -> None:
    verifier = _Verifier()
    verifier.define(kernel.body.args)
    for param in kernel.params:
        if param.token is not None:
            verifier.current[param.value] = param.token
            verifier.buffer[param.token] = param.value
    verifier.block(kernel.body)
    if verifier.scheduled:
        index = Index(kernel.body)
        for op in verifier.scheduled:
            problem = schedule_fault(index, op, kernel.threads)
            if problem:
                raise VerifyError(op, problem)


class _Verifier:
    """`current` is each buffer's token at this point of the program, `buffer` the buffer that each token is of."""

    def __init__(self) -> None:
        self.scope: set[Value] = set()
        self.current: dict[Value, Value] = {}
        self.buffer: dict[Value, Value] = {}
        self.memory: dict[Value, Value] = {}  # a buffer seen flat, or a view, to the buffer
        self.stages: dict[Value, int] = {}
        self.scheduled: list[Op] = []

    def define(self, values: Sequence[Value]) -> None:
        self.scope.update(values)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        definition = OPS.get(op.name)
        if definition is None:
            raise VerifyError(op, "is not in the table of ops")
        missing = [a for a in definition.attrs if a not in op.attrs]
        unknown = [a for a in op.attrs if a not in definition.attrs and a not in definition.optional]
        if missing or unknown:
            raise VerifyError(op, f"lacks attributes {missing}, has unknown ones {unknown}")
        if len(op.regions) != definition.regions:
            raise VerifyError(op, f"has {len(op.regions)} regions, not {definition.regions}")
        for i, operand in enumerate(op.operands):
            if operand not in self.scope:
                raise VerifyError(op, f"operand {i} ({operand.hint or operand.type}) is not defined here")
        for result in op.results:
            if result in self.scope:
                raise VerifyError(op, "defines a value a second time")
        self.types(op)
        self.memory_of(op)
        match op.name:
            case "for" | "while" | "if":
                self.control(op)
            case _:
                self.tokens(op)
        if "schedule" in op.attrs:
            self.scheduled.append(op)
        self.define(op.results)

    def types(self, op: Op) -> None:
        memory = op.operands[0] if op.operands else None
        staged = memory is not None and self.stages.get(self.memory.get(memory, memory), 1) > 1
        problem = signature_fault(op, staged=staged)
        if problem:
            shown = ", ".join(str(v.type) for v in op.operands)
            raise VerifyError(op, f"{problem}; has ({shown}) -> ({', '.join(str(v.type) for v in op.results)})")

    # Memory

    def memory_of(self, op: Op) -> None:
        match op.name:
            case "alloc":
                mem, token = op.results
                self.current[mem] = token
                self.buffer[token] = mem
                self.stages[mem] = op.attrs["stages"]
            case "flat" | "view":
                self.memory[op.result] = self.memory.get(op.operands[0], op.operands[0])
            case _:
                pass

    def tokens(self, op: Op) -> None:
        match op.name:
            case "sync":
                for token, following in zip(op.operands, op.results, strict=True):
                    self.must_be_current(op, self.buffer[token], token)
                    self.supersede(token, following)
            case "load":
                self.must_be_current(op, op.operands[0], op.operands[1])
            case "async_copy":
                self.must_be_current(op, op.operands[0], op.operands[2])
                self.must_be_current(op, op.operands[1], op.operands[3])
                self.supersede(op.operands[2], op.result)
            case name if OPS[name].effect in ("read", "write"):
                self.must_be_current(op, op.operands[0], op.operands[-1])
                if OPS[name].effect == "write":
                    self.supersede(op.operands[-1], op.results[-1])
            case _:
                pass

    def must_be_current(self, op: Op, memory: Value, token: Value) -> None:
        buffer = self.memory.get(memory, memory)
        if self.buffer.get(token) is not buffer:
            raise VerifyError(op, f"takes a token of another buffer than {buffer.hint or buffer.type}")
        if self.current[buffer] is not token:
            raise VerifyError(op, f"takes a token of {buffer.hint or buffer.type} that was superseded")

    def supersede(self, token: Value, by: Value) -> None:
        buffer = self.buffer[token]
        self.buffer[by] = buffer
        self.current[buffer] = by

    # Control

    def control(self, op: Op) -> None:
        fixed = {"for": 3, "while": 0, "if": 1}[op.name]
        head, carried = op.operands[:fixed], op.operands[fixed:]
        if op.name == "for" and [v.type for v in head] != [INDEX] * 3:
            raise VerifyError(op, "takes three indices before what it carries")
        if not all(n < len(carried) and carried[n].type == BOOL for n in op.attrs.get("until", ())):
            raise VerifyError(op, "runs until a bool that it carries")
        if op.name == "if" and ([v.type for v in head] != [BOOL] or carried):
            raise VerifyError(op, "takes a bool only")
        if op.name != "if" and [v.type for v in carried] != [v.type for v in op.results]:
            raise VerifyError(op, "gives what it carries")
        for token in carried:
            if token.type == TOKEN:
                self.must_be_current(op, self.buffer[token], token)
        yields = [self.region(op, i, region, carried) for i, region in enumerate(op.regions)]
        first = yields[0][1:] if op.name == "while" else yields[0]
        for i, result in enumerate(op.results):
            if result.type == TOKEN:
                buffers = {self.buffer[yielded[i]] for yielded in (first, *yields[1:])}
                if len(buffers) != 1:
                    raise VerifyError(op, f"result {i} is the token of several buffers")
                (buffer,) = buffers
                self.buffer[result] = buffer
                self.current[buffer] = result

    def region(self, op: Op, number: int, region: Block, carried: Sequence[Value]) -> tuple[Value, ...]:
        """Gives what the region yields."""
        expected: list[Type] = [] if op.name == "if" else [v.type for v in carried]
        args = [INDEX, *expected] if op.name == "for" else expected
        if [v.type for v in region.args] != args:
            raise VerifyError(op, f"region {number} takes {len(region.args)} arguments, or of other types")
        outer_scope, outer_current = set(self.scope), dict(self.current)
        self.define(region.args)
        inner = region.args[1:] if op.name == "for" else region.args
        for token, arg in zip(carried, inner, strict=False):
            if token.type == TOKEN:
                self.supersede(token, arg)
        self.block(region)
        last = region.ops[-1] if region.ops else op
        if last.name != "yield" or any(o.name == "yield" for o in region.ops[:-1]):
            raise VerifyError(op, f"region {number} ends with its only yield")
        results = (
            [BOOL, *[v.type for v in op.results]]
            if op.name == "while" and number == 0
            else [v.type for v in op.results]
        )
        if [v.type for v in last.operands] != results:
            raise VerifyError(last, f"yields other types than the {op.name} takes")
        self.chains_leave(op, last, outer_current)
        self.scope, self.current = outer_scope, outer_current
        return last.operands

    def chains_leave(self, op: Op, end: Op, outer: Mapping[Value, Value]) -> None:
        """Each token that the region yields is current, and what the region superseded is yielded."""
        yielded = {self.buffer[v] for v in end.operands if v.type == TOKEN}
        for value in end.operands:
            if value.type == TOKEN:
                self.must_be_current(end, self.buffer[value], value)
        for buffer, token in outer.items():
            if self.current[buffer] is not token and buffer not in yielded:
                raise VerifyError(
                    op, f"stores to {buffer.hint or buffer.type} in a region that does not yield its token"
                )
