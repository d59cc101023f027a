"""Scalar types: each is one object, wherever it is read from."""

import copy
import pickle

import pytest

from phobos_core.language.types import INDEX, SPELLED, ScalarType


@pytest.mark.parametrize("type_", [*SPELLED.values(), INDEX], ids=str)
def test_a_copy_is_the_type_itself(type_: ScalarType) -> None:
    assert pickle.loads(pickle.dumps(type_)) is type_
    assert copy.deepcopy([type_])[0] is type_


def test_types_of_one_width_are_several() -> None:
    assert len({*SPELLED.values(), INDEX}) == len(SPELLED) + 1
