"""AST to checked program: names, inlining, constants, types, shapes."""

from phobos_core.analysis.check import AnalysisCache, CheckedFile, PlacedFunction, PlacedKernel, check
from phobos_core.analysis.configuration import ConfigurationError, Configurations, configurations

__all__ = [
    "AnalysisCache",
    "CheckedFile",
    "ConfigurationError",
    "Configurations",
    "PlacedFunction",
    "PlacedKernel",
    "check",
    "configurations",
]
