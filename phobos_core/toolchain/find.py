"""Where NVIDIA's command-line tools are: in the wheels of this Python environment, then on PATH.

In: a tool's name. Out: paths, the preferred first. `PHOBOS_PTXAS` names one ptxas to use and no other.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

OVERRIDE = "PHOBOS_PTXAS"
_SUFFIX = ".exe" if os.name == "nt" else ""
# A tool that only prints its version or help answers in milliseconds; a longer wait means that it hangs.
_QUERY_SECONDS = 20.0


def candidates(name: str) -> list[Path]:
    """Every place that has `name`, wheels before PATH, newest CUDA first among the wheels."""
    override = os.environ.get(OVERRIDE) if name == "ptxas" else None
    if override is not None:
        return [Path(override)] if Path(override).is_file() else []
    found = in_wheels(name, wheel_roots())
    on_path = shutil.which(name)
    if on_path is not None and Path(on_path) not in found:
        found.append(Path(on_path))
    return found


def wheel_roots() -> list[Path]:
    """The folders `nvidia/` into which NVIDIA's wheels unpack."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(p) for p in spec.submodule_search_locations or ()] if spec is not None else []


def in_wheels(name: str, roots: list[Path]) -> list[Path]:
    """`cu13/bin` of the CUDA 13 wheels sorts before `cuda_nvcc/bin` of the CUDA 12 ones."""
    found = [path for root in roots for path in root.glob(f"*/bin/{name}{_SUFFIX}") if path.is_file()]
    return sorted(found, key=lambda path: _generation(path.parent.parent.name), reverse=True)


def _generation(folder: str) -> int:
    digits = folder.removeprefix("cu")
    return int(digits) if digits.isdigit() else 0


def ask(path: Path, *arguments: str) -> str:
    """What the tool prints when called with `arguments`; nothing where it cannot be run."""
    try:
        done = subprocess.run(
            [str(path), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_QUERY_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
