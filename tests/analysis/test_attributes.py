"""Attributes and their argument checks, and the choices they give: the spec's Attributes."""

import pytest

from phobos_core.analysis import ConfigurationError, configurations
from tests.analysis.support import codes, found, kernel_of

PARAMS = "A: tensor<f32>[M, N], B: tensor<f32>[T, 64], n: i32"
TILE = "var t: tile<f32>[64, 64] = 0.0"


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ("@unknown", "unknown-attribute"),
        ("@readonly", "planned-attribute"),
        ("@fast_math", "planned-attribute"),
        ("@assert_coalesced", "planned-attribute"),
        ("@pipeline @pipeline", "duplicate-attribute"),
        ("@launch(256) @launch(128)", "duplicate-attribute"),
        ("@tensorcore @tensorcore(wmma)", "duplicate-attribute"),
        # Arguments.
        ("@pipeline(3)", "attribute-argument"),
        ("@persistent(true)", "attribute-argument"),
        ("@launch", "attribute-argument"),
        ("@launch(0)", "attribute-argument"),
        ("@launch(1025)", "attribute-argument"),
        ("@launch(256.0)", "attribute-argument"),
        ("@launch(threads = 256)", "attribute-argument"),
        ("@launch(256, 0)", "attribute-argument"),
        ("@launch(256, 1, 15)", "attribute-argument"),
        ("@launch(256, 1, 256)", "attribute-argument"),
        ("@launch(256, 1, 64, 2)", "attribute-argument"),
        ("@tensorcore(hmma)", "attribute-argument"),
        ("@tensorcore(wmma, sync)", "attribute-argument"),
        ("@autotune", "attribute-argument"),
        ("@autotune(Q)", "attribute-argument"),
        ("@autotune(Q = 3)", "attribute-argument"),
        ("@aligned", "attribute-argument"),
        ("@aligned(M)", "attribute-argument"),
        ("@aligned(M = 0)", "attribute-argument"),
        ("@aligned(M = 2.5)", "attribute-argument"),
        ("@aligned(M = n)", "attribute-argument"),
        ("@aligned(M = 4, M = 8)", "attribute-argument"),
        ("@aligned(M = 4) @aligned(M = 8)", "attribute-argument"),
        ("@aligned(Q = 4)", "unknown-dimension"),
        ("@aligned(n = 4)", "unknown-dimension"),
        ("@autotune(Q in [4]) @aligned(Q = 4)", "unknown-dimension"),
        ("@aligned(M = Q)", "unknown-name"),
        ("@aligned(T = 6)", "aligned-mismatch"),
        # Search dimensions.
        ("@autotune(Q in [0, 4])", "autotune-range"),
        ("@autotune(Q in [0])", "autotune-range"),
        ("@autotune(Q in [4, 2])", "autotune-range"),
        ("@autotune(Q in [1, 2, 0])", "autotune-range"),
        ("@autotune(Q in [1, 99999999999])", "autotune-range"),
        ("@cluster(Q in [0, 4])", "autotune-range"),
        ("@autotune(T in [4, 8])", "duplicate-name"),
        ("@cluster(Q in [4], Q in [4])", "duplicate-name"),
        ("@registers", "attribute-argument"),
        ("@registers(3)", "attribute-argument"),
        ("@registers(zz)", "registers-tile"),
        ("@registers(n)", "registers-tile"),
    ],
)
def test_one_mistake_gives_one_diagnostic(attributes: str, code: str) -> None:
    assert codes("", f"@autotune(T in [4, 16])\n{attributes}\n", PARAMS) == [code]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ("[64]", (64,)),
        ("[16, 256]", (16, 32, 64, 128, 256)),
        ("[4, 32]", (4, 8, 16, 32)),
        ("[3, 20]", (3, 6, 12)),
        ("[4, 8, 24]", (4, 8, 24)),
        ("[32, 16, 8]", (32, 16, 8)),
    ],
)
def test_choices(choices: str, expected: tuple[int, ...]) -> None:
    assert kernel_of("", f"@autotune(Q in {choices})\n").search == {"Q": expected}
    assert kernel_of("", f"@cluster(Q in {choices})\n").cluster == {"Q": expected}


def test_all_attributes_are_passed_on() -> None:
    attributes = (
        "@autotune(T in [4, 16]) @autotune(U in [2]) @cluster(T in [64, 128]) @launch(64, 2, 128) @tensorcore(wmma)"
        " @pipeline @padstage @dynshared @persistent @aligned(M = T, N = 8) @registers(t)\n"
    )
    kernel = kernel_of(TILE, attributes, PARAMS)
    assert kernel.search == {"T": (4, 8, 16), "U": (2,)}
    assert kernel.cluster == {"T": (64, 128)}
    assert (kernel.launch.threads, kernel.launch.min_blocks, kernel.launch.max_registers) == (64, 2, 128)
    assert kernel.tensorcore == "wmma"
    assert kernel.pipeline
    assert kernel.padstage
    assert kernel.dynshared
    assert kernel.persistent
    assert {name: str(unit) for name, unit in kernel.aligned.items()} == {"M": "T", "N": "8"}
    assert [symbol.name for symbol in kernel.registers] == ["t"]
    assert [r.text for r in kernel.requires] == ["M % T == 0", "N % 8 == 0"]
    assert [r.op for r in kernel.requires] == ["multiple of", "multiple of"]


def test_defaults() -> None:
    kernel = kernel_of("", "")
    assert (kernel.launch.threads, kernel.launch.min_blocks, kernel.launch.max_registers) == (256, None, None)
    assert kernel.tensorcore is None
    assert not kernel.pipeline
    assert kernel_of("", "@tensorcore\n").tensorcore == "auto"
    assert kernel_of("", "@tensorcore(sync)\n").tensorcore == "sync"


def test_a_bound_dimension_keeps_its_promise_now() -> None:
    attributes = "@autotune(T in [4, 16])\n@aligned(M = T)\n"
    kernel = kernel_of("", attributes, PARAMS, dims={"M": 32})
    assert kernel.dims == ("N",)
    assert kernel.requires == ()
    [diagnostic] = found("", attributes, PARAMS, dims={"M": 24})
    assert diagnostic.code == "aligned-mismatch"
    assert "T = 16" in diagnostic.message
    assert "T = 8" not in diagnostic.message


@pytest.mark.parametrize(
    ("attributes", "body"),
    [
        ("@registers(t) @launch(96)", "var t: tile<f32>[64, 64] = 0.0"),
        ("@registers(t) @launch(32)", "var t: tile<f32>[64, 64] = 0.0"),
        ("@registers(t) @launch(64)", "var t: tile<f32>[64, 64]"),
        ("@registers(t) @launch(64)", "var t = A[0 :+ 64, 0 :+ 64]"),
        ("@registers(t) @launch(64)", "let t: tile<f32>[64, 64] = 0.0"),
        ("@registers(t) @launch(64)", "let t = 3"),
        ("@registers(t) @launch(64)", "var t: tile<f32>[64, 64] = 0.0\nif n > 3 {\n t = 1.0\n}"),
        ("@registers(t) @launch(64)", "var t: tile<f32>[64, 64] = 0.0\nwhile n > 3 {\n t += 1.0\n}"),
    ],
)
def test_tiles_that_do_not_stay_in_registers(attributes: str, body: str) -> None:
    assert codes(body, f"{attributes}\n", PARAMS) == ["registers-tile"]


def test_tiles_that_stay_in_registers() -> None:
    body = (
        "for i in range(0, 4) {\n var t: tile<f32>[64, 64] = 0.0\n t = t + 1.0\n if n > 3 {\n  let x = t[0, 0]\n }\n}"
    )
    assert codes(body, "@registers(t) @launch(64)\n", PARAMS) == []


def test_too_many_elements_in_some_configurations() -> None:
    [diagnostic] = found("var t: tile<f32>[Q, 64] = 0.0", "@autotune(Q in [32, 256])\n@registers(t) @launch(64)\n")
    assert "Q = 128; Q = 256" in diagnostic.message


def test_configurations_are_lazy() -> None:
    space = configurations(kernel_of("", "@autotune(P in [1, 2], Q in [3, 4, 5])\n"))
    assert len(space) == 6
    assert space.first() == {"P": 1, "Q": 3}
    assert list(space)[:4] == [{"P": 1, "Q": 3}, {"P": 1, "Q": 4}, {"P": 1, "Q": 5}, {"P": 2, "Q": 3}]
    assert space.at_most(2) == [{"P": 1, "Q": 3}, {"P": 1, "Q": 4}]
    assert space.named({"Q": 5}) == {"P": 1, "Q": 5}
    assert configurations(kernel_of("", "")).first() == {}
    assert list(configurations(kernel_of("", ""))) == [{}]


@pytest.mark.parametrize(("overrides", "words"), [({"Z": 3}, "P, Q"), ({"Q": 6}, "3, 4, 5")])
def test_a_configuration_that_does_not_exist(overrides: dict[str, int], words: str) -> None:
    space = configurations(kernel_of("", "@autotune(P in [1, 2], Q in [3, 4, 5])\n"))
    with pytest.raises(ConfigurationError, match=words):
        space.named(overrides)


def test_a_name_overridden_by_the_command_line() -> None:
    assert kernel_of("", "@autotune(Q in [16, 64])\n", dims={"Q": 48}).search == {"Q": (48,)}
    assert codes("", "@autotune(Q in [16, 64])\n", dims={"Q": 0}) == ["autotune-range"]


def test_a_search_space_has_a_limit() -> None:
    names = ", ".join(f"P{i} in [1, 512]" for i in range(9))
    assert codes("", f"@autotune({names})\n") == ["too-many-configurations"]
