"""Texts as the protocol has them, and as bytes. Half a surrogate pair, which an editor may send, is kept."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """As the parser encodes a text."""
    return text.encode("utf-8", "surrogatepass")


def decoded(text: bytes) -> str:
    """What is no text at all, in a file that no editor has opened, is replaced."""
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace")
