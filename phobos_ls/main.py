"""`phobos-ls`, and what `phobos lsp` calls: a language server, on the standard streams unless a port is named."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
from typing import NoReturn

from phobos_core import __version__
from phobos_ls.options import add_arguments

# How long a thread that computes keeps the interpreter from one that has a message to read or an answer to send.
SWITCH_SECONDS = 0.0002


def entry() -> None:
    """The console script `phobos-ls`."""
    parser = argparse.ArgumentParser(prog="phobos-ls", description="The language server of Phobos.")
    parser.add_argument("--version", action="version", version=f"phobos {__version__}")
    add_arguments(parser)
    leave(run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Serves; the exit code."""
    logging.basicConfig(stream=sys.stderr, level=arguments.log.upper(), format="%(levelname)s %(name)s: %(message)s")
    # What pygls has to say of messages is said by us.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.disable()  # see `collector`
    from phobos_ls import connections
    from phobos_ls.collector import Collector
    from phobos_ls.scheduling import Pool
    from phobos_ls.server import Server

    collector = Collector()
    pool = Pool(after_job=collector.after_job)
    collector.start()

    def make() -> Server:
        return Server(pool=pool)

    try:
        if arguments.tcp:
            return connections.serve_tcp(make, *arguments.tcp)
        if arguments.ws:
            return connections.serve_websocket(make, *arguments.ws)
        return connections.serve_stdio(make)
    except OSError as error:
        print(f"error: cannot serve: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def leave(code: int) -> NoReturn:
    """Ends the process without waiting for threads that compute what nobody will read."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
