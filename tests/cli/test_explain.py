"""`phobos explain` shows what a build finds: the example of each code of the build gives that code and no other."""

import json
from pathlib import Path

import pytest

from phobos_core.language.codes import CODES, Code, Stage
from phobos_core.toolchain import ptxas
from tests.cli.conftest import Phobos

# An assembler takes minutes over its example, as it says.
LONG = {"large-code"}
BUILT = [code for code in CODES.values() if code.stage is Stage.BUILD and code.wrong and code.code not in LONG]


def codes_of(phobos: Phobos, source: str, options: tuple[str, ...]) -> list[str]:
    Path("k.ph").write_text(source, encoding="utf-8")
    ran = phobos("build", *options, "--format", "json", "k.ph")
    return [found["code"] for found in json.loads(ran.out)["diagnostics"]]


@pytest.mark.parametrize("code", BUILT, ids=lambda c: c.code)
def test_the_examples_of_a_code_of_the_build(phobos: Phobos, code: Code) -> None:
    if ptxas.for_target("sm_80") is None:
        pytest.skip("needs ptxas")
    assert codes_of(phobos, code.wrong, code.options) == [code.code]
    # Where a choice of several does not fit, the rest is built, with a warning.
    assert set(codes_of(phobos, code.right, code.options)) <= {"configuration-skipped"} - {code.code}
