"""Tile IR to tile IR, one decision each, each recorded in the report."""
