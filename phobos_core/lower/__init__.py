"""Checked program and one configuration to tile IR."""

from phobos_core.lower.kernel import lower
from phobos_core.lower.lines import LineTable, LowerError

__all__ = ["LineTable", "LowerError", "lower"]
