"""`phobos`: the command line in, an exit status out. Whatever goes wrong ends here as a message, never a traceback."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from phobos_core import __version__
from phobos_core.cli.arguments import NOT_YET, parse
from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output, open_closed_streams, standard_error, standard_output
from phobos_core.runtime.options import UsageError

# The last frames of a bug's traceback that the report shows.
FRAMES = 3


def entry() -> None:
    """The console script."""
    # Syntax trees and checked programs are many small objects that live as long as the command does; looking through
    # them for cycles every 700 allocations takes an eighth of a check.
    gc.set_threshold(100_000)
    open_closed_streams()
    signal.signal(signal.SIGTERM, _terminate)
    status = main()
    if status == Status.INTERRUPTED:
        # Python ends by the signal and not with the status where Ctrl-C came inside an `exec`, as while loading.
        os._exit(status)
    sys.exit(status)


def _terminate(number: int, frame: object) -> None:
    """By an exception, so that temporary files are removed and no process is left; the status is that of a shell."""
    sys.exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    output, messages = standard_output(), standard_error()
    try:
        status = _command(arguments, output, messages)
        output.flush()
        return status
    except (CommandError, UsageError) as error:
        return _fail(messages, str(error))
    except KeyboardInterrupt:
        messages.line("interrupted")
        return Status.INTERRUPTED
    except OSError as error:
        # A full disk or a closed stream, wherever it was met; every other file error is reported with its file.
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            return _fail(messages, f"cannot write: {error.strerror}{f' ({error.filename})' if error.filename else ''}")
        return _bug(messages, error)
    except Exception as error:
        return _bug(messages, error)


def _command(arguments: Sequence[str] | None, output: Output, messages: Output) -> int:
    namespace = parse(arguments)
    if namespace.command in NOT_YET:
        raise CommandError(f"`phobos {namespace.command}` is not supported yet")
    run: Callable[..., int] = import_module(f"phobos_core.cli.{namespace.command}").run
    return run(namespace, output, messages)


def _fail(messages: Output, text: str) -> Status:
    for line in text.split("\n"):
        messages.line(f"{messages.style('error', 'error')}: {line}")
    return Status.USAGE


def _bug(messages: Output, error: BaseException) -> Status:
    """A short report: what, where, which version, and what to send."""
    messages.line(f"{messages.style('error', 'bug in phobos')} {__version__}: {type(error).__name__}: {error}")
    for frame in traceback.extract_tb(error.__traceback__)[-FRAMES:]:
        file = os.path.relpath(frame.filename, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
        messages.line(f"  at {file}:{frame.lineno} in {frame.name}")
    messages.line("This is not your mistake. Please report it with the source, the command and the lines above.")
    return Status.BUG
