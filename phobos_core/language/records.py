"""Frozen dataclasses of which a check makes many thousands.

To a type checker `dataclass` is that of the standard library, and a record that says `frozen=True` cannot be assigned
to. When the program runs nothing stands in the way of an assignment: a frozen dataclass sets each field through
`object.__setattr__`, and makes it in several times the time of one that is not. `docs/decisions/records.md` has what
that saves.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, eq: bool = True) -> Any:
        """With a hash by value, as what is frozen and compared by value has."""
        assert frozen
        return dataclasses.dataclass(slots=slots, eq=eq, unsafe_hash=eq)


__all__ = ["dataclass"]
