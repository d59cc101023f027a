"""AST to checked program: names, inlining, constants, types, shapes."""

from phobos_core.analysis.check import AnalysisCache, CheckedFile, PlacedKernel, check
from phobos_core.analysis.configuration import ConfigurationError, Configurations, configurations
from phobos_core.analysis.library import Library, PlacedFunction

__all__ = [
    "AnalysisCache",
    "CheckedFile",
    "ConfigurationError",
    "Configurations",
    "Library",
    "PlacedFunction",
    "PlacedKernel",
    "check",
    "configurations",
]
