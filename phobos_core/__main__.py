"""`python -m phobos_core`: the `phobos` command."""

from phobos_core.cli.main import entry

if __name__ == "__main__":
    entry()
