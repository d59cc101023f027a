"""Every built-in of the language, declared once.

Out: `BUILTINS`, the names that are called with parentheses, and `COLLECTIVES`, those called with angle
brackets first; `sum`, `min` and `max` are in both. Adding a built-in is one entry in the module of its
section, one lowering and one test of the spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from phobos_core.language.builtins import (
    attention,
    contraction,
    conversions,
    elementwise,
    per_thread,
    quantized,
    reductions,
    synchronization,
)
from phobos_core.language.builtins.collectives import COLLECTIVE_BUILTINS, OVER, SHUFFLES
from phobos_core.language.builtins.schema import (
    Bracket,
    Builtin,
    Form,
    OperandKind,
    Param,
    Result,
    Scope,
    Section,
    Use,
)

BUILTINS: Mapping[str, Builtin] = MappingProxyType(
    {
        builtin.name: builtin
        for module in (
            conversions,
            per_thread,
            synchronization,
            elementwise,
            reductions,
            contraction,
            attention,
            quantized,
        )
        for builtin in module.BUILTINS
    }
)

COLLECTIVES: Mapping[str, Builtin] = MappingProxyType({b.name: b for b in COLLECTIVE_BUILTINS})

# The words that the angle brackets of a collective or shuffle begin with.
MODES: frozenset[str] = frozenset(bracket.word for bracket in (*OVER, *SHUFFLES))

BUILTIN_NAMES: frozenset[str] = frozenset(BUILTINS) | frozenset(COLLECTIVES)

__all__ = [
    "BUILTINS",
    "BUILTIN_NAMES",
    "COLLECTIVES",
    "MODES",
    "Bracket",
    "Builtin",
    "Form",
    "OperandKind",
    "Param",
    "Result",
    "Scope",
    "Section",
    "Use",
]
