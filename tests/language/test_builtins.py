"""The table of built-ins against the rows of the spec, and against itself."""

import re

import pytest

from phobos_core.language.builtins import (
    BUILTINS,
    COLLECTIVES,
    Builtin,
    Form,
    OperandKind,
    Scope,
    Section,
    Use,
)
from phobos_core.language.targets import TARGETS
from phobos_core.language.types import BOOL, CONVERSIONS, F16, F32, I8, I32, INDEX, SPELLED, ScalarType

EVERY = [*BUILTINS.values(), *COLLECTIVES.values()]
FORMS = [(builtin, form) for builtin in EVERY for form in builtin.forms]

# The calls as the spec writes them, section by section.
SPEC_CALLS = {
    Section.OPERATORS: [
        "min(a, b)",
        "max(a, b)",
        "f16(x)",
        "bf16(x)",
        "f32(x)",
        "f64(x)",
        "i8(x)",
        "i32(x)",
        "i64(x)",
        "f16bits(x)",
        "elem(X, i)",
        "store(Y, v..)",
        "word(T, [t])",
        "dp4a(x, y, acc)",
        "byteperm(x, y, sel)",
        "popcount(x)",
    ],
    Section.COLLECTIVES: ["sum(e)"],
    Section.SYNCHRONIZATION: [
        "barrier()",
        "grid_barrier(bar)",
        "atomic_add(t, i, v)",
        "atomic_cas(t, i, e, v)",
        "load_acquire(t, i)",
        "store_release(t, i, v)",
    ],
    Section.ELEMENTWISE: [
        "exp(t)",
        "log(t)",
        "pow(a, b)",
        "sqrt(t)",
        "tanh(t)",
        "round(t)",
        "floor(t)",
        "ceil(t)",
        "abs(t)",
        "rsqrt(t)",
        "sin(t)",
        "cos(t)",
        "where(c, a, b)",
        "iota(d)",
        "tmax(a, b)",
        "argsel(va, vb, ia, ib)",
    ],
    Section.REDUCTIONS: [
        "rowmax(t)",
        "rowsum(t)",
        "rowargmax(t)",
        "cumsum(t)",
        "tril(t)",
        "transpose(t)",
        "flat(t)",
        "gather(table, idx)",
    ],
    Section.CONTRACTION: ["dot(a, b)", "dot_t(a, b)"],
    Section.ATTENTION: ["warp_partial(q, K, V, lo, hi, col, WM, WL, WACC, scale)"],
}

SPEC_COLLECTIVES = [
    "sum<over ctx.lane>(x)",
    "max<over ctx.lane>(x)",
    "min<over ctx.lane>(x)",
    "any<over ctx.lane>(c)",
    "all<over ctx.lane>(c)",
    "argmax<over ctx.lane>(x)",
    "reduce<over ctx.lane>(x, f)",
    "shfl<from index>(v)",
]

# Operand shapes in the order of the parameters, and the result's.
SPEC_SHAPES = {
    "rowmax": "[R, C] -> [R, 1]",
    "rowsum": "[R, C] -> [R, 1]",
    "rowargmax": "[R, C] -> [R, 1]",
    "cumsum": "[R, C] -> [R, C]",
    "tril": "[R, C] -> [R, C]",
    "transpose": "[R, C] -> [C, R]",
    "flat": "[R, C] -> [1, R*C]",
    "dot": "[M, K] x [K, N] -> [M, N]",
    "dot_t": "[M, K] x [N, K] -> [M, N]",
    "qdot_t": "[M, K] x [M, K/32] x [N, K] x [N, K/32] -> [M, N]",
    "qmma_t": "[M, K] x [M, K/32] x [N, K] x [K/32, N] -> [M, N]",
    "q50_qdot_t": "[M, K] x [M, K/32] x [N, K/32*20] x [N, K/32] -> [M, N]",
    "q50_qmma_t": "[M, K] x [M, K/32] x [N, K/32*20] x [K/32, N] -> [M, N]",
    "q4k_qdot_i8_t": "[1, K] x [1, K/32] x [N, K/256*144] x [N, K/256] -> [1, N]",
    "q4k_qgemm_t": "[128, K] x [128, K/32] x [64, K/256*144] x [64, K/256] -> [128, 64]",
    "iq2s_qmma_staged_t": "[M, K] x [M, K/32] x [N, K/256*82] x [N, K/256] x [1, 8192] x [1, 2048] -> [M, N]",
}


def calls(section: Section) -> list[str]:
    return [b.signature(b.forms[0]) for b in BUILTINS.values() if b.section is section]


@pytest.mark.parametrize("section", SPEC_CALLS, ids=lambda s: s.name)
def test_the_calls_of_a_section_are_those_of_the_spec(section: Section) -> None:
    assert sorted(calls(section)) == sorted(SPEC_CALLS[section])


def test_the_collectives_are_those_of_the_spec() -> None:
    assert [b.signature(b.forms[0]) for b in COLLECTIVES.values()] == SPEC_COLLECTIVES


def test_every_section_has_built_ins() -> None:
    assert {b.section for b in BUILTINS.values()} == set(Section)


@pytest.mark.parametrize("name", SPEC_SHAPES)
def test_shapes_are_those_of_the_spec(name: str) -> None:
    assert BUILTINS[name].forms[0].shape_text == SPEC_SHAPES[name]


def test_no_entry_hides_another() -> None:
    assert all(BUILTINS[b.name] is b for b in BUILTINS.values())
    assert len(BUILTINS) == sum(len(names) for names in SPEC_CALLS.values()) + len(calls(Section.QUANTIZED))


def test_names_in_both_tables() -> None:
    assert set(BUILTINS) & set(COLLECTIVES) == {"sum", "min", "max"}


def test_conversions_are_the_types_that_convert() -> None:
    assert {n for n in BUILTINS if n in SPELLED} == set(CONVERSIONS)
    for name, target in CONVERSIONS.items():
        assert {form.result.element for form in BUILTINS[name].forms} == {target}
        assert all(BOOL not in form.params[0].elements for form in BUILTINS[name].forms)


@pytest.mark.parametrize(
    ("name", "minimum"),
    [
        ("exp", 0),
        ("tanh", 75),
        ("dot_t", 0),
        ("dp4a", 61),
        ("qdot_t", 61),
        ("qmma_t", 75),
        ("iq1s_qmma_t", 75),
        ("iq1s_qmma_staged_t", 75),
        ("q4k_qgemm_t", 75),
        ("q4k_qdot_i8_t", 61),
        ("load_acquire", 70),
    ],
)
def test_least_targets(name: str, minimum: int) -> None:
    assert BUILTINS[name].min_target == minimum


def test_least_targets_are_targets() -> None:
    for builtin in EVERY:
        assert builtin.min_target == 0 or f"sm_{builtin.min_target}" in TARGETS, builtin.name


def test_what_needs_64_bit_indices() -> None:
    wide = {b.name for b in EVERY if b.min_index_bits == 64}
    assert wide == {"load_acquire", "store_release", *(n for n in BUILTINS if n.endswith("_qgemm_t"))}


def test_the_projection_needs_its_cta_size() -> None:
    assert {b.name for b in EVERY if b.threads} == {n for n in BUILTINS if n.endswith("_qgemm_t")}
    assert all(b.threads in (None, 256) for b in EVERY)


def test_what_is_checked() -> None:
    assert {b.section for b in BUILTINS.values() if not b.supported} == {Section.QUANTIZED}
    assert not any(b.supported for b in BUILTINS.values() if b.section is Section.QUANTIZED)
    assert all(b.supported for b in COLLECTIVES.values())


def test_barriers_atomics_and_flags_run_once_per_cta_with_uniform_operands() -> None:
    assert all(b.once_per_cta for b in BUILTINS.values() if b.section is Section.SYNCHRONIZATION)
    assert BUILTINS["atomic_cas"].uniform_operands == {"i", "e", "v"}
    assert BUILTINS["store_release"].uniform_operands == {"i", "v"}


def test_scalar_arithmetic_runs_in_each_thread() -> None:
    for name in ("f16bits", "elem", "store", "word", "dp4a", "byteperm", "popcount", "sum"):
        assert [form.scope for form in BUILTINS[name].forms] == [Scope.THREAD]


@pytest.mark.parametrize(("builtin", "form"), FORMS, ids=lambda x: getattr(x, "name", ""))
def test_a_tile_makes_a_form_run_once_per_cta(builtin: Builtin, form: Form) -> None:
    tiles = {OperandKind.TILE, OperandKind.NAMED_TILE, OperandKind.SLICE}
    needs_cta = form.result.tile or any(tiles & set(p.accepts) for p in form.params)
    assert form.scope is Scope.CTA or not needs_cta


def test_groups_of_a_collective() -> None:
    scopes = {(b.word, b.operand): (b.scope, b.width) for b in COLLECTIVES["sum"].brackets}
    assert scopes == {("over", "ctx.lane"): (Scope.WARP, True), ("over", "ctx.thread"): (Scope.CTA, False)}
    assert [b.word for b in COLLECTIVES["shfl"].brackets] == ["from", "xor", "down", "up"]
    assert all(b.width and b.scope is Scope.WARP for b in COLLECTIVES["shfl"].brackets)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("q4k_qdot_i8_t", Use.VALUE),
        ("q4k_qgemm_t", Use.EITHER),
        ("iq1s_qmma_staged_t", Use.EITHER),
        ("iq1s_qmma_t", Use.EITHER),
        ("qmma_t", Use.EITHER),
        ("barrier", Use.EITHER),
        ("exp", Use.VALUE),
    ],
)
def test_statement_or_value(name: str, use: Use) -> None:
    assert BUILTINS[name].use is use


def test_element_types() -> None:
    (column_sum,) = BUILTINS["cumsum"].forms
    assert all(t.is_float for t in column_sum.params[0].elements)
    (row_sum,) = BUILTINS["rowsum"].forms
    assert {"f32", "i8", "i32"} <= {t.name for t in row_sum.params[0].elements}
    assert BUILTINS["rowargmax"].forms[0].result.element == I32
    assert BUILTINS["iota"].forms[0].result.element == I32
    assert BUILTINS["argsel"].forms[0].params[0].variable == BUILTINS["argsel"].forms[0].params[1].variable
    assert [form.result.element for form in BUILTINS["dot_t"].forms] == ["join(T, U)", I32]
    assert [form.params[0].elements for form in BUILTINS["dot_t"].forms][1] == (I8,)
    assert all(I8 not in form.params[0].elements for form in BUILTINS["dot"].forms)
    assert BUILTINS["f16bits"].forms[0].result.element == F16
    assert BUILTINS["exp"].forms[1].result.element == F32
    assert INDEX in BUILTINS["abs"].forms[2].params[0].elements


@pytest.mark.parametrize(("builtin", "form"), FORMS, ids=lambda x: getattr(x, "name", ""))
def test_a_form_binds_what_its_result_uses(builtin: Builtin, form: Form) -> None:
    bound = {symbol for p in form.params for extent in p.shape or () for symbol in symbols(extent)}
    for extent in form.result.shape or ():
        assert symbols(extent) <= bound, builtin.name
    assert set(form.dynamic) <= bound
    assert {symbol for symbol, _ in form.multiples} <= bound
    if isinstance(form.result.element, str) and form.result.element != "sum(e)":
        variables = set(re.findall(r"\b[A-Z]\b", form.result.element))
        assert variables
        assert variables <= {p.variable for p in form.params}
    else:
        assert form.result.element == "sum(e)" or isinstance(form.result.element, ScalarType)


@pytest.mark.parametrize(("builtin", "form"), FORMS, ids=lambda x: getattr(x, "name", ""))
def test_parameters_are_whole(builtin: Builtin, form: Form) -> None:
    names = [p.name for p in form.params]
    assert len(set(names)) == len(names)
    optional = [p.optional or p.variadic for p in form.params]
    assert optional == sorted(optional), "what may be left out comes last"
    for p in form.params:
        assert p.accepts
        assert p.doc.endswith(".")
        assert p.elements or p.accepts == (OperandKind.FUNCTION,)
        for extent in p.shape or ():
            assert re.fullmatch(r"\w+([*/]\w+)*", extent)


@pytest.mark.parametrize("builtin", EVERY, ids=lambda b: b.name)
def test_the_text_of_an_entry(builtin: Builtin) -> None:
    assert builtin.summary.endswith(".")
    assert all(note.endswith(".") for note in builtin.notes)
    assert re.search(rf"\b{builtin.name}(<[^>]*>)?\(", builtin.example), "the example calls it"
    assert builtin.example.count("kernel ") == 1
    assert builtin.example.endswith("}\n")


def test_argument_counts() -> None:
    (word,) = BUILTINS["word"].forms
    assert (word.least_arguments, word.most_arguments) == (1, 2)
    (store,) = BUILTINS["store"].forms
    assert (store.least_arguments, store.most_arguments) == (1, None)


def symbols(extent: str) -> set[str]:
    return {part for part in re.split(r"[*/]", extent) if not part.isdigit()}
