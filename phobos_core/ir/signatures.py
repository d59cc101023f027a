"""The types that each op takes and gives, as checks of one op on its own.

In: an op. Out: what is wrong with the types of its operands, results or attribute values, None if nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from phobos_core.ir.module import Op
from phobos_core.ir.ops import OPS
from phobos_core.ir.types import MemType, RunType, TileType, TokenType, Type, ViewType, element_of
from phobos_core.language.types import BF16, BOOL, F16, F32, F64, I8, I32, INDEX, U8, U32, Kind, ScalarType

_PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge"}
_FUNCTIONS = {"exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "round", "floor", "ceil", "abs"}
_REDUCTIONS = {"max", "sum", "argmax"}

_Check = Callable[[Op], str | None]


def signature_fault(op: Op, *, staged: bool) -> str | None:
    """`staged`: the buffer that the op addresses has several stages."""
    if op.name in _ADDRESSING:
        return _addressing(op, staged)
    check = _elementwise if OPS[op.name].elementwise else _CHECKS.get(op.name)
    return check(op) if check else None


def _addressing(op: Op, staged: bool) -> str | None:
    """The ops that address a buffer by indices, the stage first where it has several."""
    mem = op.operands[0].type if op.operands else None
    if not isinstance(mem, MemType):
        return "addresses a buffer"
    if staged and op.name not in ("view", "load_point", "load_run"):
        return "takes a buffer of one stage"
    rank = len(mem.shape) + staged
    rest = [v.type for v in op.operands[1:]]
    if rest[:rank] != [INDEX] * rank:
        return f"takes {rank} indices"
    return _ADDRESSING[op.name](op, rest[rank:], mem)


def _load_point(op: Op, rest: list[Type], mem: MemType) -> str | None:
    match rest, _results(op):
        case [TokenType()], [result] if result == mem.element:
            return None
    return "takes a token, gives an element"


def _store_point(op: Op, rest: list[Type], mem: MemType) -> str | None:
    match rest, _results(op):
        case [value, TokenType()], [TokenType()] if value == mem.element:
            return None
    return "takes an element and a token, gives a token"


def _load_run(op: Op, rest: list[Type], mem: MemType) -> str | None:
    match rest, _results(op):
        case [TokenType()], [RunType(element, length)] if element == mem.element:
            return _run(op, mem, length)
    return "takes a token, gives a run of the buffer's elements"


def _store_run(op: Op, rest: list[Type], mem: MemType) -> str | None:
    length = op.attrs["length"]
    match rest[-1:], _results(op):
        case [TokenType()], [TokenType()] if rest[:-1] == [mem.element] * length:
            return _run(op, mem, length)
    return f"takes {length} elements and a token, gives a token"


def _run(op: Op, mem: MemType, length: int) -> str | None:
    vector, axis = op.attrs.get("vector", 1), op.attrs["axis"]
    if not 0 <= axis < len(mem.shape):
        return "runs along an axis of its buffer"
    fits = length % vector == 0 and (vector == 1 or axis == len(mem.shape) - 1)
    return None if fits else "has whole accesses, of more than one element only along the last axis"


def _atomic(scalars: int) -> Callable[[Op, list[Type], MemType], str | None]:
    def check(op: Op, rest: list[Type], mem: MemType) -> str | None:
        elements = (I32, F32) if op.name == "atomic_add" else (I32,)
        gives = [] if op.name == "store_release" else [mem.element]
        fits = isinstance(rest[-1], TokenType) and rest[:-1] == [mem.element] * scalars and mem.element in elements
        fits = fits and [t for t in _results(op) if not isinstance(t, TokenType)] == gives
        return None if fits else f"takes {scalars} of the buffer's {' or '.join(map(str, elements))} and a token"

    return check


def _gather(op: Op, rest: list[Type], mem: MemType) -> str | None:
    match rest, _results(op):
        case [TileType() as indices, TokenType()], [result] if _is_integer(indices.element):
            return None if result == TileType(mem.element, indices.shape) else "gives a tile of the indices' shape"
    return "takes a tile of integers and a token"


def _view(op: Op, rest: list[Type], mem: MemType) -> str | None:
    kinds = op.attrs["bounds"]
    counts = {"none": 0, "upper": 1, "both": 2}
    if len(kinds) != len(mem.shape) or any(k not in counts for k in kinds):
        return "has bounds for each axis"
    if rest != [INDEX] * sum(counts[k] for k in kinds):
        return "takes the indices that its bounds ask for"
    match _results(op):
        case [ViewType() as view] if (view.element, view.space) == (mem.element, mem.space):
            return None if len(view.shape) == len(mem.shape) else "gives a view of its buffer's rank"
    return "gives a view of its buffer's element and space"


_ADDRESSING: Mapping[str, Callable[[Op, list[Type], MemType], str | None]] = {
    "load_point": _load_point,
    "store_point": _store_point,
    "gather": _gather,
    "view": _view,
    "load_run": _load_run,
    "store_run": _store_run,
    "atomic_add": _atomic(1),
    "atomic_cas": _atomic(2),
    "load_acquire": _atomic(0),
    "store_release": _atomic(1),
}


def _results(op: Op) -> list[Type]:
    return [v.type for v in op.results]


def _is_integer(element: ScalarType) -> bool:
    return element.is_integer or element.kind is Kind.UINT


def _shape(type: Type) -> tuple[int, ...] | None:
    return type.shape if isinstance(type, TileType) else None


def _elementwise(op: Op) -> str | None:
    types = [v.type for v in op.operands]
    arity = 3 if op.name == "select" else 1 if op.name in ("neg", "not", "convert", "math") else 2
    if len(types) != arity or len(op.results) != 1:
        return f"takes {arity} operands and gives one result"
    if not all(isinstance(t, ScalarType | TileType) for t in types):
        return "takes scalars or tiles"
    result = op.result.type
    if any(_shape(t) != _shape(result) for t in types):
        return "has operands and a result of one shape"
    elements = [element_of(t) for t in types]
    return _elements(op, elements, element_of(result))


def _elements(op: Op, elements: list[ScalarType], result: ScalarType) -> str | None:
    match op.name:
        case "cmp":
            if op.attrs["predicate"] not in _PREDICATES:
                return "has a known predicate"
            return None if elements[0] == elements[1] and result == BOOL else "compares one type and gives bools"
        case "select":
            fits = elements[0] == BOOL and elements[1] == elements[2] == result
            return None if fits else "chooses by a bool between two of the result's type"
        case "convert":
            return "has no conversion of bools" if BOOL in (elements[0], result) else None
        case "math":
            function = op.attrs["function"]
            if function not in _FUNCTIONS:
                return "has a known function"
            fits = elements[0] == result and (function == "abs" or result == F32)
            return None if fits else "computes in f32, but for abs"
        case "and" | "or" | "xor" | "not":
            fits = all(e == result for e in elements) and (_is_integer(result) or result == BOOL)
            return None if fits else "takes integers or bools of one type"
        case "shl" | "shr":
            return None if all(e == result for e in elements) and _is_integer(result) else "takes integers of one type"
        case _:
            return None if all(e == result for e in elements) and result != BOOL else "takes numbers of one type"


def _const(op: Op) -> str | None:
    value, type = op.attrs["value"], op.result.type
    if not isinstance(type, ScalarType):
        return "gives a scalar"
    if type == BOOL:
        return None if isinstance(value, bool) else "has a bool as its value"
    if type.is_float:
        return None if isinstance(value, float) else "has a float as its value"
    return None if isinstance(value, int) and not isinstance(value, bool) else "has an integer as its value"


def _context(op: Op) -> str | None:
    return None if not op.operands and _results(op) == [INDEX] else "gives an index"


def _tiles(op: Op) -> list[TileType] | None:
    """The types of the operands and results, if they are all tiles."""
    types = [v.type for v in (*op.operands, *op.results)]
    tiles = [t for t in types if isinstance(t, TileType)]
    return tiles if len(tiles) == len(types) else None


def _splat(op: Op) -> str | None:
    (scalar,), result = op.operands, op.result.type
    fits = isinstance(result, TileType) and scalar.type == result.element
    return None if fits else "makes a tile of a scalar of its element type"


def _broadcast(op: Op) -> str | None:
    tiles = _tiles(op)
    if tiles is None or len(tiles) != 2:
        return "takes a tile, gives a tile"
    source, result = tiles
    fits = len(source.shape) == len(result.shape) and source.element == result.element
    fits = fits and all(s in (1, r) for s, r in zip(source.shape, result.shape, strict=True))
    return None if fits else "repeats axes of extent 1"


def _iota(op: Op) -> str | None:
    type = op.result.type
    fits = isinstance(type, TileType) and type.element == I32 and 0 <= op.attrs["axis"] < len(type.shape)
    return None if fits else "gives i32 indices along one of its axes"


def _matrix(op: Op, shape: Callable[[int, int], tuple[int, int]], element: Callable[[ScalarType], ScalarType]) -> bool:
    tiles = _tiles(op)
    if tiles is None or len(tiles) != 2 or len(tiles[0].shape) != 2:
        return False
    source, result = tiles
    return result.shape == shape(*source.shape) and result.element == element(source.element)


def _transpose(op: Op) -> str | None:
    return None if _matrix(op, lambda r, c: (c, r), lambda e: e) else "turns [R, C] into [C, R]"


def _same_matrix(op: Op) -> str | None:
    return None if _matrix(op, lambda r, c: (r, c), lambda e: e) else "keeps the type of an [R, C]"


def _reduce(op: Op) -> str | None:
    kind = op.attrs["kind"]
    if kind not in _REDUCTIONS:
        return "has a known kind"
    if "parts" not in op.attrs:
        fits = _matrix(op, lambda r, c: (r, 1), lambda e: I32 if kind == "argmax" else e)
        return None if fits else "turns [R, C] into [R, 1]"
    if kind == "argmax":
        return "has no parts of an argmax"
    parts = op.attrs["parts"]
    fits = _matrix(op, lambda r, c: (r, parts), lambda e: F32 if kind == "sum" and e in (F16, BF16) else e)
    return None if fits and parts >= 1 else "turns [R, C] into [R, parts]"


def _dot(op: Op) -> str | None:
    tiles = _tiles(op)
    if tiles is None or len(tiles) != 3 or any(len(t.shape) != 2 for t in tiles):
        return "takes two matrices, gives one"
    a, b, result = tiles
    (m, k), (k_b, n) = a.shape, b.shape[::-1] if op.attrs["transposed"] else b.shape
    if k != k_b or result.shape != (m, n):
        return "contracts [M, K] with [K, N], or [N, K] when transposed, to [M, N]"
    accumulator = F64 if a.element == F64 else F32 if a.element.is_float else I32
    fits = a.element == b.element and result.element == accumulator and (a.element.is_float or a.element == I8)
    return None if fits else "takes one float type or i8, and gives its accumulator"


def _alloc(op: Op) -> str | None:
    match _results(op):
        case [MemType(space="shared") as mem, TokenType()] if None not in mem.shape:
            return None if op.attrs["stages"] >= 1 else "has at least one stage"
    return "gives a shared buffer of static shape and its token"


def _flat(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [MemType(shape=(int(rows), int(columns))) as source], [MemType() as result]:
            fits = result == MemType(source.element, (1, rows * columns), source.space)
            return None if fits else "gives [1, R * C] of the same bytes"
    return "takes a buffer [R, C], gives a buffer"


def _load(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [ViewType() as view, TokenType(), *condition], [TileType() as tile] if condition in ([], [BOOL]):
            return None if (view.element, view.shape) == (tile.element, tile.shape) else "gives the view's tile"
    return "takes a view, a token and perhaps a bool, gives a tile"


def _store(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [ViewType() as view, TileType() as tile, TokenType()], [TokenType()]:
            return None if (view.element, view.shape) == (tile.element, tile.shape) else "takes the view's tile"
    return "takes a view, a tile and a token, gives a token"


def _hold(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [TileType(layout=None) as tile], [TileType() as result] if result.layout is not None:
            return None if result == replace(tile, layout=result.layout) else "gives its operand's tile"
    return "takes a virtual tile, gives one with a layout"


def _async_copy(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [ViewType() as to, ViewType() as source, TokenType(), TokenType(), *condition], [TokenType()]:
            fits = condition in ([], [BOOL])
            fits = fits and (to.space, source.space) == ("shared", "global")
            fits = fits and (to.element, to.shape) == (source.element, source.shape)
            return None if fits else "copies a global view to a shared one of its type"
    return "takes two views, their tokens and perhaps a bool, gives a token"


def _run_element(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [RunType(element, length)], [result] if result == element:
            return None if 0 <= op.attrs["position"] < length else "has a position inside the run"
    return "takes a run, gives an element"


def _run_word(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [RunType(element, length)], [result] if element in (I8, U8) and result == U32:
            return None if 0 <= op.attrs["position"] * 4 <= length - 4 else "has a position inside the run"
    return "takes a run of bytes, gives a u32"


def _words(arity: int, result: ScalarType) -> _Check:
    def check(op: Op) -> str | None:
        types = [v.type for v in op.operands]
        fits = len(types) == arity and all(t in (I32, U32) for t in types) and _results(op) == [result]
        return None if fits else f"takes {arity} words, gives {result}"

    return check


def _sync(op: Op) -> str | None:
    tokens = [isinstance(v.type, TokenType) for v in (*op.operands, *op.results)]
    return None if all(tokens) and len(op.operands) == len(op.results) else "takes tokens, gives one for each"


def _grid_sync(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [MemType(element=element, space="global"), blocks, TokenType()], [TokenType()] if blocks == INDEX:
            return None if element == I32 else "counts in a buffer of i32"
    return "takes a buffer of the device, the number of blocks and a token, gives a token"


def _shuffle(op: Op) -> str | None:
    mode, width = op.attrs["mode"], op.attrs["width"]
    if mode not in ("from", "xor", "down", "up") or width not in (1, 2, 4, 8, 16, 32):
        return "has a known mode, and a power of two up to the warp's lanes as its width"
    match [v.type for v in op.operands], _results(op):
        case [ScalarType() as value, lane], [result] if lane == I32:
            return None if value == result else "gives a value of its operand's type"
    return "takes a scalar and an i32"


def _ballot(op: Op) -> str | None:
    return None if [v.type for v in (*op.operands, *op.results)] == [BOOL, U32] else "takes a bool, gives a u32"


def _warp(kinds: set[str], element: ScalarType) -> _Check:
    def check(op: Op) -> str | None:
        fits = [v.type for v in op.operands] == [element] and _results(op) == [element]
        return None if fits and op.attrs["kind"] in kinds else f"folds one {element} by {' or '.join(sorted(kinds))}"

    return check


def _uniform(op: Op) -> str | None:
    match [v.type for v in op.operands], _results(op):
        case [ScalarType() as value], [result] if value == result:
            return None
    return "takes a scalar, gives one of its type"


def _trap_if(op: Op) -> str | None:
    return None if [v.type for v in op.operands] == [BOOL] else "takes a bool"


_CHECKS: Mapping[str, _Check] = {
    "const": _const,
    "ctx": _context,
    "splat": _splat,
    "broadcast": _broadcast,
    "iota": _iota,
    "transpose": _transpose,
    "tril": _same_matrix,
    "cumsum": _same_matrix,
    "reduce": _reduce,
    "dot": _dot,
    "alloc": _alloc,
    "flat": _flat,
    "load": _load,
    "hold": _hold,
    "store": _store,
    "async_copy": _async_copy,
    "trap_if": _trap_if,
    "run_element": _run_element,
    "run_word": _run_word,
    "dp4a": _words(3, I32),
    "byteperm": _words(3, U32),
    "popcount": _words(1, I32),
    "f16bits": _words(1, F16),
    "sync": _sync,
    "grid_sync": _grid_sync,
    "shuffle": _shuffle,
    "vote": _warp({"any", "all"}, BOOL),
    "ballot": _ballot,
    "redux": _warp({"sum", "min", "max"}, I32),
    "uniform": _uniform,
}
