"""The page of a word of the language, as a file that any editor opens: what hover says of it, to keep beside the code.

Out: pages of built-ins, collectives, attributes (`@launch`) and fields of `ctx`, written as those of codes are.
"""

from __future__ import annotations

from functools import cache as remembered
from typing import NamedTuple

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from phobos_core.language.context import CTX_FIELDS
from phobos_ls import cache, words


class Page(NamedTuple):
    """`file` names it, `summary` is its first sentence, `text` all of it, in Markdown."""

    file: str
    summary: str
    text: str


def page(word: str) -> Page | None:
    name = word.removeprefix("ctx.")
    if word in BUILTINS or word in COLLECTIVES:
        entries = [table[word] for table in (BUILTINS, COLLECTIVES) if word in table]
        text = "\n\n".join(words.builtin(entry) for entry in entries)
        return Page(f"{word}.md", entries[0].summary, f"# {word}\n\n{text}\n")
    if word.startswith("@") and word[1:] in ATTRIBUTES:
        entry = ATTRIBUTES[word[1:]]
        return Page(f"attribute-{entry.name}.md", entry.summary, f"# {word}\n\n{words.attribute(entry)}\n")
    if word.startswith("ctx.") and name in CTX_FIELDS:
        return Page(f"{word}.md", CTX_FIELDS[name].doc, f"# {word}\n\n{words.ctx_field(name)}\n")
    return None


@remembered
def link(word: str) -> str | None:
    """The URI of a word's page; None where it has none, or none can be written."""
    found = page(word)
    if found is None:
        return None
    try:
        path = cache.folder() / "reference" / found.file
        cache.write(path, found.text.encode("utf-8"))
    except (OSError, RuntimeError):  # a full disk, or a user without a home
        return None
    return path.as_uri()
