"""Bank conflicts by the rules of NVIDIA's programming guide: 32 banks of 4 bytes, phases by the width of the access."""

import pytest

from phobos_core.codegen.banks import Walk, best_shift, visits


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (4, 4, 1),  # neighbouring words
        (4, 0, 1),  # one word for all
        (4, 8, 2),  # every other bank
        (4, 128, 32),  # one bank
        (8, 8, 2),  # two phases of 16 lanes
        (8, 128, 32),
        (16, 16, 4),  # four phases of 8 lanes
        (16, 0, 4),
        (16, 256, 32),
        (16, 272, 4),  # rows padded by 16 bytes
        (1, 1, 1),  # four lanes a word
    ],
)
def test_visits(size: int, stride: int, expected: int) -> None:
    assert visits([lane * stride for lane in range(32)], size) == expected


def walks(pitch: int, columns: int) -> tuple[tuple[Walk, ...], tuple[int, ...]]:
    place = tuple(n % columns for n in range(32))
    return (Walk(tuple(n // columns for n in range(32)), pitch, 16), Walk(place, pitch, 16)), place


def test_rows_in_the_same_banks_are_read_at_different_places() -> None:
    both, place = walks(256, 16)
    shift = best_shift(both, place, 8)
    assert shift is not None
    for walk in both:
        rows = zip(walk.rows, place, strict=True)
        assert visits([r * walk.pitch + (c >> shift) % 8 * 16 for r, c in rows], 16) == 4


def test_rows_in_different_banks_are_read_in_step() -> None:
    both, place = walks(272, 16)
    assert best_shift(both, place, 8) is None
