"""Records: what of a frozen dataclass the nodes of a program keep when it runs."""

import pickle
from dataclasses import replace

import pytest

from phobos_core.language.records import dataclass
from phobos_core.syntax.ast import Frame, Name, Span


@dataclass(frozen=True, slots=True)
class Pair:
    first: int
    second: str = "b"


def test_by_value() -> None:
    assert Pair(1) == Pair(1, "b") != Pair(2)
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert replace(Pair(1), first=2) == Pair(2)
    assert pickle.loads(pickle.dumps(Pair(3))) == Pair(3)
    match Pair(4):
        case Pair(first, second):
            assert (first, second) == (4, "b")


def test_no_field_can_be_added() -> None:
    with pytest.raises(AttributeError):
        Pair(1).third = 3  # type: ignore[attr-defined]  # that it is none is what is tested


def test_nodes_are_by_value_and_frames_by_identity() -> None:
    assert Name(Span(0, 1), "a") == Name(Span(0, 1), "a")
    assert Frame("f", Span(0, 1)) != Frame("f", Span(0, 1))
    assert len({Frame("f", Span(0, 1)), Frame("f", Span(0, 1))}) == 2
