"""A checked program run on NumPy: the language's meaning."""
