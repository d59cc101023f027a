"""Text to tree-sitter tree to typed AST with spans."""
