"""Arithmetic as NVIDIA documents it, on NumPy arrays."""
