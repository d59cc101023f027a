"""The tree-sitter grammar of Phobos, for use with the `tree_sitter` package."""

from tree_sitter_phobos._binding import language

__all__ = ["language"]
