"""What C, CUDA, Triton and Python call what Phobos has under another name: an author who comes from there writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float": "f32",
        "float32": "f32",
        "fp32": "f32",
        "double": "f64",
        "float64": "f64",
        "fp64": "f64",
        "half": "f16",
        "float16": "f16",
        "fp16": "f16",
        "bfloat16": "bf16",
        "__nv_bfloat16": "bf16",
        "char": "i8",
        "int8": "i8",
        "int8_t": "i8",
        "int": "i32",
        "int32": "i32",
        "int32_t": "i32",
        "long": "i64",
        "int64": "i64",
        "int64_t": "i64",
        "size_t": "i64",
        "uint8": "u8",
        "uint8_t": "u8",
        "uint16": "u16",
        "uint16_t": "u16",
        "uint32": "u32",
        "uint32_t": "u32",
        "unsigned": "u32",
        "boolean": "bool",
    }
)

# Functions by their names; the arguments stay.
FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "__syncthreads": "barrier",
        "syncthreads": "barrier",
        "sync_threads": "barrier",
        "matmul": "dot",
        "atomicAdd": "atomic_add",
        "atomicCAS": "atomic_cas",
        "expf": "exp",
        "__expf": "exp",
        "logf": "log",
        "powf": "pow",
        "sqrtf": "sqrt",
        "rsqrtf": "rsqrt",
        "tanhf": "tanh",
        "sinf": "sin",
        "cosf": "cos",
        "fabs": "abs",
        "fabsf": "abs",
        "fmaxf": "max",
        "fminf": "min",
        "maximum": "tmax",
        "select": "where",
        "__popc": "popcount",
        "__byte_perm": "byteperm",
        "__dp4a": "dp4a",
    }
)

# Calls with the number of an axis, by what they are here.
AXES: Mapping[str, str] = MappingProxyType({"program_id": "ctx.block", "num_programs": "ctx.blocks"})

# Names without a call, and fields of `ctx`.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "tid": "ctx.thread",
        "thread_id": "ctx.thread",
        "threadIdx": "ctx.thread",
        "lane_id": "ctx.lane",
        "laneid": "ctx.lane",
        "warp_id": "ctx.warp",
        "warpid": "ctx.warp",
        "blockDim": "ctx.threads",
        "warpSize": "ctx.lanes",
        "True": "true",
        "False": "false",
    }
)
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "tid": "thread",
        "thread_id": "thread",
        "thread.x": "thread",
        "lane_id": "lane",
        "warp_id": "warp",
        "warp_size": "lanes",
        "grid.x": "blocks.x",
        "grid.y": "blocks.y",
        "grid.z": "blocks.z",
        "bid.x": "block.x",
        "bid.y": "block.y",
        "bid.z": "block.z",
        "bid": "block.x",
        "block_size": "threads",
        "block_dim": "threads",
    }
)


def _axis(name: str, number: int) -> re.Pattern[str]:
    return re.compile(rf"\b(?:tl|triton)\s*\.\s*{name}\s*\(\s*(?:axis\s*=\s*)?{number}\s*\)")


# What the grammar does not read at all, as a pattern on a line and what stands for it.
SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bthreadIdx\s*\.\s*x\b"), "ctx.thread"),
    (re.compile(r"\bblockIdx\s*\.\s*([xyz])\b"), r"ctx.block.\1"),
    (re.compile(r"\bgridDim\s*\.\s*([xyz])\b"), r"ctx.blocks.\1"),
    (re.compile(r"\bblockDim\s*\.\s*x\b"), "ctx.threads"),
    *((_axis("program_id", number), f"ctx.block.{axis}") for number, axis in enumerate("xyz")),
    *((_axis("num_programs", number), f"ctx.blocks.{axis}") for number, axis in enumerate("xyz")),
    (re.compile(r"\b(?:tl|math|np|torch)\s*\.\s*([a-z]\w*)(?=\s*\()"), r"\1"),
    (re.compile(r"\b([A-Za-z_]\w*)\+\+"), r"\1 += 1"),
    (re.compile(r"\b([A-Za-z_]\w*)--"), r"\1 -= 1"),
    (re.compile(r"\b(?:let|var)?\s*\b([A-Za-z_]\w*)\s*:="), r"let \1 ="),
    (re.compile(r"\s+and\s+"), " && "),
    (re.compile(r"\s+or\s+"), " || "),
    (re.compile(r"\bnot\s+"), "!"),
    (re.compile(r"\belif\b"), "else if"),
    (re.compile(r"\bdef\b"), "fn"),
    (re.compile(r"\b__global__\s+void\b|\b__global__\b"), "kernel"),
)
