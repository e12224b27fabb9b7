"""The operators LIKE, REGEXP and COLLATE."""

import re

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.comparison import parenthesized
from dashwright.expressions.sql.duckdb_sql import call, string_literal
from dashwright.expressions.sql.sql_type import SqlType, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement


def like_test(node: exp.Like) -> exp.Expr:
    """Return the LIKE test, with a backslash as escape character: DuckDB has no escape character by default."""
    # A collation that does not ignore case has been removed by ``collate``.
    ignores_case = isinstance(node.this, exp.Collate) or isinstance(node.expression, exp.Collate)
    value, pattern = (side.this if isinstance(side, exp.Collate) else side for side in (node.this, node.expression))
    operator = exp.ILike if ignores_case else exp.Like
    may_have_escapes = not isinstance(pattern, exp.Literal) or "\\" in pattern.name
    test: exp.Expr = operator(this=parenthesized(coerce(value, SqlType.STRING)), expression=parenthesized(coerce(pattern, SqlType.STRING)))
    if may_have_escapes and not isinstance(node.parent, exp.Escape):
        test = exp.Escape(this=test, expression=string_literal("\\"))
    if node.args.get("negate"):
        return with_type(exp.Paren(this=exp.Not(this=test)), SqlType.BOOLEAN)
    return with_type(test, SqlType.BOOLEAN)


def escaped_like(node: exp.Escape) -> exp.Expr:
    """Return the LIKE test with an ESCAPE clause. The LIKE inside it is rewritten already."""
    test = node.this
    is_negated = isinstance(test, exp.Paren) and isinstance(test.this, exp.Not)
    like = test.this.this if is_negated else test
    escape = exp.Escape(this=like, expression=node.expression)
    return with_type(exp.Paren(this=exp.Not(this=escape)) if is_negated else escape, SqlType.BOOLEAN)


def regexp_test(node: exp.RegexpLike) -> exp.Expr:
    """Return the test whether the pattern matches anywhere in the string."""
    ignores_case = isinstance(node.this, exp.Collate)
    value = node.this.this if ignores_case else node.this
    options = [string_literal("i")] if ignores_case else []
    return call(
        "regexp_matches", coerce(value, SqlType.STRING), coerce(node.expression, SqlType.STRING), *options, result_type=SqlType.BOOLEAN
    )


def collate(node: exp.Collate) -> exp.Expr:
    """Return the string with the collation of DuckDB that has the same sensitivity to case and accents."""
    name = node.expression.name.lower()
    if not re.fullmatch(r"binary|[a-z0-9_]+_(bin|cs|ci)", name):
        raise InvalidStatement("a collation is a name like utf8mb4_general_ci")
    value = coerce(node.this, SqlType.STRING)
    if name.endswith(("_bin", "_cs")) or name == "binary":
        return value
    folding = "NOCASE" if name.endswith("_as_ci") else "NOCASE.NOACCENT"
    return with_type(exp.Collate(this=parenthesized(value), expression=exp.var(folding)), SqlType.STRING)
