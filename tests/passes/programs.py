"""Random structured programs over shared tiles and two tensors, for tests of what has to hold for any program."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Param, Value
from phobos_core.ir.types import TOKEN, MemType
from phobos_core.language.types import BOOL, F32, INDEX

THREADS = 16
# Square, so that any tile can be an operand of any other; and columns.
SIDE = 8
# Tensors are taller, so that slices of them overlap and end outside.
ROWS = 2 * SIDE


class Programs:
    """Builds one program from a source of choices. Every store has a line of its own."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.build = Builder()
        self.line = 0
        self.tokens: dict[Value, Value] = {}
        self.turns = Value(INDEX, "n")
        self.condition = Value(BOOL, "c")
        self.tensors = [Value(MemType(F32, (ROWS, SIDE), "global"), name) for name in ("X", "Y")]
        self.variables: list[Value] = []

    def kernel(self) -> Kernel:
        self.zero = self.build.index(0)
        self.one = self.build.index(1)
        self.rows = self.build.index(ROWS)
        self.starts = [self.build.index(start) for start in (0, 3, SIDE, SIDE + 2)]
        self.tokens = {mem: Value(TOKEN, f"{mem.hint}.t") for mem in self.tensors}
        tensors = tuple(Param(mem.hint, "tensor", F32, (ROWS, SIDE), mem, token) for mem, token in self.tokens.items())
        args = [v for mem, token in self.tokens.items() for v in (mem, token)]
        self.block([], depth=0)
        params = (
            *tensors,
            Param("n", "dim", INDEX, (), self.turns),
            Param("c", "scalar", BOOL, (), self.condition),
        )
        body = self.build.block((*args, self.turns, self.condition))
        return Kernel("k", params, body, "sm_80", THREADS, None, None, 64, {}, {}, {}, frozenset())

    def block(self, tiles: list[Value], depth: int) -> None:
        tiles = list(tiles)
        for _ in range(self.random.randint(2, 4)):
            choices = [self.declare]
            if tiles:
                choices += [self.assign] * 4 + [self.write_tensor, self.use_once]
                if depth < 2:
                    choices += [self.loop, self.branch]
            self.random.choice(choices)(tiles, depth)

    def start_line(self) -> None:
        self.line += 1
        self.build.line = self.line

    def declare(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        columns = self.random.choice([1, SIDE, SIDE])
        mem, token = self.build.alloc(f"t{self.line}", F32, (SIDE, columns))
        self.tokens[mem] = token
        self.store(mem, self.value(tiles, columns))
        tiles.append(mem)

    def assign(self, tiles: list[Value], depth: int) -> None:
        self.start_line()
        target = self.random.choice(tiles)
        kind = self.random.randrange(8)
        if kind == 0:
            source = self.random.choice(tiles)
            value = self.build.load_point(source, self.last(source), self.tokens[source])
            self.tokens[target] = self.build.store_point(target, self.last(target), value, self.tokens[target])
        elif kind < 3 and columns_of(target) == SIDE:
            # What a contraction is added to.
            squares = [t for t in tiles if columns_of(t) == SIDE]
            operands = [self.load(self.random.choice(squares)) for _ in range(2)]
            product = self.build.dot(*operands, transposed=self.random.random() < 0.5)
            self.store(target, self.build.binary("add", self.load(target), product))
        else:
            self.store(target, self.value(tiles, columns_of(target)))

    def write_tensor(self, tiles: list[Value], depth: int) -> None:
        """A slice of the second tensor; the first is only read."""
        self.start_line()
        tensor = self.tensors[1]
        view = self.slice(tensor)
        self.tokens[tensor] = self.build.store(view, self.value(tiles, SIDE), self.tokens[tensor])

    def use_once(self, tiles: list[Value], depth: int) -> None:
        """A tile that only one later statement reads."""
        self.start_line()
        mem, token = self.build.alloc(f"t{self.line}", F32, (SIDE, SIDE))
        self.tokens[mem] = token
        self.store(mem, self.value(tiles, SIDE))
        for _ in range(self.random.randint(0, 2)):
            self.random.choice([self.assign, self.write_tensor])(tiles, depth)
        self.start_line()
        once = self.load(mem)
        value = self.random.choice(
            [
                lambda: self.build.unary("neg", once),
                lambda: self.build.binary("add", once, self.value(tiles, SIDE)),
                lambda: self.build.transpose(once),
                lambda: self.build.cumsum(once),
            ]
        )()
        tensor = self.tensors[1]
        self.tokens[tensor] = self.build.store(self.slice(tensor), value, self.tokens[tensor])

    def slice(self, tensor: Value) -> Value:
        start = self.random.choice([*self.starts, *self.variables])
        return self.build.view(tensor, (start, self.zero), (SIDE, SIDE), [(None, self.rows), (None, None)])

    def last(self, mem: Value) -> tuple[Value, Value]:
        """The last element, which no schedule gives to the first thread."""
        return self.build.index(SIDE - 1), self.build.index(columns_of(mem) - 1)

    def store(self, mem: Value, tile: Value) -> None:
        self.tokens[mem] = self.build.store(self.build.whole(mem), tile, self.tokens[mem])

    def load(self, mem: Value) -> Value:
        return self.build.load(self.build.whole(mem), self.tokens[mem])

    def value(self, tiles: list[Value], columns: int) -> Value:
        squares = [t for t in tiles if columns_of(t) == SIDE]
        narrow = [t for t in tiles if columns_of(t) == 1]
        makers: list[Callable[[], Value]] = [
            lambda: self.build.splat(self.build.const(1.0, F32), (SIDE, columns)),
        ]
        same = squares if columns == SIDE else narrow
        if same:
            makers += [lambda: self.build.unary("neg", self.load(self.random.choice(same)))] * 3
        if columns == SIDE:
            tensor = self.random.choice(self.tensors)
            makers.append(lambda: self.build.load(self.slice(tensor), self.tokens[tensor]))
        if columns == SIDE and squares:
            makers += [
                lambda: self.build.transpose(self.load(self.random.choice(squares))),
                lambda: self.build.cumsum(self.load(self.random.choice(squares))),
                lambda: self.build.dot(
                    self.load(self.random.choice(squares)),
                    self.load(self.random.choice(squares)),
                    transposed=self.random.random() < 0.5,
                ),
            ]
        if columns == SIDE and narrow:
            makers.append(lambda: self.build.broadcast(self.load(self.random.choice(narrow)), (SIDE, SIDE)))
        if columns == 1 and squares:
            makers += [lambda: self.build.reduce("sum", self.load(self.random.choice(squares)))] * 2
        return self.random.choice(makers)()

    def loop(self, tiles: list[Value], depth: int) -> None:
        outer, before = self.build, dict(self.tokens)
        inside = {mem: Value(token.type) for mem, token in before.items()}
        i = Value(INDEX, "i")
        self.variables.append(i)
        self.build, self.tokens = Builder(self.line), dict(inside)
        self.block(tiles, depth + 1)
        self.build.yield_([self.tokens[mem] for mem in before])
        self.variables.pop()
        body = self.build.block((i, *inside.values()))
        self.build = outer
        loop = self.build.for_(self.zero, self.turns, self.one, list(before.values()), body)
        self.tokens = dict(zip(before, loop.results, strict=True))

    def branch(self, tiles: list[Value], depth: int) -> None:
        outer, before = self.build, dict(self.tokens)
        blocks = []
        for _ in range(2):
            self.build, self.tokens = Builder(self.line), dict(before)
            if self.random.random() < 0.8:
                self.block(tiles, depth + 1)
            self.build.yield_([self.tokens[mem] for mem in before])
            blocks.append(self.build.block())
        self.build = outer
        types = [t.type for t in before.values()]
        branch = self.build.if_(self.condition, types, *blocks)
        self.tokens = dict(zip(before, branch.results, strict=True))


def columns_of(mem: Value) -> int:
    assert isinstance(mem.type, MemType)
    columns = mem.type.shape[1]
    assert columns is not None
    return columns
