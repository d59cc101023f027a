"""Sources found and read, outputs written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output
from phobos_core.report.source import Source, without_mark

SUFFIX = ".ph"
MAX_SOURCE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`stem` is the file's path without suffix below the argument that led to it: where its outputs go."""

    source: Source
    stem: Path


@dataclass(frozen=True, slots=True)
class Found:
    """`empty_folders` are those among the arguments that hold no source; `unreadable` says of each file that could not
    be read why, beside at least one that could."""

    files: tuple[SourceFile, ...]
    empty_folders: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def find_sources(paths: Sequence[str]) -> Found:
    """A folder stands for every `.ph` file below it; a file named twice is taken once."""
    files: dict[str, SourceFile] = {}
    empty: list[str] = []
    unreadable: list[str] = []

    def take(path: Path, stem: Path) -> None:
        try:
            files.setdefault(os.path.realpath(path), SourceFile(read_source(path), stem))
        except CommandError as error:
            unreadable.append(str(error))

    for text in paths:
        if not text:
            raise CommandError("an empty PATH names no file; `.` is the working directory")
        argument = Path(text)
        # Those of `os.path` say no of a path that the system refuses, where those of `Path` raise.
        if os.path.isdir(argument):
            below = sorted(path for path in argument.rglob(f"*{SUFFIX}") if os.path.isfile(path))
            if not below:
                empty.append(text)
            for path in below:
                take(path, path.relative_to(argument).with_suffix(""))
        else:
            take(argument, Path(argument.name).with_suffix(""))
    if unreadable and not files:
        raise CommandError("\n".join(unreadable))
    return Found(tuple(files.values()), tuple(empty), tuple(unreadable))


def report(sources: Found, messages: Output) -> None:
    """What was asked for and is not among the files."""
    for folder in sources.empty_folders:
        messages.line(f"{messages.style('warning', 'warning')}: no {SUFFIX} files below {folder}")
    for message in sources.unreadable:
        messages.line(f"{messages.style('error', 'error')}: {message}")


def status_with(sources: Found, status: Status) -> Status:
    """The status of a command that did the rest: a file that cannot be read outweighs what is wrong in the others."""
    return Status.USAGE if sources.unreadable else status


def single(path: str) -> Found:
    """The one file that `run` takes."""
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder; name one {SUFFIX} file")
    return find_sources([path])


def read_source(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {reason(error)}") from error
    return source_of(str(path), text)


def source_of(name: str, text: bytes) -> Source:
    """A text as read from a file, or from standard input. Raises CommandError where it is none."""
    if len(text) > MAX_SOURCE_BYTES:
        raise CommandError(f"{name} is larger than {MAX_SOURCE_BYTES >> 20} MiB, the most that a source may have")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise CommandError(f"{name} is not UTF-8 text: byte 0x{text[error.start]:02x} on line {line}") from error
    if b"\0" in text:
        line = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise CommandError(f"{name} is not text: a zero byte on line {line}")
    return Source(name, without_mark(text))


def write(path: Path, data: bytes) -> None:
    """A reader sees the old file or the whole new one: the bytes go to a temporary file that is then renamed."""
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, which takes its place when the block ends without an exception.

    A link stays one: what it points to is replaced. What is no file, as a device, is not.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise CommandError(f"cannot write {path}: it is {'a folder' if os.path.isdir(path) else 'no ordinary file'}")
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        import tempfile  # a check writes nothing, and this takes long to load

        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:32]}.", suffix=path.suffix, dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise CommandError(f"cannot write {path}: {reason(error)}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def reason(error: OSError) -> str:
    """The system's words, as "No space left on device"."""
    return error.strerror or str(error)
