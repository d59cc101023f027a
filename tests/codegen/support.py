"""Kernels by hand, in the form that codegen accepts, and their execution on the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from phobos_core import codegen
from phobos_core.emulator import Result, launch
from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Op, Param, Value
from phobos_core.ir.schedule import Schedule
from phobos_core.ir.types import TOKEN, Layout, MemType, Patches, TileType
from phobos_core.ir.verifier import verify
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, I64, INDEX, U8, U16, U32, ScalarType

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

NUMPY: dict[ScalarType, Any] = {
    F16: np.float16,
    BF16: ml_dtypes.bfloat16,
    F32: np.float32,
    F64: np.float64,
    I8: np.int8,
    I32: np.int32,
    I64: np.int64,
    U8: np.uint8,
    U16: np.uint16,
    U32: np.uint32,
}
FLOATS = (F16, BF16, F32, F64)
INTEGERS = (I8, I32, I64)

Array = npt.NDArray[Any]
Bound = tuple[Value | None, Value | None]


@dataclass(slots=True)
class Buffer:
    """A buffer and the token of its present state."""

    mem: Value
    token: Value


class Program:
    """Builds one kernel; `shared` tiles lie one after the other."""

    def __init__(self, threads: int = 32, target: str = "sm_80", index_bits: int = 64, **fields: Any) -> None:
        self.b = Builder(line=1)
        self.params: list[Param] = []
        self.fields = dict(threads=threads, target=target, index_bits=index_bits, **fields)
        self.bytes = 0

    # Parameters

    def tensor(self, name: str, element: ScalarType, *dims: int | str) -> Buffer:
        shape = tuple(d if isinstance(d, int) else None for d in dims)
        mem, token = Value(MemType(element, shape, "global"), name), Value(TOKEN, f"{name}.t")
        self.params.append(Param(name, "tensor", element, dims, mem, token))
        return Buffer(mem, token)

    def scalar(self, name: str, element: ScalarType) -> Value:
        value = Value(element, name)
        self.params.append(Param(name, "scalar", element, (), value))
        return value

    def dim(self, name: str) -> Value:
        value = Value(INDEX, name)
        self.params.append(Param(name, "dim", INDEX, (), value))
        return value

    # Memory

    def shared(
        self, element: ScalarType, *shape: int, stages: int = 1, pitch: int | None = None, name: str = "tile"
    ) -> Buffer:
        mem, token = self.b.alloc(name, element, shape, stages)
        attrs = {**self.b.ops[-1].attrs, "offset": self.bytes} | ({"pitch": pitch} if pitch else {})
        alloc = self.b.ops.pop()
        self.b.append(Op("alloc", (), alloc.results, attrs, (), alloc.line))
        elements = int(np.prod(shape[:-1])) * (pitch or shape[-1]) * stages
        self.bytes += -(-elements * element.bytes // 16) * 16
        return Buffer(mem, token)

    def view(
        self,
        buffer: Buffer,
        *shape: int,
        at: Sequence[Value | int] | None = None,
        bounds: Sequence[Bound] | None = None,
        stage: Value | None = None,
    ) -> Value:
        mem = buffer.mem.type
        assert isinstance(mem, MemType)
        extents = shape or tuple(d for d in mem.shape if d is not None)
        offsets = [self.b.index(o) if isinstance(o, int) else o for o in at or [0] * len(extents)]
        return self.b.view(buffer.mem, offsets, extents, bounds, stage)

    def load(self, buffer: Buffer, *shape: int, layout: Layout | None = None, **where: Any) -> Value:
        return self.b.load(self.view(buffer, *shape, **where), buffer.token, layout)

    def store(self, buffer: Buffer, tile: Value, schedule: Schedule, **where: Any) -> None:
        assert isinstance(tile.type, TileType)
        view = self.view(buffer, *tile.type.shape, **where)
        operands = (view, tile, buffer.token)
        buffer.token = self.b.op("store", operands, (TOKEN,), {"schedule": schedule}).result

    def barrier(self) -> None:
        self.b.op("barrier")

    # Results

    def kernel(self) -> Kernel:
        args = [v for p in self.params for v in (p.value, p.token) if v is not None]
        kernel = Kernel(
            **{
                "name": "k",
                "params": tuple(self.params),
                "body": self.b.block(args),
                "min_blocks": None,
                "max_registers": None,
                "config": {},
                "dims": {},
                "divisors": {},
                "assumed": frozenset(),
                "shared_bytes": self.bytes,
                **self.fields,
            }
        )
        verify(kernel)
        return kernel

    def run(self, *args: object, grid: tuple[int, int, int] = (1, 1, 1)) -> Result:
        """Runs the kernel; findings of the emulator (races, accesses outside, ...) are errors."""
        kernel = self.kernel()
        return launch(codegen.emit(kernel), "k", grid, args, dynamic_shared=self.bytes if kernel.dynamic_shared else 0)


def patches(threads: int, m: int, n: int, tm: int, tn: int, run: int) -> Patches:
    return Patches(threads, tm, tn, -(-m // tm), -(-n // tn), run)


def hold(build: Builder, tile: Value, layout: Layout, schedule: Schedule) -> Value:
    assert isinstance(tile.type, TileType)
    type = TileType(tile.type.element, tile.type.shape, layout)
    return build.op("hold", (tile,), (type,), {"schedule": schedule}).result


def values(element: ScalarType, *shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Reproducible numbers of a type: normal floats, small integers."""
    random = np.random.default_rng(seed)
    if element.is_float:
        return (random.standard_normal(shape) * scale).astype(NUMPY[element])
    low = 0 if element in (U8, U16, U32) else -9
    return random.integers(low, 10, shape).astype(NUMPY[element])


def zeros(element: ScalarType, *shape: int) -> Array:
    return np.zeros(shape, NUMPY[element])


def reduced(kind: str, x: Array) -> Array:
    """A `reduce` along the rows; sums of floats in f64."""
    match kind:
        case "max":
            return np.fmax.reduce(x, axis=1, keepdims=True)
        case "argmax":
            return np.argmax(x, axis=1, keepdims=True).astype(np.int32)
        case _ if x.dtype.kind == "i":
            return x.sum(axis=1, keepdims=True, dtype=x.dtype)
        case _:
            return x.astype(np.float64).sum(axis=1, keepdims=True)
