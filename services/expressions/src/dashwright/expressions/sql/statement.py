"""Parsing of statements: the results they select from, and the SQL that DuckDB runs."""

from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dashwright.expressions.sql.allow_list import parsed, place_of
from dashwright.expressions.sql.bounds import SQL_LENGTH, too_complex
from dashwright.expressions.sql.dialect import rewritten
from dashwright.expressions.sql.refusals import InvalidStatement, Refusal
from dashwright.expressions.sql.relation import Statement

_Names = frozenset[str]


def tables_of(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables that no surrounding WITH clause names: results, and ``dual``, in any order."""
    left: list[tuple[exp.Expr, _Names]] = [(tree, frozenset())]
    while left:
        node, named = left.pop()
        if isinstance(node, exp.Table) and node.name and node.name.casefold() not in named:
            yield node
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for one in clause.expressions:
                left += _body(one, named, recursive=bool(clause.args.get("recursive")))
                named |= {one.alias.casefold()}
        left += ((part, named) for part in node.iter_expressions() if part is not clause)


def _body(clause: exp.CTE, named: _Names, *, recursive: bool) -> list[tuple[exp.Expr, _Names]]:
    """Return the parts of a WITH clause, each with the names it sees.

    A clause sees the clauses before it; itself only in the recursive step, the only place where DuckDB sees it too.
    """
    body = clause.this
    if not (recursive and isinstance(body, exp.Union)):
        return [(body, named)]
    own = clause.alias.casefold()
    step, inner = body.expression, body.args.get("with_")
    if isinstance(inner, exp.With):
        # Its own WITH clause may hide the name; that rare case is treated as not recursive.
        return [(body, named)]
    rest = (part for part in body.iter_expressions() if part is not step)
    return [(step, named | {own}), *((part, named) for part in rest)]


_REMEMBERED = 256


def read(text: str, ref_id: str) -> Statement:
    """Return the statement of ``ref_id``.

    Raises BadRequest with a ``message_id`` of ``sse.sql`` and the position of the fault.
    """
    try:
        return _read(text)
    except Refusal as refusal:
        raise refusal.of(ref_id) from refusal


def warm() -> None:
    """Parse a first statement, which takes some 70 ms longer than the next ones."""
    _read("select max(value) from A where host = 'a' group by host")


@lru_cache(_REMEMBERED)
def _read(text: str) -> Statement:
    try:
        tree = parsed(text)
        found = (table for table in tables_of(tree) if table.name.lower() != "dual")
        tables = tuple(dict.fromkeys(table.name for table in sorted(found, key=_start)))
        _tell_apart(tree, tables)
        guest = rewritten(tree)
        _reads_only(guest, tables)
        sql = guest.sql("duckdb", identify=True, comments=False, normalize_functions=False, copy=False, unsupported_level=ErrorLevel.RAISE)
    except RecursionError as error:
        raise InvalidStatement("it nests too deeply; name a part of it in a WITH clause") from error
    except SqlglotError as error:
        raise InvalidStatement(f"it cannot be run here: {error}") from error
    if len(sql) > SQL_LENGTH:
        raise too_complex()
    return Statement(tables, sql)


def _start(table: exp.Table) -> int:
    return int(table.this.meta_get("start", 0))


def _tell_apart(tree: exp.Query, names: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InvalidStatement(
                f"the results '{other}' and '{name}' differ in small and capital letters only; rename one of the queries", place_of(tree)
            )


def _reads_only(guest: exp.Query, names: tuple[str, ...]) -> None:
    """Refuse tables that DuckDB would look up among its own."""
    for table in tables_of(guest):
        if table.name not in names:
            raise InvalidStatement(f"'{table.name}' is not a result of a query; dual must be the only table in its FROM", place_of(table))
