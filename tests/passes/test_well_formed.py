"""Every example stays well formed through every pass, and says where each of its ops comes from."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from phobos_core.analysis import check
from phobos_core.ir.module import Kernel
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.ir.rewrite import walk
from phobos_core.ir.verifier import verify
from phobos_core.lower import LineTable, lower
from phobos_core.passes import PASSES
from phobos_core.syntax import parse

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ph"))
# sm_61 has no acquire and release; the tables of IQ4_XS are words beyond an index of 32 bits.
SMALL = [path for path in EXAMPLES if path.stem not in ("host_flag", "iq4_xs_matvec")]
CASES = [(path, "sm_61", 32) for path in SMALL] + [
    (path, target, 64) for target in ("sm_75", "sm_80") for path in EXAMPLES
]


def lowered(path: Path, target: str, index_bits: int, config: Mapping[str, int] | None = None) -> Kernel:
    source = path.read_bytes()
    file = check(parse(source), target=target, index_bits=index_bits)
    (placed,) = file.kernels
    assert placed.kernel is not None
    lines = LineTable(source, placed.offset, file.library.offsets)
    return lower(placed.kernel, lines, target=target, config=config, index_bits=index_bits)


@pytest.mark.parametrize(
    ("path", "target", "index_bits"), CASES, ids=lambda value: value.stem if isinstance(value, Path) else str(value)
)
def test_every_pass_gives_a_well_formed_kernel(path: Path, target: str, index_bits: int) -> None:
    kernel = lowered(path, target, index_bits)
    verify(kernel)
    for step in PASSES:
        kernel = step(kernel)
        verify(kernel)
        assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel), step.__name__
    missing = {op.name for op in walk(kernel.body) if op.line == 0 and op.name != "const"}
    assert not missing
