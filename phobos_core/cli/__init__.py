"""The phobos command."""
