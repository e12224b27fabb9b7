"""The grammar of statements: sqlglot's parser of MySQL with a limit of steps."""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from dashwright.expressions.sql.bounds import step_limit, too_complex_error

#: The member of ``meta`` of a projection that contains the source text of the projection.
_SOURCE_KEY = "text"


class _Parser(MySQLParser):
    """The parser of MySQL, except that functions keep their names instead of being translated."""

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

    _remaining_steps: int = step_limit(0)

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        """Return the trees of the statement. Raises InvalidStatement if parsing takes too many steps."""
        self._remaining_steps = step_limit(len(raw_tokens))
        return super().parse(raw_tokens, sql)

    def _advance(self, times: int = 1) -> None:
        # Backtracking counts too: nested alternatives could otherwise take exponential time.
        self._remaining_steps -= 1
        if self._remaining_steps < 0:
            raise too_complex_error()
        super()._advance(times)

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        # The second item is the columns of an EXCLUDE clause, which MySQL does not have.
        return self._parse_csv(self._parse_projection), None

    def _parse_projection(self) -> exp.Expr | None:
        first_token = self._curr
        projection = self._parse_expression()
        if projection is not None and self._prev is not None:
            projection.meta[_SOURCE_KEY] = self._find_sql(first_token, self._prev)
        return projection


class StatementDialect(MySQL):
    """MySQL's dialect with the parser of this module."""

    Parser = _Parser

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Return the path unchanged: the module ``json_path`` translates it."""
        return path


def default_name(projection: exp.Expr) -> str:
    """Return the name of a result column without an alias: the value of a string literal, else the source text in the statement."""
    is_string_literal = isinstance(projection, exp.Literal) and projection.is_string
    return projection.name if is_string_literal else str(projection.meta_get(_SOURCE_KEY, projection.name))
