"""The general path holds nothing in registers between statements; the other one does, and takes no more memory."""

from pathlib import Path

import pytest

from phobos_core.ir.rewrite import walk
from phobos_core.passes import GENERAL_PATH, PASSES, Pass, PassError, run
from tests.examples.test_examples import configurations
from tests.passes.test_well_formed import EXAMPLES, lowered

FLASH = Path(__file__).resolve().parents[2] / "examples" / "flash_attention.ph"


@pytest.mark.parametrize(("steps", "holds"), [(GENERAL_PATH, False), (PASSES, True)], ids=["general", "registers"])
def test_what_is_held(steps: tuple[Pass, ...], *, holds: bool) -> None:
    kernel = run(lowered(FLASH, "sm_80", 64), steps, check=True)
    assert any(op.name == "hold" for op in walk(kernel.body)) is holds


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_registers_take_no_more_shared_memory(path: Path) -> None:
    for config in configurations(path.stem):
        kernel = lowered(path, "sm_80", 64, config)
        try:
            general = run(kernel, GENERAL_PATH).shared_bytes
        except PassError as error:
            if error.code == "over-shared-limit":
                continue
            raise
        assert run(kernel).shared_bytes <= general, config
