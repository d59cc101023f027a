"""The options of `phobos lsp` and `phobos-ls`: where clients reach the server. Loads nothing of the server."""

from __future__ import annotations

import argparse

LEVELS = ("error", "warning", "info", "debug")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="the standard streams (default)")
    where.add_argument("--tcp", type=address, metavar="HOST:PORT", help="serve clients that connect to a port")
    where.add_argument("--ws", type=address, metavar="HOST:PORT", help="the same, over websockets")
    # Some clients add it to every server that they start. It says what `initialize` says again.
    parser.add_argument("--clientProcessId", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--log", choices=LEVELS, default="warning", help="what is logged (default: warning)")


def address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"`{text}` is not HOST:PORT, such as localhost:7658")
    return host.strip("[]") or "localhost", int(port)
