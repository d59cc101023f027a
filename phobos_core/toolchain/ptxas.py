"""ptxas: which ones there are, what they support, and one call that assembles a PTX module.

In: PTX text and a target. Out: an `Assembly`: the cubin, the resources of every entry, and ptxas's messages
with the source line that each belongs to. Resource numbers come from here and from nowhere else.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from phobos_core.toolchain import find
from phobos_core.toolchain.messages import Message, Resources, parse_messages, parse_resources

# `-lineinfo` leads every SASS instruction back to a source line and costs no register.
FLAGS = ("-v", "-lineinfo")
TIME_LIMIT = 120.0
# The last CUDA release whose ptxas assembles for targets below this one is 12.9.
_OLDEST_IN_CUDA_13 = 75


@dataclass(frozen=True, slots=True)
class Ptxas:
    """One assembler, with what it said of itself."""

    path: Path
    version: str
    targets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Assembly:
    """`cubin` is None where ptxas refused the module, or took longer than it was given (`timed_out`)."""

    cubin: bytes | None
    entries: dict[str, Resources]
    messages: tuple[Message, ...]
    timed_out: bool = False


def for_target(target: str) -> Ptxas | None:
    """The preferred ptxas that assembles for `target`."""
    tools = (query(path) for path in find.candidates("ptxas"))
    return next((tool for tool in tools if tool is not None and target in tool.targets), None)


def installed() -> tuple[Ptxas, ...]:
    """Every ptxas of the environment, the preferred first."""
    return tuple(tool for path in find.candidates("ptxas") if (tool := query(path)) is not None)


@functools.cache
def query(path: Path) -> Ptxas | None:
    """What the binary says of its version and targets; None where it is no ptxas.

    Its help lists the targets in every release; `--list-arch` came with CUDA 13.
    """
    version = re.search(r"\bV(\d+\.\d+\.\d+)", find.ask(path, "--version"))
    targets = frozenset(re.findall(r"'(sm_\w+)'", find.ask(path, "--help")))
    return Ptxas(path, version[1], targets) if version and targets else None


def why_none(target: str) -> str:
    """Why `for_target` found nothing, and which package brings a ptxas for `target`."""
    package = package_for(target)
    tools = installed()
    override = os.environ.get(find.OVERRIDE)
    if not tools and override is not None:
        brings = f"`pip install {package}` brings a ptxas for {target}"
        return f"no ptxas found: {find.OVERRIDE}={override} is no ptxas, and no other is looked for; unset it, {brings}"
    if not tools:
        return f"no ptxas found; `pip install {package}` brings one for {target}"
    have = "; ".join(f"ptxas {tool.version} has {_listed(tool.targets)}" for tool in tools)
    return f"no ptxas for {target}: {have}; `pip install --upgrade {package}` brings one that has it"


def package_for(target: str) -> str:
    """The wheel with a ptxas for `target`."""
    old = int(target.removeprefix("sm_")) < _OLDEST_IN_CUDA_13
    return "nvidia-cuda-nvcc-cu12" if old else "nvidia-cuda-nvcc"


def _listed(targets: frozenset[str]) -> str:
    """The plain targets in order: sm_90a and sm_100f are variants of one that is listed."""
    return ", ".join(sorted((t for t in targets if t[3:].isdigit()), key=lambda t: int(t[3:])))


def assemble(tool: Ptxas, ptx: str, target: str, time_limit: float = TIME_LIMIT) -> Assembly:
    with tempfile.TemporaryDirectory(prefix="phobos-") as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8", newline="\n")
        command = [str(tool.path), f"-arch={target}", *FLAGS, str(source), "-o", str(cubin)]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=time_limit,
            )
        except subprocess.TimeoutExpired:
            return Assembly(None, {}, (), timed_out=True)
        except OSError as error:
            said = f"{tool.path} cannot be run: {error.strerror or error}"
            return Assembly(None, {}, (Message("error", said, None, None),))
        text = done.stdout + done.stderr
        if done.returncode == 0 and cubin.is_file():
            return Assembly(cubin.read_bytes(), parse_resources(text), parse_messages(text, ptx))
        messages = parse_messages(text, ptx)
        if not any(message.severity == "error" for message in messages):
            # Killed by a signal, or a message in words that this parser does not know: pass it on whole.
            said = text.strip() or "no message"
            messages += (Message("error", f"ptxas ended with status {done.returncode}: {said}", None, None),)
        return Assembly(None, {}, messages)
