"""Phobos: a language for GPU kernels, its checker and its compiler to PTX."""
