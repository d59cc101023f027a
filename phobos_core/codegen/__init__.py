"""Tile IR to LLVM IR to PTX."""
