"""`phobos lsp`: the language server. It is loaded here and nowhere else: no other command needs what it needs."""

from __future__ import annotations

from argparse import Namespace

from phobos_core.cli.terminal import Output


def run(arguments: Namespace, output: Output, messages: Output) -> int:
    from phobos_ls import main

    main.leave(main.run(arguments))
