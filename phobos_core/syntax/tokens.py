"""Text -> tokens, for the recovering parser.

Any text has tokens: what is not part of the language becomes a token of a kind that no production takes. The
text has one character for each byte, so offsets are byte offsets.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from phobos_core.language.keywords import KEYWORDS, RESERVED_NAME

WORDS = frozenset((*KEYWORDS, RESERVED_NAME))


class Kind(Enum):
    NAME = auto()
    KEYWORD = auto()
    INT = auto()
    FLOAT = auto()
    PUNCTUATION = auto()
    BAD_NUMBER = auto()
    BLOCK_COMMENT = auto()
    STRAY = auto()
    END = auto()


class Token(NamedTuple):
    """`first` tells that a line end stands between this token and the one before."""

    kind: Kind
    text: str
    start: int
    end: int
    first: bool


# Possessive throughout: a number or a name is never given back in part.
_EXPONENT = r"[eE][+-]?[0-9]++"
_FLOAT = rf"[0-9]++(?>\.[0-9]*+(?:{_EXPONENT})?+|{_EXPONENT})"
_NUMBER = rf"(?>{_FLOAT}|[0-9]++)"

_TOKEN = re.compile(
    rf"""
      (?P<SPACE>         (?:[\ \t\v\f]|\xef\xbb\xbf|//[^\r\n\0]*+)++ )
    | (?P<NEWLINE>       [\r\n]+ )
    | (?P<BLOCK_COMMENT> /\*.*?(?:\*/|\Z) )
    | (?P<BAD_NUMBER>    {_NUMBER}[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*+ )
    | (?P<FLOAT>         {_FLOAT} )
    | (?P<INT>           [0-9]++ )
    | (?P<NAME>          [A-Za-z_][A-Za-z0-9_]*+(?![\x80-\xff]) )
    | (?P<PUNCTUATION>   <<=|>>=|:\+|\+=|-=|\*=|/=|%=|&=|\|=|\^=|<<|>>|==|!=|<=|>=|&&|\|\|
                       | [-+*/%&|^~!<>=(){{}}\[\],;:.@] )
    | (?P<STRAY>         [A-Za-z0-9_\x80-\xff]++|. )
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`; the last is the only one of kind `END`."""
    tokens = []
    first = True
    for match in _TOKEN.finditer(text):
        name = match.lastgroup
        if name == "SPACE":
            continue
        if name == "NEWLINE":
            first = True
            continue
        kind = Kind[name or "STRAY"]
        if kind is Kind.NAME and match[0] in WORDS:
            kind = Kind.KEYWORD
        tokens.append(Token(kind, match[0], match.start(), match.end(), first))
        first = False
    tokens.append(Token(Kind.END, "", len(text), len(text), True))
    return tokens
