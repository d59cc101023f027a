"""The command as tests call it: in this process, with what it prints and its status."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from phobos_core.cli.main import main

SAXPY = """\
@autotune(TILE in [128, 512])
kernel saxpy(X: tensor<f32>[N], Y: tensor<f32>[N], a: f32) {
  let at = ctx.block.x * TILE
  Y[at :+ TILE] = a * X[at :+ TILE] + Y[at :+ TILE]
}
"""

BROKEN = """\
kernel broken(X: tensor<f32>[N]) {
  X[0 :+ 4] = Z[0 :+ 4]
}
"""


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


Phobos = Callable[..., Ran]


@pytest.fixture
def phobos(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Phobos:
    """Runs in an empty folder, which relative paths mean."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exit:  # argparse ends a wrong command line by itself
            status = int(exit.code or 0)
        said = capsys.readouterr()
        return Ran(status, said.out, said.err)

    return run


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.ph"
    path.write_text(SAXPY)
    return Path("saxpy.ph")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.ph"
    path.write_text(BROKEN)
    return Path("broken.ph")
