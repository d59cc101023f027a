"""`phobos doctor`: what was found on this machine, and what to install for what is missing."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from phobos_core import __version__
from phobos_core.cli.status import Status
from phobos_core.cli.terminal import Output
from phobos_core.language.targets import TARGETS
from phobos_core.toolchain import find, ptxas, sass

# The least versions of the editors that the project's plug-ins work with.
EDITORS = {
    "nvim": ("Neovim", (0, 11)),
    "code": ("VS Code", (1, 91)),
    "hx": ("Helix", (24, 3)),
    "emacs": ("Emacs", (30, 0)),
}
_WIDTH = 14


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    for name, text in _rows():
        output.line(f"{output.style('strong', name.ljust(_WIDTH))} {text}")
    return Status.OK


def _rows() -> Iterator[tuple[str, str]]:
    yield "Phobos", __version__
    yield "Python", f"{platform.python_version()} ({sys.executable})"
    yield "LLVM", _llvm()
    for package in ("llvmlite", "numpy", "ml_dtypes", "tree-sitter"):
        yield package, _version(package)
    yield from _assemblers()
    disassembler = sass.nvdisasm()
    yield "nvdisasm", str(disassembler) if disassembler else f"not found; `pip install {sass.PACKAGE}` brings it"
    yield from _driver()
    for command, (name, least) in EDITORS.items():
        if (found := _editor(command, least)) is not None:
            yield name, found


def _llvm() -> str:
    try:
        from llvmlite import binding

        binding.initialize_all_targets()
        binding.Target.from_triple("nvptx64-nvidia-cuda")
    except (ImportError, OSError, RuntimeError) as error:
        return f"cannot make PTX: {error}"
    return ".".join(map(str, binding.llvm_version_info)) + ", with the NVPTX target"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"not found; `pip install {package}` brings it"


def _assemblers() -> Iterator[tuple[str, str]]:
    tools = ptxas.installed()
    for tool in tools:
        yield "ptxas", f"{tool.version} ({tool.path})"
    missing = [name for name in TARGETS if not any(name in tool.targets for tool in tools)]
    if not tools:
        yield "ptxas", f"{ptxas.why_none('sm_80')}. PTX is written without it; resources stay unknown"
    elif missing:
        yield "", f"no ptxas for {', '.join(missing)}; `pip install {ptxas.package_for(missing[0])}` brings one"


def _driver() -> Iterator[tuple[str, str]]:
    """Through the driver's own library: nothing has to be installed to ask it."""
    name = {"win32": "nvcuda.dll", "darwin": None}.get(sys.platform, "libcuda.so.1")
    try:
        cuda = ctypes.CDLL(name) if name else None
    except OSError:
        cuda = None
    if cuda is None:
        yield "NVIDIA driver", "not found; kernels run on --device reference and emulator"
        return
    number = ctypes.c_int()
    status = cuda.cuInit(0)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    yield "NVIDIA driver", f"for CUDA {number.value // 1000}.{number.value % 1000 // 10}"
    if status != 0:
        yield "GPU", f"none can be used (cuInit gave {status})"
        return
    cuda.cuDeviceGetCount(ctypes.byref(number))
    for device in range(number.value):
        yield "GPU", _gpu(cuda, device)


def _gpu(cuda: ctypes.CDLL, device: int) -> str:
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of the CUDA driver API.
    name = ctypes.create_string_buffer(128)
    major, minor = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    target = f"sm_{major.value}{minor.value}"
    known = "" if target in TARGETS else ", which Phobos does not compile for"
    return f"{name.value.decode(errors='replace')} ({target}{known})"


def _editor(command: str, least: tuple[int, int]) -> str | None:
    path = shutil.which(command)
    if path is None:
        return None
    version = re.search(r"(\d+)\.(\d+)(?:\.\d+)?", find.ask(Path(path), "--version"))
    if version is None:
        return f"{path}, of unknown version"
    old = (int(version[1]), int(version[2])) < least
    return f"{version[0]} ({path})" + (f": {least[0]}.{least[1]} or later is needed" if old else "")
