"""The general path holds nothing in registers between statements; the other one does."""

from pathlib import Path

import pytest

from phobos_core.ir.rewrite import walk
from phobos_core.passes import GENERAL_PATH, PASSES, Pass, run
from tests.passes.test_well_formed import lowered

FLASH = Path(__file__).resolve().parents[2] / "examples" / "flash_attention.ph"


@pytest.mark.parametrize(("steps", "holds"), [(GENERAL_PATH, False), (PASSES, True)], ids=["general", "registers"])
def test_what_is_held(steps: tuple[Pass, ...], *, holds: bool) -> None:
    kernel = run(lowered(FLASH, "sm_80", 64), steps, check=True)
    assert any(op.name == "hold" for op in walk(kernel.body)) is holds
