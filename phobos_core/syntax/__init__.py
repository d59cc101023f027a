"""Text to tree-sitter tree to typed AST with spans."""

from phobos_core.syntax.lines import LineIndex
from phobos_core.syntax.source import Edit, Parser, SourceFile, parse

__all__ = ["Edit", "LineIndex", "Parser", "SourceFile", "parse"]
