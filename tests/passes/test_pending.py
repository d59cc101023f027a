"""`Pending` answers as comparing each pair of accesses does."""

from hypothesis import given
from hypothesis import strategies as st

from phobos_core.ir.accesses import FIRST_THREAD, Access, conflict
from phobos_core.ir.module import Value
from phobos_core.ir.regions import Atom, Earlier, Form, Region
from phobos_core.ir.types import MemType
from phobos_core.language.types import F32, INDEX
from phobos_core.passes.pending import Pending

GLOBAL = [Value(MemType(F32, (None, None), "global")) for _ in range(2)]
SHARED = [Value(MemType(F32, (64, 64), "shared")) for _ in range(3)]
VARIABLE = Value(INDEX)
ATOMS: list[Atom] = [VARIABLE, Earlier(VARIABLE, 16), Value(INDEX)]

terms = st.sampled_from([frozenset[tuple[Atom, int]](), *(frozenset({(atom, 1)}) for atom in ATOMS)])
forms: st.SearchStrategy[Form] = st.tuples(terms, st.integers(-40, 40))
starts = st.tuples(st.none() | forms, st.none() | forms)
shapes = st.tuples(st.integers(1, 17), st.sampled_from([1, 16]))
maps = st.sampled_from([None, FIRST_THREAD, ("cyclic", 4, 0), ("cyclic", 4, 64)])


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    buffer = draw(st.sampled_from([*GLOBAL, *SHARED]))
    flat = draw(st.booleans()) and buffer in SHARED
    stage = draw(st.none() | forms) if buffer in SHARED else None
    region = Region(buffer, stage, draw(starts), draw(shapes), flat)
    first = draw(st.integers(0, 3000))
    bytes = (first, first + draw(st.integers(4, 3000))) if buffer in SHARED else None
    return Access(region, draw(st.booleans()), draw(maps), bytes)


@given(st.lists(accesses(), min_size=1, max_size=48), st.integers(0, (1 << 48) - 1))
def test_an_access_conflicts_with_a_set_if_it_does_with_one_of_it(given: list[Access], chosen: int) -> None:
    pending = Pending()
    among = 0
    for number, access in enumerate(given):
        bit = pending.bit(access)
        among |= bit if chosen >> number & 1 else 0
    expected = [any(conflict(access, other) for other in pending.of(among)) for access in given]
    assert [pending.conflicts(access, among) for access in given] == expected


@given(st.lists(accesses(), max_size=8, unique=True))
def test_a_set_gives_back_what_it_was_made_of(given: list[Access]) -> None:
    pending = Pending()
    among = 0
    for access in given:
        among |= pending.bit(access)
    assert list(pending.of(among)) == given
