"""The page that the code of a diagnostic links to: what `phobos explain` prints, as a file that any editor opens.

There is no server of such pages, and an editor may have no network. A page is written when a diagnostic first refers to
it, below the user's folder for caches; where that cannot be written, codes have no link.
"""

from __future__ import annotations

from functools import cache as remembered

from phobos_core.language.codes import CODES, Code
from phobos_ls import cache


@remembered
def link(code: str) -> str | None:
    """The URI of a code's page."""
    described = CODES.get(code)
    if described is None:
        return None
    try:
        path = cache.folder() / "explain" / f"{code}.md"
        cache.write(path, page(described).encode("utf-8"))
    except (OSError, RuntimeError):  # a full disk, or a user without a home
        return None
    return path.as_uri()


def page(code: Code) -> str:
    parts = [f"# {code.code}", code.title, code.rule]
    parts.append(f"From the section {code.section} of the language; `phobos {code.stage.value}` finds it.")
    options = f", with `{' '.join(code.options)}`" if code.options else ""
    for head, text in ((f"Wrong{options}", code.wrong), ("Right", code.right)):
        if text:
            parts += [f"{head}:", f"```phobos\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"
