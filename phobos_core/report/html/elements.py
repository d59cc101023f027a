"""Elements of a page. Text is escaped where it comes in, so that no name, path or message can be read as markup."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

# What neither HTML nor XML can hold, whatever way it is written.
UNHOLDABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
EMPTY = frozenset({"meta", "br", "rect", "line"})


@dataclass(frozen=True, slots=True)
class Markup:
    text: str


Content: TypeAlias = str | int | Markup | Iterable["Content"] | None


def escaped(text: str) -> str:
    return html.escape(UNHOLDABLE.sub("\ufffd", text)).encode("ascii", "xmlcharrefreplace").decode("ascii")


def element(name: str, /, *children: Content, **attributes: str | int | float | bool | None) -> Markup:
    """An attribute that is None or False is left out. `_` stands for `-` in its name, and after it is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            said = key if value is True else str(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{escaped(said)}"')
    head = " ".join(words)
    if name in EMPTY:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(_written(child) for child in children)}</{name}>")


def _written(content: Content) -> str:
    match content:
        case None:
            return ""
        case str():
            return escaped(content)
        case int():
            return f"{content:,}"
        case Markup(text):
            return text
        case _:
            return "".join(map(_written, content))


def table(header: Sequence[Content], rows: Iterable[Iterable[Content]], numeric: Collection[int] = ()) -> Markup:
    """`numeric` columns stand to the right."""

    def row(cells: Iterable[Content], kind: str) -> Markup:
        return element(
            "tr", [element(kind, cell, class_="number" if i in numeric else None) for i, cell in enumerate(cells)]
        )

    body = element("tbody", [row(cells, "td") for cells in rows])
    return element("div", element("table", element("thead", row(header, "th")), body), class_="wide")


def facts(rows: Iterable[tuple[str, Content]]) -> Markup:
    """Names with what is to be said of each; one of which nothing is said is left out."""
    return element("dl", [[element("dt", name), element("dd", said)] for name, said in rows if said])
