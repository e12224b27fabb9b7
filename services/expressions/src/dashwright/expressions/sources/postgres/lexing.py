"""A lexer that finds the comments and quoted strings of PostgreSQL statements, in linear time."""

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
_TOKEN = re.compile(f"{_COMMENT}|(?P<quoted>{_QUOTED})|(?P<sign>[(),;])", re.VERBOSE | re.DOTALL)
_BLOCK_DELIMITER = re.compile(r"/\*|\*/")
_WORD = re.compile(r"[^\W\d]\w*")


class SqlToken(NamedTuple):
    """A comment, a quoted literal or identifier, or one of the signs ``( ) , ;``. Other characters are not tokens."""

    type: str  #: ``comment``, ``quoted`` or ``sign``.
    start: int
    end: int


def sql_tokens(sql: str, start: int = 0) -> Iterator[SqlToken]:
    """Yield the tokens from the position ``start``, which is not within a token. An unclosed token extends to the end."""
    while match := _TOKEN.search(sql, start):
        token_type = "quoted" if match["quoted"] is not None else match.lastgroup or ""
        end = _block_end(sql, match.end()) if match.group() == "/*" else match.end()
        yield SqlToken(token_type, match.start(), end)
        start = end


def first_word(sql: str) -> str:
    """Return the first word of the statement in lower case, after comments and opening parentheses."""
    position = 0
    for token in sql_tokens(sql):
        if sql[position : token.start].strip() or (token.type != "comment" and sql[token.start] != "("):
            break
        position = token.end
    word = _WORD.match(sql[position:].lstrip())
    return word.group().lower() if word else ""


def without_trailing_comments(sql: str) -> str:
    """Return the statement without trailing semicolons and comments."""
    # ``end`` is the end of the statement so far, ``position`` the end of the last token.
    end = 0
    position = 0
    for token in sql_tokens(sql):
        before_token = sql[position : token.start].rstrip()
        if before_token.strip():
            end = position + len(before_token)
        # The remaining tokens are comments and semicolons, which do not extend the statement.
        if token.type == "quoted" or sql[token.start] in "(),":
            end = token.end
        position = token.end
    remainder = sql[position:].rstrip()
    return sql[: position + len(remainder)] if remainder else sql[:end]


def _block_end(sql: str, position: int) -> int:
    """Return the end of the block comment that contains ``position``. Block comments may contain others."""
    depth = 1
    while depth:
        delimiter = _BLOCK_DELIMITER.search(sql, position)
        if delimiter is None:
            return len(sql)
        depth += 1 if delimiter.group() == "/*" else -1
        position = delimiter.end()
    return position
