"""A statement of the guest language, read: the results it wants, and what DuckDB is to run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dashwright.expressions.sql.allow import parsed, place_of
from dashwright.expressions.sql.dialect import rewritten
from dashwright.expressions.sql.refusals import Refusal, Unreadable

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Statement:
    """``tables``: the refIds it reads, in order of appearance. ``sql``: what DuckDB runs, over tables of these names and ``MACROS``."""

    tables: tuple[str, ...]
    sql: str


def read(text: str, ref_id: str) -> Statement:
    """The statement that ``ref_id`` is. Raises BadRequest with a ``message_id`` of ``sse.sql``, and the place where it is known."""
    try:
        return _read(text)
    except Refusal as refusal:
        raise refusal.of(ref_id) from refusal


def warm() -> None:
    """Reads a first statement, which takes some 70 ms longer than the next ones."""
    _read("select max(value) from A where host = 'a' group by host")


@lru_cache(_REMEMBERED)
def _read(text: str) -> Statement:
    try:
        tree = parsed(text)
        tables = tuple(dict.fromkeys(table.name for table in sorted(_tables(tree), key=_start)))
        _tell_apart(tree, tables)
        sql = rewritten(tree).sql(
            "duckdb", identify=True, comments=False, normalize_functions=False, copy=False, unsupported_level=ErrorLevel.RAISE
        )
    except RecursionError as error:
        raise Unreadable("it nests too deeply; name a part of it in a WITH clause") from error
    except SqlglotError as error:
        raise Unreadable(f"it cannot be run here: {error}") from error
    return Statement(tables, sql)


def _start(table: exp.Table) -> int:
    return int(table.this.meta_get("start", 0))


def _tell_apart(tree: exp.Query, names: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise Unreadable(
                f"the results '{other}' and '{name}' differ in small and capital letters only; rename one of the queries", place_of(tree)
            )


def _tables(tree: exp.Query) -> Iterator[exp.Table]:
    """The tables that are results: neither ``dual`` nor named by a WITH clause around them."""
    for table in tree.find_all(exp.Table, bfs=False):
        if table.name and table.name.lower() != "dual" and table.name.casefold() not in _named_around(table):
            yield table


def _named_around(table: exp.Table) -> set[str]:
    """What the WITH clauses name that this place lies under; within a clause only what stands before, or itself where it is recursive."""
    names: set[str] = set()
    node: exp.Expr = table
    while (parent := node.parent) is not None:
        clause = parent.args.get("with_")
        if isinstance(parent, exp.With):
            place = parent.expressions.index(node)
            visible = parent.expressions[: place + 1 if parent.args.get("recursive") else place]
            node = parent.parent or parent
        else:
            visible = clause.expressions if clause is not None else []
            node = parent
        names |= {one.alias.casefold() for one in visible}
    return names
