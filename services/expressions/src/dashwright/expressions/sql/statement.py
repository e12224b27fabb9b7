"""Parsing of statements into the refIds that they select from and the SQL that DuckDB runs."""

from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dashwright.expressions.sql.allow_list import parse, position_of
from dashwright.expressions.sql.bounds import MAX_SQL_LENGTH, too_complex_error
from dashwright.expressions.sql.dialect import rewrite
from dashwright.expressions.sql.relation import Statement
from dashwright.expressions.sql.statement_errors import InvalidStatement, StatementError

#: Names that WITH clauses define, with folded case.
_Names = frozenset[str]


def tables_of(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables that are not defined by a WITH clause: the results of queries, and ``dual``. The order is undefined."""
    pending: list[tuple[exp.Expr, _Names]] = [(tree, frozenset())]
    while pending:
        node, visible_names = pending.pop()
        if isinstance(node, exp.Table) and node.name and node.name.casefold() not in visible_names:
            yield node
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for definition in clause.expressions:
                pending += _scopes(definition, visible_names, recursive=bool(clause.args.get("recursive")))
                visible_names |= {definition.alias.casefold()}
        pending += ((child, visible_names) for child in node.iter_expressions() if child is not clause)


def _scopes(definition: exp.CTE, visible_names: _Names, *, recursive: bool) -> list[tuple[exp.Expr, _Names]]:
    """Return the children of a definition in a WITH clause, each with the names that are visible to it.

    A definition can refer to those before it. As in DuckDB, only the recursive part can refer to the definition itself.
    """
    body = definition.this
    if not (recursive and isinstance(body, exp.Union)):
        return [(body, visible_names)]
    name = definition.alias.casefold()
    recursive_part, nested_clause = body.expression, body.args.get("with_")
    if isinstance(nested_clause, exp.With):
        # The nested WITH clause may hide the name. This rare case is treated as not recursive.
        return [(body, visible_names)]
    other_children = (child for child in body.iter_expressions() if child is not recursive_part)
    return [(recursive_part, visible_names | {name}), *((child, visible_names) for child in other_children)]


_MAX_CACHED_STATEMENTS = 256


def parse_statement(source: str, ref_id: str) -> Statement:
    """Return the parsed statement of the query ``ref_id``.

    Raises BadRequest with a ``message_id`` below ``sse.sql`` and the position of the error.
    """
    try:
        return _parse(source)
    except StatementError as error:
        raise error.to_bad_request(ref_id) from error


def warm_up() -> None:
    """Parse a statement, because the first one takes 70 ms longer than the others."""
    _parse("select max(value) from A where host = 'a' group by host")


@lru_cache(_MAX_CACHED_STATEMENTS)
def _parse(source: str) -> Statement:
    """Return the parsed statement. Raises StatementError if it is invalid or not allowed."""
    try:
        tree = parse(source)
        query_tables = (table for table in tables_of(tree) if table.name.lower() != "dual")
        tables = tuple(dict.fromkeys(table.name for table in sorted(query_tables, key=_source_position)))
        _check_distinct_names(tree, tables)
        duckdb_tree = rewrite(tree)
        _check_tables(duckdb_tree, tables)
        sql = duckdb_tree.sql(
            "duckdb", identify=True, comments=False, normalize_functions=False, copy=False, unsupported_level=ErrorLevel.RAISE
        )
    except RecursionError as error:
        raise InvalidStatement("it nests too deeply; name a part of it in a WITH clause") from error
    except SqlglotError as error:
        raise InvalidStatement(f"it cannot be run here: {error}") from error
    if len(sql) > MAX_SQL_LENGTH:
        raise too_complex_error()
    return Statement(tables, sql)


def _source_position(table: exp.Table) -> int:
    """Return the number of characters before the table in the source."""
    return int(table.this.meta_get("start", 0))


def _check_distinct_names(tree: exp.Query, names: tuple[str, ...]) -> None:
    """Raise InvalidStatement if two names differ in case only, because DuckDB ignores the case of names."""
    names_by_folded_name: dict[str, str] = {}
    for name in names:
        first_name = names_by_folded_name.setdefault(name.casefold(), name)
        if first_name != name:
            raise InvalidStatement(
                f"the results '{first_name}' and '{name}' differ in small and capital letters only; rename one of the queries",
                position_of(tree),
            )


def _check_tables(duckdb_tree: exp.Query, names: tuple[str, ...]) -> None:
    """Raise InvalidStatement for a table that is not among ``names``, which DuckDB would look up among its own."""
    for table in tables_of(duckdb_tree):
        if table.name not in names:
            raise InvalidStatement(
                f"'{table.name}' is not a result of a query; dual must be the only table in its FROM", position_of(table)
            )
