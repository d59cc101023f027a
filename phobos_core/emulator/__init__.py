"""PTX run on the CPU: what the compiler really emitted."""

from phobos_core.emulator.launch import launch, run
from phobos_core.emulator.ptx import PtxError
from phobos_core.emulator.result import EmulatorFault, Finding, LaunchError, Result, SharedAccess, Stats

__all__ = ["EmulatorFault", "Finding", "LaunchError", "PtxError", "Result", "SharedAccess", "Stats", "launch", "run"]
