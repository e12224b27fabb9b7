"""PostgreSQL's lexical rules, as far as comments and quoted text need them. Runs in linear time."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_QUOTED = r"""
    (?<![\w$])[eE]'(?:[^'\\]++|''|\\.)*+(?:'|\Z)      # with escapes
  | '(?:[^']++|'')*+(?:'|\Z)
  | "(?:[^"]++|"")*+(?:"|\Z)
  | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
"""
_COMMENT = r"(?P<comment>--[^\r\n]*|/\*)"
_PIECES = re.compile(f"{_COMMENT}|(?P<quoted>{_QUOTED})|(?P<sign>[(),;])", re.VERBOSE | re.DOTALL)
_BLOCK_ENDS = re.compile(r"/\*|\*/")
_WORD = re.compile(r"[^\W\d]\w*")


class Piece(NamedTuple):
    """A comment, a quoted text (literal or identifier), or one of the signs ``( ) , ;``. Other text is between pieces."""

    kind: str
    start: int
    end: int


def pieces(sql: str, start: int = 0) -> Iterator[Piece]:
    """Yield the pieces in order from ``start``, which must be outside of pieces. An unclosed one extends to the end."""
    while match := _PIECES.search(sql, start):
        kind = match.lastgroup or ""
        if match["quoted"] is not None:
            kind = "quoted"
        end = _block_end(sql, match.end()) if match.group() == "/*" else match.end()
        yield Piece(kind, match.start(), end)
        start = end


def first_word(sql: str) -> str:
    """Return the first word of the statement in lower case, after comments and opening parentheses."""
    position = 0
    for piece in pieces(sql):
        if sql[position : piece.start].strip() or (piece.kind != "comment" and sql[piece.start] != "("):
            break
        position = piece.end
    word = _WORD.match(sql[position:].lstrip())
    return word.group().lower() if word else ""


def without_trailing_comments(sql: str) -> str:
    """Return the statement without trailing semicolons and comments."""
    end = 0
    position = 0
    for piece in pieces(sql):
        between = sql[position : piece.start].rstrip()
        if between.strip():
            end = position + len(between)
        if piece.kind == "quoted" or sql[piece.start] in "(),":
            end = piece.end
        position = piece.end
    rest = sql[position:].rstrip()
    return sql[: position + len(rest)] if rest else sql[:end]


def _block_end(sql: str, position: int) -> int:
    """Return the end of a block comment; block comments nest."""
    depth = 1
    while depth:
        mark = _BLOCK_ENDS.search(sql, position)
        if mark is None:
            return len(sql)
        depth += 1 if mark.group() == "/*" else -1
        position = mark.end()
    return position
