"""The quantized formats against the tables of the spec, and the block layouts of GGUF."""

import pytest

from phobos_core.language.builtins import BUILTINS, Section
from phobos_core.language.formats import FORMATS, HOST_TABLES, Family, Layout

# Bytes of 256 weights on the device, in the spec's table of formats.
SPEC_BYTES = {
    "iq1s": 50,
    "iq1m": 56,
    "iq2xxs": 66,
    "iq2xs": 74,
    "iq2s": 82,
    "iq3xxs": 98,
    "iq3s": 110,
    "q4k": 144,
    "q5k": 176,
    "q6k": 208,
    "ptq1": 56,
}

# The fields of each file block, in bytes. ptq1 is two blocks of 128 weights.
FILE_FIELDS = {
    "iq1s": [2, 32, 16],  # d, qs, qh
    "iq1m": [32, 16, 8],  # qs, qh, scales
    "iq2xxs": [2, 64],  # d, grid indices with signs and scales
    "iq2xs": [2, 64, 8],  # d, qs, scales
    "iq2s": [2, 32, 32, 8, 8],  # d, qs, signs, qh, scales
    "iq3xxs": [2, 64, 32],  # d, qs, signs with scales
    "iq3s": [2, 64, 8, 32, 4],  # d, qs, qh, signs, scales
    "q4k": [2, 2, 12, 128],  # d, dmin, scales, qs
    "q5k": [2, 2, 12, 32, 128],  # d, dmin, scales, qh, qs
    "q6k": [128, 64, 16, 2],  # ql, qh, scales, d
    "ptq1": [2 * 24, 2 * 2, 2 * 2],  # qs, qh, d
    "iq4xs": [2, 2, 4, 128],  # d, scales_h, scales_l, qs
    "q2k": [16, 64, 2, 2],  # scales, qs, d, dmin
    "q3k": [32, 64, 12, 2],  # hmask, qs, scales, d
}

# Entries times bytes per entry.
TABLE_SIZES = {
    "iq1s_packed_grid": 2048 * 8,
    "iq1s_signed_grid": 2048 * 2 * 8,
    "iq1s_grid2": 2048 * 2,
    "iq1s_grid4": 2048 * 4,
    "iq2xxs_packed_grid": 256 * 8,
    "iq2xs_packed_grid": 512 * 8,
    "iq2s_packed_grid": 1024 * 8,
    "iq3xxs_packed_grid": 256 * 4,
    "iq3s_packed_grid": 512 * 4,
    "iq2xxs_packed_signs": 128 * 8,
    "iq2xxs_sign_masks": 128 * 8,
    "iq2s_packed_signs": 256 * 8,
    "iq2s_sign_masks": 256 * 8,
}

# The tables each family reads after `d`, by the spec's table of operands.
SPEC_TABLES = {
    "iq1s_qmma_staged_t": ["iq1s_signed_grid"],
    "iq1s_qmma_t": ["iq1s_signed_grid"],
    "iq1s_qdot_i8_t": ["iq1s_grid4"],
    "iq1s_qgemm_t": ["iq1s_grid2"],
    "iq1m_qmma_staged_t": ["iq1s_packed_grid"],
    "iq1m_qdot_i8_t": ["iq1s_grid4"],
    "iq1m_qgemm_t": ["iq1s_grid2"],
    "iq2xxs_qmma_staged_t": ["iq2xxs_packed_grid", "iq2xxs_packed_signs"],
    "iq2xxs_qdot_i8_t": ["iq2xxs_packed_grid", "iq2xxs_sign_masks"],
    "iq2xxs_qgemm_t": ["iq2xxs_packed_grid", "iq2xxs_sign_masks"],
    "iq2xs_qmma_staged_t": ["iq2xs_packed_grid", "iq2xxs_packed_signs"],
    "iq2xs_qdot_i8_t": ["iq2xs_packed_grid", "iq2xxs_sign_masks"],
    "iq2xs_qgemm_t": ["iq2xs_packed_grid", "iq2xxs_sign_masks"],
    "iq2s_qmma_staged_t": ["iq2s_packed_grid", "iq2s_packed_signs"],
    "iq2s_qdot_i8_t": ["iq2s_packed_grid", "iq2s_sign_masks"],
    "iq2s_qgemm_t": ["iq2s_packed_grid", "iq2s_sign_masks"],
    "iq3xxs_qmma_staged_t": ["iq3xxs_packed_grid", "iq2xxs_packed_signs"],
    "iq3xxs_qdot_i8_t": ["iq3xxs_packed_grid", "iq2xxs_sign_masks"],
    "iq3xxs_qgemm_t": ["iq3xxs_packed_grid", "iq2xxs_sign_masks"],
    "iq3s_qmma_staged_t": ["iq3s_packed_grid", "iq2s_packed_signs"],
    "iq3s_qdot_i8_t": ["iq3s_packed_grid", "iq2s_sign_masks"],
    "iq3s_qgemm_t": ["iq3s_packed_grid", "iq2s_sign_masks"],
    "q4k_qdot_i8_t": [],
    "q4k_qgemm_t": [],
    "q5k_qdot_i8_t": [],
    "q5k_qgemm_t": [],
    "q6k_qdot_i8_t": [],
    "q6k_qgemm_t": [],
    "ptq1_qdot_i8_t": [],
    "ptq1_qgemm_t": [],
}


def test_block_bytes_and_layout() -> None:
    grouped = {f.name: f.block_bytes for f in FORMATS.values() if f.layout is Layout.GROUPED}
    assert grouped == SPEC_BYTES


@pytest.mark.parametrize("name", FORMATS)
def test_file_block_is_the_sum_of_its_fields(name: str) -> None:
    assert FORMATS[name].file_bytes == sum(FILE_FIELDS[name])


def test_row_major_formats_have_no_built_in() -> None:
    assert {f.name for f in FORMATS.values() if not f.families} == {"iq4xs", "q2k", "q3k"}


def test_formats_with_the_scales_inside_the_block() -> None:
    assert {f.name for f in FORMATS.values() if f.scale_in_block} == {"q4k", "q5k", "ptq1"}


def test_only_a_leading_scale_can_be_stripped() -> None:
    leading = {"iq1s", "iq2xxs", "iq2xs", "iq2s", "iq3xxs", "iq3s"}
    assert {f.name for f in FORMATS.values() if f.stripped_bytes} == leading
    assert all(FORMATS[name].stripped_bytes == FORMATS[name].block_bytes - 2 for name in leading)


def test_table_sizes() -> None:
    assert {t.name: t.size for t in HOST_TABLES.values()} == TABLE_SIZES


def test_families_and_their_tables() -> None:
    found = {
        f"{f.name}_{family.value}": [operand.table.name for operand in operands]
        for f in FORMATS.values()
        for family, operands in f.tables.items()
    }
    assert found == SPEC_TABLES


def test_a_built_in_for_every_family_member() -> None:
    quantized = {b.name for b in BUILTINS.values() if b.section is Section.QUANTIZED}
    assert quantized == set(SPEC_TABLES) | {"qdot_t", "qmma_t", "q50_qdot_t", "q50_qmma_t"}


@pytest.mark.parametrize("name", SPEC_TABLES)
def test_operands_of_a_member(name: str) -> None:
    fmt, _, family = name.partition("_")
    (form,) = BUILTINS[name].forms
    first = "aq" if family == Family.QDOT.value else "a"
    assert [p.name for p in form.params][:4] == [first, "a_scales", "qb", "d"]
    assert [p.elements[0].name for p in form.params][:4] == ["i8", "f32", "i8", "f16"]
    sizes = [p.shape for p in form.params[4:]]
    assert sizes == [("1", str(TABLE_SIZES[table])) for table in SPEC_TABLES[name]]
    qb = form.params[2].shape
    assert qb is not None
    assert qb[1] == f"K/256*{SPEC_BYTES[fmt]}"
