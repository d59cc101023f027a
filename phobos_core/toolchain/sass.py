"""SASS: the machine code of a cubin as text, by nvdisasm.

In: a cubin. Out: its disassembly with the source line above each run of instructions, or None where there is
no nvdisasm. nvdisasm has to be of the same CUDA generation as the ptxas that wrote the cubin.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from phobos_core.toolchain import find

PACKAGE = "nvidia-cuda-nvdisasm"
TIME_LIMIT = 60.0


class DisassemblyError(Exception):
    """nvdisasm could not read the cubin; the message is its own."""


def nvdisasm() -> Path | None:
    return next(iter(find.candidates("nvdisasm")), None)


def disassemble(tool: Path, cubin: bytes) -> str:
    """With the source line above each run of instructions."""
    return _run(tool, cubin, "-g", "-c")


def live_registers(tool: Path, cubin: bytes) -> str | None:
    """With the number of live registers after each instruction, instead of source lines.

    None where this nvdisasm cannot tell: it has to know the code of the ptxas that made the cubin.
    """
    try:
        return _run(tool, cubin, "-c", "-lrm", "count")
    except DisassemblyError:
        return None


def _run(tool: Path, cubin: bytes, *flags: str) -> str:
    with tempfile.TemporaryDirectory(prefix="phobos-") as folder:
        image = Path(folder, "kernel.cubin")
        image.write_bytes(cubin)
        try:
            done = subprocess.run(
                [str(tool), *flags, str(image)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT,
            )
        except subprocess.TimeoutExpired as error:
            raise DisassemblyError(f"nvdisasm did not finish in {TIME_LIMIT:.0f} s") from error
        except OSError as error:
            raise DisassemblyError(f"{tool} cannot be run: {error.strerror or error}") from error
    if done.returncode != 0:
        raise DisassemblyError((done.stderr or done.stdout).strip() or f"it ended with status {done.returncode}")
    return done.stdout
