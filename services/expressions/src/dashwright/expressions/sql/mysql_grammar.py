"""The grammar of statements: MySQL's."""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from dashwright.expressions.sql.bounds import steps, too_complex

_NAME = "text"


class _Parser(MySQLParser):
    """MySQL's parser without translations of functions: each keeps the name that was written."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: MySQLParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "CONVERT", "EXTRACT", "GROUP_CONCAT", "JSON_TABLE", "POSITION", "SUBSTR", "SUBSTRING", "TRIM")
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {
        TokenType.CURRENT_DATE: lambda: exp.Anonymous(this="current_date"),
        TokenType.CURRENT_TIME: lambda: exp.Anonymous(this="current_time"),
        TokenType.CURRENT_TIMESTAMP: lambda: exp.Anonymous(this="current_timestamp"),
        TokenType.LOCALTIME: lambda: exp.Anonymous(this="localtime"),
        TokenType.LOCALTIMESTAMP: lambda: exp.Anonymous(this="localtimestamp"),
    }

    _steps_left: int = steps(0)

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        """Return the trees of the statement. Raises InvalidStatement if parsing takes too many steps."""
        self._steps_left = steps(len(raw_tokens))
        return super().parse(raw_tokens, sql)

    def _advance(self, times: int = 1) -> None:
        # Backtracking counts too: nested alternatives could otherwise take exponential time.
        self._steps_left -= 1
        if self._steps_left < 0:
            raise too_complex()
        super()._advance(times)

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        return self._parse_csv(self._parse_projection), None

    def _parse_projection(self) -> exp.Expr | None:
        first = self._curr
        projection = self._parse_expression()
        if projection is not None and self._prev is not None:
            projection.meta[_NAME] = self._find_sql(first, self._prev)
        return projection


class GuestDialect(MySQL):
    """The dialect of statements: MySQL with the parser above."""

    Parser = _Parser

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Return the path unchanged; ``json_path`` translates it."""
        return path


def name_of(projection: exp.Expr) -> str:
    """Return the name of an unnamed column of a result: its text in the statement."""
    text = isinstance(projection, exp.Literal) and projection.is_string
    return projection.name if text else str(projection.meta_get(_NAME, projection.name))
