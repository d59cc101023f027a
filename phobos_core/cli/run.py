"""`phobos run`: one kernel in one configuration, from `.npy` files and values to `.npy` files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np

from phobos_core.analysis.program import CheckedKernel, Symbol, TensorType
from phobos_core.cli import files
from phobos_core.cli import findings as found
from phobos_core.cli.compilation import Compilation, check_sources
from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output
from phobos_core.language.types import BOOL, Kind, ScalarType
from phobos_core.report import profile as profiling
from phobos_core.report.profile import Profile
from phobos_core.report.source import Finding
from phobos_core.runtime.arguments import DTYPES, LaunchError
from phobos_core.runtime.compiler import Request, translate
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.devices import KernelFault, launch, profile
from phobos_core.runtime.frontend import Placed
from phobos_core.runtime.options import near


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    if arguments.profile and arguments.device != "emulator":
        raise CommandError(f"--profile needs --device emulator: `{arguments.device}` does not see single accesses")
    if arguments.max_instructions is not None and arguments.device != "emulator":
        raise CommandError(f"--max-instructions needs --device emulator: `{arguments.device}` counts none")
    if arguments.schedule is not None and arguments.device != "emulator":
        raise CommandError(f"--schedule needs --device emulator: `{arguments.device}` has an order of its own")
    asked = Compilation.of(arguments)
    if len(asked.options) > 1 or arguments.config == "all":
        raise CommandError("`phobos run` runs one configuration for one target")
    checked = check_sources(files.single(arguments.file), asked, messages)
    if checked.failed:
        found.show(checked.findings, "text", output)
        return Status.FOUND
    [(options, file)] = checked.files
    placed = _chosen(file.kernels, arguments.kernel, arguments.file)
    kernel = placed.kernel
    saved = _assignments(arguments.save, "--save NAME=OUT.npy")
    values = _values(kernel, _assignments(arguments.arguments, "NAME=FILE.npy or NAME=VALUE"))
    _check_saved(kernel, saved)
    config = next(configurations(kernel, options))
    translated = translate(Request(file.source, placed, options.target, config, options.index_bits))
    findings = [Finding(file.source, d) for d in translated.diagnostics]
    found.show(findings, "text", output)
    if translated.ptx is None:
        return Status.FOUND
    try:
        remarks: list[Finding] = []
        measured: Profile | None = None
        given = (translated, arguments.grid, list(values.values()), arguments.max_instructions, arguments.schedule)
        if arguments.profile:
            measured = profile(*given)
        else:
            remarks = launch(arguments.device, *given)
    except LaunchError as error:
        raise CommandError(str(error)) from error
    except KernelFault as fault:
        found.show(fault.findings, "text", output)
        return Status.FOUND
    found.show(remarks, "text", output)
    for line in profiling.text(measured) if measured is not None else ():
        output.line(line)
    for name, path in saved.items():
        _save(Path(path), values[name])
    return Status.OK


def _chosen(kernels: Sequence[Placed], name: str | None, file: str) -> Placed:
    names = [placed.kernel.name for placed in kernels]
    if not kernels:
        raise CommandError(f"{file} has no kernel")
    if name is None and len(kernels) > 1:
        raise CommandError(f"{file} has several kernels; choose one with --kernel: {', '.join(names)}")
    if name is not None and name not in names:
        raise CommandError(f"{file} has no kernel `{name}`; it has {', '.join(names)}{near(name, names)}")
    return kernels[names.index(name) if name is not None else 0]


def _assignments(texts: Sequence[str], form: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise CommandError(f"`{text}` is not {form}")
        if name in values:
            raise CommandError(f"`{name}` is given twice")
        values[name] = value
    return values


def _values(kernel: CheckedKernel, given: Mapping[str, str]) -> dict[str, Any]:
    """A value for each parameter, in their order."""
    names = [symbol.name for symbol in kernel.params]
    for name in given:
        if name not in names:
            raise CommandError(
                f"`{kernel.name}` has no parameter `{name}`; it has {', '.join(names)}{near(name, names)}"
            )
    if missing := [name for name in names if name not in given]:
        raise CommandError(f"`{kernel.name}` also needs {', '.join(missing)}")
    return {symbol.name: _value(symbol, given[symbol.name]) for symbol in kernel.params}


def _value(symbol: Symbol, text: str) -> Any:
    match symbol.type:
        case TensorType() as type:
            return _load(symbol.name, type.element, Path(text))
        case ScalarType() as type:
            return _scalar(symbol.name, type, text)


def _load(name: str, element: ScalarType, path: Path) -> np.ndarray[Any, Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise CommandError(f"cannot read {path} for `{name}`: {files.reason(error)}") from error
    except MemoryError as error:
        raise CommandError(f"{path} for `{name}` does not fit the memory: {error}") from error
    except (ValueError, EOFError, SyntaxError, TokenError, BadZipFile) as error:
        raise CommandError(f"{path} for `{name}` is no .npy file of numbers") from error
    if not isinstance(array, np.ndarray):
        raise CommandError(f"{path} for `{name}` holds several arrays; save one with numpy.save")
    dtype = DTYPES[element.name]
    # The format has no name for bfloat16: NumPy reads such elements as two bytes of no type.
    if element.name == "bf16" and array.dtype == np.dtype("V2"):
        array = array.view(dtype)
    return np.ascontiguousarray(array)


def _scalar(name: str, type: ScalarType, text: str) -> Any:
    try:
        if type == BOOL:
            return {"true": True, "false": False}[text]
        return float(text) if type.kind is Kind.FLOAT else int(text)
    except (KeyError, ValueError) as error:
        raise CommandError(f"`{text}` is no value for `{name}`, a scalar of type {type}") from error


def _check_saved(kernel: CheckedKernel, saved: Mapping[str, str]) -> None:
    tensors = [symbol.name for symbol in kernel.params if isinstance(symbol.type, TensorType)]
    for name in saved:
        if name not in tensors:
            raise CommandError(f"--save {name}: `{kernel.name}` has no tensor `{name}`; it has {', '.join(tensors)}")


def _save(path: Path, array: np.ndarray[Any, Any]) -> None:
    with files.whole_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)
