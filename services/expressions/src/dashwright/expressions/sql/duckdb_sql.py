"""Builders of DuckDB's SQL: macros as strings, and nodes of sqlglot's syntax tree."""

import re

from sqlglot import exp

from dashwright.expressions.sql.sql_type import SqlType, with_type


def let(body: str, **bindings: str) -> str:
    """Return SQL that evaluates the expression of each binding once. ``body`` may refer to it as ``$name`` several times.

    DuckDB has no expression that names a value. So the SQL creates a list whose only item is the value (for several
    bindings, a struct of the values), and transforms the list by a lambda with the body. In the lambda, ``v`` is the
    item.
    """
    if len(bindings) == 1:
        ((name_pattern, item),) = bindings.items()
        reference = "v"
    else:
        name_pattern = "|".join(bindings)
        item = "{" + ", ".join(f"'{name}': {expression}" for name, expression in bindings.items()) + "}"
        reference = r"v['\1']"
    body = re.sub(rf"\$({name_pattern})\b", reference, body)
    return f"list_transform([{item}], lambda v: {body})[1]"


def macro(signature: str, body: str, **bindings: str) -> str:
    """Return the statement that creates a macro. The name in ``signature``, such as ``"week(t)"``, gets the prefix ``mysql_``.

    With ``bindings``, the macro evaluates the expression of each once, and ``body`` refers to its value as ``$name``; see ``let``. A
    parameter that ``body`` uses several times is bound too, since DuckDB would evaluate its argument each time: ``x="x"``.
    """
    return f"create macro mysql_{signature} as {let(body, **bindings) if bindings else body}"


def call(name: str, *arguments: exp.Expr, result_type: SqlType = SqlType.UNKNOWN) -> exp.Expr:
    """Return a call of a DuckDB function or macro, whose result has the type ``result_type``."""
    return with_type(exp.Anonymous(this=name, expressions=list(arguments)), result_type)


def cast(node: exp.Expr, type_name: str) -> exp.Expr:
    """Return a cast to a DuckDB type, such as ``bigint``."""
    return exp.Cast(this=node, to=exp.DataType.build(type_name, dialect="duckdb"))


def string_literal(value: str) -> exp.Expr:
    """Return a string literal."""
    return exp.Literal.string(value)
