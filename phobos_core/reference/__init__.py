"""A checked program run on NumPy: the language's meaning.

Shares nothing with the compiler, so that agreement of the two says something.
"""

from phobos_core.reference.frame import ReferenceFault, Remark
from phobos_core.reference.machine import run

__all__ = ["ReferenceFault", "Remark", "run"]
