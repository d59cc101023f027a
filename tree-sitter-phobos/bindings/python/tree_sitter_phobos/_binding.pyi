def language() -> object:
    """A capsule for `tree_sitter.Language`."""
