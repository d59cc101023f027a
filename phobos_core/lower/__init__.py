"""Checked program and one configuration to tile IR."""
