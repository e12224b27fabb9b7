"""The results that a statement selects from, and the names of its columns."""

import logging
from collections.abc import Iterator

import duckdb
import pytest
from tests.oracles.cases import open_duckdb

from dashwright.expressions.sql.statement import parse_statement, warm_up


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT 1", ()),
        ("SELECT 1 FROM dual", ()),
        ("SELECT * FROM B JOIN A ON 1 JOIN B AS b2 ON 1", ("B", "A")),
        ("SELECT (SELECT max(x) FROM C) FROM A WHERE x IN (SELECT x FROM B)", ("C", "A", "B")),
        ("SELECT * FROM `my query`, `a.b`", ("my query", "a.b")),
        ("SELECT * FROM (SELECT * FROM A) AS B", ("A",)),
        ("WITH B AS (SELECT * FROM A) SELECT * FROM B", ("A",)),
        ("WITH A AS (SELECT * FROM A) SELECT * FROM A", ("A",)),
        ("WITH x AS (SELECT 1), y AS (SELECT * FROM x, Z) SELECT * FROM y, X", ("Z",)),
        ("WITH x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM x", ("y",)),
        ("WITH RECURSIVE r AS (SELECT 1 AS i UNION SELECT i + 1 FROM r WHERE i < 3) SELECT * FROM r", ()),
        ("SELECT * FROM (WITH x AS (SELECT * FROM A) SELECT * FROM x) t, x", ("A", "x")),
        ("WITH x AS (SELECT 1) SELECT * FROM A WHERE n IN (SELECT * FROM x)", ("A",)),
        ("SELECT * FROM A UNION SELECT * FROM B INTERSECT SELECT * FROM A", ("A", "B")),
        ("SELECT t.* FROM A, JSON_TABLE(A.doc, '$[*]' COLUMNS (x INT PATH '$')) AS t", ("A",)),
    ],
)
def test_the_tables_of_a_statement_are_the_results_that_it_reads(text: str, tables: tuple[str, ...]) -> None:
    """The tables of a statement are listed once, in order of appearance. Names of a WITH clause are not results in its scope."""
    assert parse_statement(text, "X").tables == tables


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to DuckDB with the tables of the cases."""
    with open_duckdb() as connection:
        yield connection


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT n, A.value, COUNT(*) OVER () FROM A", ["n", "value", "COUNT(*) OVER ()"]),
        ("SELECT n + 1, 'x', n AS m, value `v w`, flag AS 'f' FROM A", ["n + 1", "x", "m", "v w", "f"]),
        ("SELECT `max(n)` FROM (SELECT max(n) FROM A) t", ["max(n)"]),
        ("SELECT week( time ) FROM A UNION SELECT 1", ["week( time )"]),
    ],
)
def test_a_column_is_named_by_its_source(connection: duckdb.DuckDBPyConnection, text: str, names: list[str]) -> None:
    """A column without an alias is named by its expression, as in MySQL."""
    columns = connection.execute(parse_statement(text, "X").sql).description
    assert [column[0] for column in columns or []] == names


@pytest.mark.parametrize("name", ["nope", "user", "current_user", "session_user", "current_schema"])
def test_a_missing_column_is_an_error(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """A missing column is an error even if DuckDB has a keyword of that name, also inside of functions and comparisons."""
    for text in (
        f"SELECT {name} FROM A",
        f"SELECT {name} + 1 FROM A",
        f"SELECT n FROM A WHERE {name} = 'x'",
        f"SELECT week({name}) FROM A",
    ):
        with pytest.raises(duckdb.Error, match=f'Referenced column "{name}" not found'):
            connection.execute(parse_statement(text, "X").sql).fetchall()


def test_rollup_adds_the_totals(connection: duckdb.DuckDBPyConnection) -> None:
    """``WITH ROLLUP`` adds a row of totals. The case is not compared with MariaDB, which does not permit ORDER BY with ROLLUP."""
    rows = connection.execute(
        parse_statement("SELECT flag, count(*) FROM A GROUP BY flag WITH ROLLUP ORDER BY 2 DESC LIMIT 1", "X").sql
    ).fetchall()
    # The row of totals comes first, because the total is the largest count: that of all 12 rows of the table.
    assert rows == [(None, 12)]


def test_parsing_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The parser of statements does not write to the log."""
    with caplog.at_level(logging.DEBUG):
        warm_up()
        parse_statement("SELECT n FROM A WHERE time > now() - INTERVAL 1 DAY", "X")
    assert not [record for record in caplog.records if record.name.startswith("sqlglot")]
