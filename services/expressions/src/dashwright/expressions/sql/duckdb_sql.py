"""Builders of DuckDB's SQL: the texts of macros, and the nodes of calls."""

import re

from sqlglot import exp

from dashwright.expressions.sql.sql_type import SqlType, marked


def let(body: str, **bound: str) -> str:
    """Return SQL that evaluates each bound expression once.

    ``body`` calls it ``v`` if there is one, ``$name`` if there are several.
    """
    if len(bound) == 1:
        return f"list_transform([{next(iter(bound.values()))}], lambda v: {body})[1]"
    fields = ", ".join(f"'{name}': {expression}" for name, expression in bound.items())
    body = re.sub(rf"\$({'|'.join(bound)})\b", r"v['\1']", body)
    return f"list_transform([{{{fields}}}], lambda v: {body})[1]"


def macro(head: str, body: str, **bound: str) -> str:
    """Return the statement that creates the macro ``mysql_…``, with a head like ``"week(t)"``.

    With ``bound`` its body is a ``let``.
    """
    return f"create macro mysql_{head} as {let(body, **bound) if bound else body}"


def call(name: str, *arguments: exp.Expr, kind: SqlType = SqlType.UNKNOWN) -> exp.Expr:
    """Return a call of a DuckDB function or of a macro."""
    return marked(exp.Anonymous(this=name, expressions=list(arguments)), kind)


def cast(node: exp.Expr, to: str) -> exp.Expr:
    """Return a cast to a type of DuckDB."""
    return exp.Cast(this=node, to=exp.DataType.build(to, dialect="duckdb"))


def text(value: str) -> exp.Expr:
    """Return a literal text."""
    return exp.Literal.string(value)
