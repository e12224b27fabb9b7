"""The page docs/reference/sql.md is correct: its tables equal those of the code, and each example has the result after it."""

import re
from collections.abc import Iterator

import duckdb
import pytest
from docs.tables import SQL_PAGE, page_with_tables
from tests.oracles.cases import open_duckdb, result_text

from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.statement import parse_statement

_TEXT = SQL_PAGE.read_text()
#: A table that the examples select from: its name and its CSV.
_TABLE = re.compile(r"^```csv (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: An example: a statement, and the CSV of its result.
_EXAMPLE = re.compile(r"^```sql\n(.*?)^```\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The types of columns that are not text.
_TYPES = {"time": "timestamp", "value": "double"}


def test_the_page_is_current() -> None:
    """``make docs`` does not change the page, and restores tables that were changed by hand."""
    assert page_with_tables(_TEXT) == _TEXT
    assert page_with_tables(_TEXT.replace("| `abs(x)` |", "| `abs(y)` |")) == _TEXT
    assert all(f"`{function.usage}`".replace("|", "\\|") in _TEXT for function in FUNCTIONS.values())


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to DuckDB with the tables of the page."""
    with open_duckdb() as connection:
        _load_tables(connection)
        yield connection


def _load_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables that the page shows as CSV. An empty cell is null."""
    for name, content in _TABLE.findall(_TEXT):
        header, *rows = [line.split(",") for line in content.splitlines()]
        columns = ", ".join(f'"{column}" {_TYPES.get(column, "varchar")}' for column in header)
        connection.execute(f'create or replace table "{name}" ({columns})')
        connection.executemany(
            f'insert into "{name}" values ({", ".join("?" * len(header))})', [[cell or None for cell in row] for row in rows]
        )


@pytest.mark.parametrize(("statement", "response"), _EXAMPLE.findall(_TEXT))
def test_an_example_has_the_result_on_the_page(connection: duckdb.DuckDBPyConnection, statement: str, response: str) -> None:
    """The result of an example has the names and values on the page."""
    result = connection.execute(parse_statement(statement, "X").sql)
    header = ",".join(column[0] for column in result.description or [])
    rows = [",".join(_cell_text(value) for value in row) for row in result.fetchall()]
    assert [header, *rows] == response.splitlines()


def _cell_text(value: object) -> str:
    """Return the text of a cell as the page writes it."""
    if value is None:
        return result_text([[None]])
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_the_pattern_finds_examples() -> None:
    """The pattern for examples finds every example of the page, and there are several."""
    example_count = len(_EXAMPLE.findall(_TEXT))
    assert example_count == _TEXT.count("```sql\n")
    assert example_count > 3
