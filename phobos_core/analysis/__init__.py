"""AST to checked program: names, inlining, constants, types, shapes."""

from phobos_core.analysis.check import AnalysisCache, CheckedFile, PlacedKernel, check
from phobos_core.analysis.configuration import ConfigurationError, Configurations, configurations

__all__ = [
    "AnalysisCache",
    "CheckedFile",
    "ConfigurationError",
    "Configurations",
    "PlacedKernel",
    "check",
    "configurations",
]
