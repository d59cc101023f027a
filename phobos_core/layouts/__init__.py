"""Where the elements of a tile lie among registers, lanes and warps, as linear maps over GF(2).

A small algebra that knows nothing of Phobos: vectors are integers seen as bits, maps are tuples of columns. The idea is
that of Linear Layouts (Zhou et al., 2025): for extents that are powers of two, every layout that hardware asks for
(blocked tiles, matrix fragments, swizzled shared memory, what a reduction leaves) is a linear map from the bits of
(register, lane, warp) to the bits of the element's row-major index, and what a conversion costs is read off two maps.

`gf2` is the linear algebra, `layout` the maps and how they are built, `conversion` what takes one layout to another,
`memory` how wide an access may be, how many banks it meets, and the placement in shared memory that suits two layouts.
"""

from phobos_core.layouts.conversion import Conversion, Exchange, conversion
from phobos_core.layouts.layout import Layout, blocked
from phobos_core.layouts.memory import (
    Placement,
    access_degree,
    bank_degree,
    phase_visits,
    row_major,
    swizzle,
    vector_bits,
)

__all__ = [
    "Conversion",
    "Exchange",
    "Layout",
    "Placement",
    "access_degree",
    "bank_degree",
    "blocked",
    "conversion",
    "phase_visits",
    "row_major",
    "swizzle",
    "vector_bits",
]
