"""Every diagnostic code, with the text of `phobos explain`.

Out: `CODES`. A new code is one entry in the module of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from phobos_core.language.codes import attributes, build, execution, names, per_thread, shapes, syntax, types
from phobos_core.language.codes.per_thread import FIXED_MESSAGES
from phobos_core.language.codes.schema import Code, Stage

FAMILIES: Mapping[str, tuple[Code, ...]] = MappingProxyType(
    {
        "Text": syntax.CODES,
        "Names and calls": names.CODES,
        "Types": types.CODES,
        "Shapes and subscripts": shapes.CODES,
        "Attributes and targets": attributes.CODES,
        "Per-thread code and functions": per_thread.CODES,
        "Build": build.CODES,
        "Run": execution.CODES,
    }
)

CODES: Mapping[str, Code] = MappingProxyType({code.code: code for family in FAMILIES.values() for code in family})

__all__ = ["CODES", "FAMILIES", "FIXED_MESSAGES", "Code", "Stage"]
