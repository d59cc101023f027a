"""The command line as argparse has it. Values that can be judged without a source are judged here.

Out: a namespace whose `command` names the command. argparse ends a wrong command line with status 2 itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from phobos_core import __version__
from phobos_ls import options as lsp

CHECK_FORMATS = ("text", "concise", "json", "sarif", "github", "junit")
BUILD_FORMATS = (*CHECK_FORMATS, "html")
EMITTED = ("ptx", "cubin", "sass", "llvm", "ir")
DEVICES = ("reference", "emulator", "cuda")

COMMANDS = {
    "check": "diagnostics only; a folder means every .ph file below it",
    "build": "compile to PTX (and cubin, SASS) with a resource report",
    "run": "run one kernel on the CPU or a GPU, from and to .npy files",
    "tune": "search the @autotune space",
    "fmt": "format sources",
    "explain": "what a diagnostic code means",
    "lsp": "the language server",
    "doctor": "what was found: Python, LLVM, ptxas, driver, GPU, editors",
}

NOT_YET = ("tune",)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser, commands = _parsers()
    # What follows an option of `run` and of the commands to come is left over: argparse gives a variable number of
    # positional arguments only what stands before it.
    namespace, rest = parser.parse_known_args(arguments)
    if namespace.command in NOT_YET:
        return namespace
    if namespace.command == "run" and not any(text.startswith("-") for text in rest):
        namespace.arguments += rest
    elif rest:
        commands[namespace.command].error(f"unrecognized arguments: {' '.join(rest)}")
    return namespace


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(prog="phobos", description="Checks, compiles and runs Phobos GPU kernels.")
    parser.add_argument("--version", action="version", version=f"phobos {__version__}")
    group = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands = {name: group.add_parser(name, help=text, description=text) for name, text in COMMANDS.items()}
    for name in ("check", "build"):
        commands[name].add_argument("paths", nargs="+", metavar="PATH", help="a source, or a folder of sources")
        _shared(commands[name], BUILD_FORMATS if name == "build" else CHECK_FORMATS)
    _run(commands["run"])
    _fmt(commands["fmt"])
    lsp.add_arguments(commands["lsp"])
    commands["explain"].add_argument("code", metavar="CODE", nargs="?", help="without one, all codes are listed")
    return parser, commands


def _shared(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    _compilation(parser)
    parser.add_argument("--format", choices=formats, default="text", help="how findings are printed (default: text)")
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help="processes to compile with; 0: one a core")
    parser.add_argument("-o", dest="output", default="build", metavar="DIR", help="where outputs go (default: build)")
    parser.add_argument(
        "--emit",
        type=_emitted,
        action="extend",
        metavar="KIND,...",
        help=f"what to write: {', '.join(EMITTED)} (default: ptx)",
    )
    parser.add_argument(
        "--deny",
        type=_words,
        action="extend",
        default=[],
        metavar="CODE,...",
        help="make a diagnostic code, or all `warnings`, an error",
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever the kernels have wrong")


def _compilation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", action="append", metavar="sm_NN", help="may be repeated (default: sm_80)")
    parser.add_argument(
        "-D",
        dest="bindings",
        action="append",
        default=[],
        metavar="NAME=INT",
        help="bind a dynamic dimension or override an @autotune name",
    )
    parser.add_argument(
        "--config",
        default="first",
        metavar="all|first|NAME=V,...",
        help="choices of the @autotune names; names left out take their first (default: first)",
    )
    parser.add_argument("--index-bits", type=int, choices=(32, 64), default=64, help="width of an index (default: 64)")


def _run(parser: argparse.ArgumentParser) -> None:
    _compilation(parser)
    parser.add_argument("file", metavar="FILE", help="the source")
    parser.add_argument(
        "arguments", nargs="*", metavar="NAME=FILE.npy|VALUE", help="an array for each tensor, a value for each scalar"
    )
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of the file; not needed where it has one")
    parser.add_argument("--grid", type=_grid, required=True, metavar="X,Y,Z", help="blocks along each axis")
    parser.add_argument("--device", choices=DEVICES, default="emulator", help="what runs it (default: emulator)")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print each line's accesses to shared memory and their bank conflicts (emulator)",
    )
    parser.add_argument(
        "--max-instructions",
        type=_positive,
        metavar="N",
        help="what the emulator runs of the blocks it has at a time before a loop counts as endless (default: 5000000)",
    )
    parser.add_argument(
        "--schedule",
        type=int,
        metavar="SEED",
        help="run warps and blocks in the order that this number picks, instead of in step (emulator)",
    )
    parser.add_argument(
        "--save", action="append", default=[], metavar="NAME=OUT.npy", help="save a tensor afterwards; may be repeated"
    )


def _fmt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a source, a folder of sources, or - for standard input"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; print what would change")


def _jobs(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no number of processes")
    return int(text)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is no positive number")
    return int(text)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _emitted(text: str) -> tuple[str, ...]:
    kinds = tuple(_words(text))
    if not kinds:
        raise argparse.ArgumentTypeError(f"nothing to emit; the kinds are {', '.join(EMITTED)}")
    for kind in kinds:
        if kind not in EMITTED:
            raise argparse.ArgumentTypeError(f"`{kind}` cannot be emitted; the kinds are {', '.join(EMITTED)}")
    return kinds


def _grid(text: str) -> tuple[int, int, int]:
    """One to three extents; those left out are 1."""
    words = [word.strip() for word in text.split(",")]
    if not 1 <= len(words) <= 3 or not all(word.isascii() and word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"`{text}` is no grid: write one to three positive numbers, such as 8,8")
    x, y, z = (*map(int, words), 1, 1)[:3]
    return x, y, z
