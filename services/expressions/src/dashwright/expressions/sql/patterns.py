"""The operators LIKE, REGEXP and COLLATE."""

import re

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.comparison import grouped
from dashwright.expressions.sql.duckdb_sql import call, text
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import SqlType, marked


def liked(node: exp.Like) -> exp.Expr:
    """Return the LIKE test. A backslash escapes unless ESCAPE says otherwise; DuckDB has no such default."""
    pattern, folded = node.expression, isinstance(node.this, exp.Collate) or isinstance(node.expression, exp.Collate)
    sides = [side.this if isinstance(side, exp.Collate) else side for side in (node.this, pattern)]
    operator = exp.ILike if folded else exp.Like
    plain = isinstance(sides[1], exp.Literal) and "\\" not in sides[1].name
    found: exp.Expr = operator(this=grouped(coerced(sides[0], SqlType.TEXT)), expression=grouped(coerced(sides[1], SqlType.TEXT)))
    if not plain and not isinstance(node.parent, exp.Escape):
        found = exp.Escape(this=found, expression=text("\\"))
    if node.args.get("negate"):
        return marked(exp.Paren(this=exp.Not(this=found)), SqlType.BOOLEAN)
    return marked(found, SqlType.BOOLEAN)


def escaped(node: exp.Escape) -> exp.Expr:
    """Return LIKE … ESCAPE, whose LIKE was rewritten before."""
    found = node.this
    negated = isinstance(found, exp.Paren) and isinstance(found.this, exp.Not)
    inner = found.this.this if negated else found
    whole = exp.Escape(this=inner, expression=node.expression)
    return marked(exp.Paren(this=exp.Not(this=whole)) if negated else whole, SqlType.BOOLEAN)


def matched(node: exp.RegexpLike) -> exp.Expr:
    """Return a test that the pattern occurs anywhere in the text."""
    folded = isinstance(node.this, exp.Collate)
    value = node.this.this if folded else node.this
    options = [text("i")] if folded else []
    return call("regexp_matches", coerced(value, SqlType.TEXT), coerced(node.expression, SqlType.TEXT), *options, kind=SqlType.BOOLEAN)


def collated(node: exp.Collate) -> exp.Expr:
    """Return the text with its collation, of which only case and accents matter."""
    name = node.expression.name.lower()
    if not re.fullmatch(r"binary|[a-z0-9_]+_(bin|cs|ci)", name):
        raise InvalidStatement("a collation is a name like utf8mb4_general_ci")
    value = coerced(node.this, SqlType.TEXT)
    if name.endswith(("_bin", "_cs")) or name == "binary":
        return value
    folding = "NOCASE" if name.endswith("_as_ci") else "NOCASE.NOACCENT"
    return marked(exp.Collate(this=grouped(value), expression=exp.var(folding)), SqlType.TEXT)
