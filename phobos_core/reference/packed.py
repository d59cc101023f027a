"""Packed words: `word`, `dp4a`, `byteperm`, `popcount`, `f16bits`, on the low bits of index values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phobos_core.reference.numerics import Array


def word(elements: Array, dtype: np.dtype[Any]) -> Array:
    """Four bytes on the first axis as the little-endian word that they pack, unsigned."""
    octets = elements.astype(np.int64) & 255
    return np.asarray(sum(octets[i] << (8 * i) for i in range(4)), np.int64).astype(dtype)


def _bytes(value: Array) -> list[Array]:
    """The four bytes of the low 32 bits, the lowest first."""
    return [(value.astype(np.int64) >> (8 * i)) & 255 for i in range(4)]


def dp4a(x: Array, y: Array, acc: Array) -> Array:
    products = sum(_signed(a) * _signed(b) for a, b in zip(_bytes(x), _bytes(y), strict=True))
    return np.asarray(np.add(acc, np.asarray(products).astype(acc.dtype)))


def _signed(octet: Array) -> Array:
    return np.asarray((octet ^ 128) - 128)


def byteperm(x: Array, y: Array, selector: Array) -> Array:
    """A nibble of 8 and more gives, as `prmt` does, eight copies of the sign of the byte that its low bits name."""
    *octets, choice = np.broadcast_arrays(*_bytes(x), *_bytes(y), selector.astype(np.int64))
    stacked = np.stack(octets)
    result = np.zeros((), np.int64)
    for i in range(4):
        nibble = (choice >> (4 * i)) & 15
        picked = np.take_along_axis(stacked, (nibble & 7)[np.newaxis], 0)[0]
        octet = np.where(nibble & 8, np.where(picked & 128, 255, 0), picked)
        result = result | (octet << (8 * i))
    return result.astype(x.dtype)


def popcount(x: Array) -> Array:
    low = x.astype(np.int64) & 0xFFFFFFFF
    return np.asarray(sum((low >> i) & 1 for i in range(32))).astype(x.dtype)


def f16bits(x: Array) -> Array:
    return (x.astype(np.int64) & 0xFFFF).astype(np.uint16).view(np.float16)


BITS: Mapping[str, Callable[..., Array]] = {
    "dp4a": dp4a,
    "byteperm": byteperm,
    "popcount": popcount,
    "f16bits": f16bits,
}
