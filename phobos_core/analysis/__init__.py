"""AST to checked program: names, constants, types, shapes."""
