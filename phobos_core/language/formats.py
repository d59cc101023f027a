"""The quantized block formats and their host tables, as data.

Out: `FORMATS` (bytes per 256 weights, layout, which families of built-ins a format has, which tables each
family reads) and `HOST_TABLES` (their sizes). The quantized built-ins are generated from them, and the code
that packs weights and builds tables on the host must agree with them.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

BLOCK = 256  # weights per block, on the device


class Family(Enum):
    """A family of built-ins; the value is the built-in's name after `<fmt>_`."""

    QDOT = "qdot_i8_t"
    QGEMM = "qgemm_t"
    QMMA_STAGED = "qmma_staged_t"
    QMMA = "qmma_t"


class Layout(Enum):
    GROUPED = "grouped"  # groups of 8 columns: [N/8][K/256][8][bytes]
    ROW_MAJOR = "row-major"


class HostTable(NamedTuple):
    """A `[1, size]` i8 tensor that the host builds."""

    name: str
    size: int
    doc: str


class TableOperand(NamedTuple):
    """`name` is the operand's name in the built-in's signature."""

    name: str
    table: HostTable


class Format(NamedTuple):
    """`block_bytes` is what 256 weights take on the device, `file_bytes` in a file.

    `stripped_bytes` is the block without its own leading scale, which the scale plane holds as well: a device
    row may be stored so too. `scale_in_block` says that the scale plane is taken but not read.
    """

    name: str
    block_bytes: int
    file_bytes: int
    layout: Layout
    tables: Mapping[Family, tuple[TableOperand, ...]]
    stripped_bytes: int | None = None
    scale_in_block: bool = False
    note: str = ""

    @property
    def families(self) -> tuple[Family, ...]:
        return tuple(self.tables)


HOST_TABLES: Mapping[str, HostTable] = MappingProxyType(
    {
        name: HostTable(name, size, doc)
        for name, size, doc in (
            ("iq1s_packed_grid", 16384, "2048 entries of 8 values -1, 0 or 1."),
            ("iq1s_signed_grid", 32768, "4096 entries of 8: 8 g + 1 for each grid value g, then 8 g - 1."),
            ("iq1s_grid2", 4096, "2048 little-endian 16-bit words, two bits of g per value."),
            ("iq1s_grid4", 8192, "2048 little-endian 32-bit words, a nibble g + 1 per value."),
            ("iq2xxs_packed_grid", 2048, "256 entries of 8 magnitudes."),
            ("iq2xs_packed_grid", 4096, "512 entries of 8 magnitudes."),
            ("iq2s_packed_grid", 8192, "1024 entries of 8 magnitudes."),
            ("iq3xxs_packed_grid", 1024, "256 entries of 4 magnitudes."),
            ("iq3s_packed_grid", 2048, "512 entries of 4 magnitudes."),
            ("iq2xxs_packed_signs", 1024, "128 entries of 8 signs 1 or -1, the eighth by parity."),
            ("iq2xxs_sign_masks", 1024, "128 entries of 8 masks 0 or -1, the eighth by parity."),
            ("iq2s_packed_signs", 2048, "256 entries of 8 signs 1 or -1, a bit each."),
            ("iq2s_sign_masks", 2048, "256 entries of 8 masks 0 or -1, a bit each."),
        )
    }
)


def operands(**tables: str) -> tuple[TableOperand, ...]:
    return tuple(TableOperand(name, HOST_TABLES[table]) for name, table in tables.items())


def signed_magnitudes(grid: str, signs: str) -> Mapping[Family, tuple[TableOperand, ...]]:
    """The tables of a format of magnitudes and signs: signs for the staged family, masks for the others."""
    masked = operands(grid=f"{grid}_packed_grid", masks=f"{signs}_sign_masks")
    return {
        Family.QDOT: masked,
        Family.QGEMM: masked,
        Family.QMMA_STAGED: operands(grid=f"{grid}_packed_grid", signs=f"{signs}_packed_signs"),
    }


IQ1S_TABLES: Mapping[Family, tuple[TableOperand, ...]] = {
    Family.QDOT: operands(grid="iq1s_grid4"),
    Family.QGEMM: operands(grid="iq1s_grid2"),
    Family.QMMA_STAGED: operands(grid="iq1s_signed_grid"),
    Family.QMMA: operands(grid="iq1s_signed_grid"),
}
IQ1M_TABLES: Mapping[Family, tuple[TableOperand, ...]] = {
    Family.QDOT: operands(grid="iq1s_grid4"),
    Family.QGEMM: operands(grid="iq1s_grid2"),
    Family.QMMA_STAGED: operands(grid="iq1s_packed_grid"),
}
NO_TABLES: Mapping[Family, tuple[TableOperand, ...]] = {Family.QDOT: (), Family.QGEMM: ()}
NO_FAMILIES: Mapping[Family, tuple[TableOperand, ...]] = {}
BY_HAND = "No built-in: its decode is written with lanes."

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        f.name: f
        for f in (
            Format("iq1s", 50, 50, Layout.GROUPED, IQ1S_TABLES, stripped_bytes=48),
            Format("iq1m", 56, 56, Layout.GROUPED, IQ1M_TABLES),
            Format("iq2xxs", 66, 66, Layout.GROUPED, signed_magnitudes("iq2xxs", "iq2xxs"), stripped_bytes=64),
            Format("iq2xs", 74, 74, Layout.GROUPED, signed_magnitudes("iq2xs", "iq2xxs"), stripped_bytes=72),
            Format("iq2s", 82, 82, Layout.GROUPED, signed_magnitudes("iq2s", "iq2s"), stripped_bytes=80),
            Format("iq3xxs", 98, 98, Layout.GROUPED, signed_magnitudes("iq3xxs", "iq2xxs"), stripped_bytes=96),
            Format("iq3s", 110, 110, Layout.GROUPED, signed_magnitudes("iq3s", "iq2s"), stripped_bytes=108),
            Format("q4k", 144, 144, Layout.GROUPED, NO_TABLES, scale_in_block=True),
            Format("q5k", 176, 176, Layout.GROUPED, NO_TABLES, scale_in_block=True),
            Format(
                "q6k",
                208,
                210,
                Layout.GROUPED,
                NO_TABLES,
                note="The block's trailing scale moves to the scale plane on the device.",
            ),
            Format(
                "ptq1",
                56,
                56,
                Layout.GROUPED,
                NO_TABLES,
                scale_in_block=True,
                note="Two file blocks of 128 weights make one device block, laid out anew at upload.",
            ),
            Format("iq4xs", 136, 136, Layout.ROW_MAJOR, NO_FAMILIES, note=BY_HAND),
            Format("q2k", 84, 84, Layout.ROW_MAJOR, NO_FAMILIES, note=BY_HAND),
            Format("q3k", 110, 110, Layout.ROW_MAJOR, NO_FAMILIES, note=BY_HAND),
        )
    }
)
