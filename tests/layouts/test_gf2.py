"""The linear algebra against exhaustive search in small spaces."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from phobos_core.layouts import gf2

BITS = 5
vectors = st.lists(st.integers(0, 2**BITS - 1), max_size=6)


def span_of(found: list[int]) -> set[int]:
    result = {0}
    for vector in found:
        result |= {vector ^ other for other in result}
    return result


@given(vectors, st.integers(0, 2**BITS - 1))
def test_membership_and_dimension(found: list[int], vector: int) -> None:
    everything = span_of(found)
    span = gf2.Span(found)
    assert (vector in span) == (vector in everything)
    assert 2**span.dimension == len(everything)
    assert span_of(span.basis()) == everything


@given(vectors, st.integers(0, 2**BITS - 1))
def test_solve(columns: list[int], target: int) -> None:
    found = gf2.solve(columns, target)
    assert (found is not None) == (target in span_of(columns))
    if found is not None:
        assert gf2.apply(columns, found) == target


@given(vectors)
def test_kernel(columns: list[int]) -> None:
    zeros = {
        sum(bit << i for i, bit in enumerate(bits))
        for bits in product((0, 1), repeat=len(columns))
        if gf2.apply(columns, sum(bit << i for i, bit in enumerate(bits))) == 0
    }
    assert span_of(gf2.kernel(columns)) == zeros


@given(vectors, vectors)
def test_intersection(a: list[int], b: list[int]) -> None:
    assert span_of(gf2.intersection(a, b)) == span_of(a) & span_of(b)


@given(vectors)
def test_complement(found: list[int]) -> None:
    more = gf2.complement(found, BITS)
    assert span_of([*found, *more]) == set(range(2**BITS))
    assert len(span_of(found)) * len(span_of(more)) == 2**BITS


@given(st.permutations(list(range(BITS))), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_inverse(order: list[int], additions: list[tuple[int, int]]) -> None:
    columns = [1 << bit for bit in order]
    for to, source in additions:
        if to != source:
            columns[to] ^= columns[source]
    inverse = gf2.inverse(columns, BITS)
    assert inverse is not None
    assert gf2.compose(columns, inverse) == gf2.identity(BITS)
    assert gf2.inverse(columns[:-1], BITS) is None
