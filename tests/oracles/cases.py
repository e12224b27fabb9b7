"""Cases of ``expressions.txt``, their results in MariaDB and DuckDB, and the comparison of two results."""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pymysql
from tests.oracles.tables import TABLES

from dashwright.common.errors import BadRequest
from dashwright.expressions.sql.macros import MACROS
from dashwright.expressions.sql.statement import parse_statement

_FILE = Path(__file__).parent / "expressions.txt"
_LIST_NAME = re.compile(r"@(\w+)")

#: Rows of JSON values. ``{"exact": text}`` is a decimal number; ``{"error": true}`` is a failure.
CaseResult = Any

NO_RESULT: CaseResult = {"error": True}


def cases() -> list[str]:
    """Return every expression and statement, once.

    A line of the file is a case. ``let name = a ;; b`` defines a list, and a case with ``@name`` is repeated for each of its values.
    """
    lists: dict[str, list[str]] = {}
    expressions: dict[str, None] = {}
    for line in _FILE.read_text().splitlines():
        if line.startswith("let "):
            name, _, values = line.removeprefix("let ").partition(" = ")
            lists[name] = [value.strip() for value in values.split(" ;; ")]
        elif line and not line.startswith("# "):
            expressions.update(dict.fromkeys(_expand(line, lists)))
    return list(expressions)


def _expand(line: str, lists: dict[str, list[str]]) -> Iterator[str]:
    """Yield a line for each combination of values of the lists that ``line`` names."""
    names = [name for name in dict.fromkeys(_LIST_NAME.findall(line)) if name in lists]
    for values in itertools.product(*(lists[name] for name in names)):
        value_by_name = dict(zip(names, values, strict=True))
        # An unknown name is not a list, but a variable of SQL, and is not replaced.
        yield _LIST_NAME.sub(lambda match: value_by_name.get(match[1], match[0]), line)  # noqa: B023 (called before the next iteration)


def is_statement(case: str) -> bool:
    """Return whether a case is a complete statement, not an expression."""
    # Other cases that begin with a parenthesis are expressions, some of them with a subquery.
    return case.startswith(("select ", "with ", "(select n from A order"))


def statement_of(case: str) -> str:
    """Return the statement of a case; an expression is selected without a table."""
    return case if is_statement(case) else f"select {case}"


def query_mariadb(connection: "pymysql.Connection[pymysql.cursors.Cursor]", case_texts: Sequence[str]) -> dict[str, CaseResult]:
    """Return the result of each case in a MariaDB that compares text by code points, like DuckDB, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("create or replace database dashwright_oracle character set utf8mb4 collate utf8mb4_nopad_bin")
        cursor.execute("use dashwright_oracle")
        cursor.execute("set names utf8mb4 collate utf8mb4_nopad_bin")
        cursor.execute("set time_zone = '+00:00', sql_mode = 'ONLY_FULL_GROUP_BY'")
        for table in TABLES:
            columns = ", ".join(f"`{name}` {kind}" for name, kind, _ in table.columns)
            cursor.execute(f"create table `{table.name}` ({columns})")
            cursor.executemany(f"insert into `{table.name}` values ({', '.join(['%s'] * len(table.columns))})", table.rows)
        return {case: _run_case(lambda text: _rows(cursor, text), case) for case in case_texts}


def _rows(cursor: pymysql.cursors.Cursor, text: str) -> Sequence[Sequence[Any]]:
    """Execute a statement and return its rows."""
    cursor.execute(text)
    rows: Sequence[Sequence[Any]] = cursor.fetchall()
    return rows


def _run_case(run: Callable[[str], Sequence[Sequence[Any]]], case: str) -> CaseResult:
    """Return the rows of a case as JSON values, or NO_RESULT if MariaDB refuses it."""
    try:
        rows = run(statement_of(case))
    except (pymysql.err.MySQLError, UnicodeDecodeError):
        return NO_RESULT
    return [[_json_value(value) for value in row] for row in rows]


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB with the sandbox's macros and the tables of the cases."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("set TimeZone = 'UTC'")
    for macro in MACROS:
        connection.execute(macro)
    for table in TABLES:
        columns = ", ".join(f'"{name}" {kind}' for name, _, kind in table.columns)
        connection.execute(f'create table "{table.name}" ({columns})')
        connection.executemany(f'insert into "{table.name}" values ({", ".join("?" * len(table.columns))})', table.rows)
    return connection


def query_duckdb(connection: duckdb.DuckDBPyConnection, case: str) -> CaseResult:
    """Return the result of a case in DuckDB, or NO_RESULT if Dashwright or DuckDB refuses it."""
    try:
        rows = connection.execute(parse_statement(statement_of(case), "X").sql).fetchall()
    except (BadRequest, duckdb.Error):
        return NO_RESULT
    return [[_json_value(value) for value in row] for row in rows]


def _json_value(value: Any) -> Any:
    """Return a value of either database as a JSON value."""
    match value:
        case bool():
            return int(value)
        case Decimal():
            return {"exact": str(value)}
        case bytes():
            return value.decode("utf-8")
        case datetime():
            return value.isoformat(" ")
        case date():
            return value.isoformat()
        case timedelta():
            return _time_text(value)
        case float() if not math.isfinite(value):
            return str(value)
    return value


def json_file(results: Mapping[str, CaseResult]) -> bytes:
    """Return JSON with one case per line."""
    lines = (f"{json.dumps(case, ensure_ascii=False)}: {json.dumps(result, ensure_ascii=False)}" for case, result in results.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def result_text(result: CaseResult) -> str:
    """Return a result as text: ``refused``, its only value, or the JSON of several values."""
    if result == NO_RESULT:
        return "refused"
    if len(result) != 1 or len(result[0]) != 1:
        return json.dumps(result, ensure_ascii=False)
    value = result[0][0]
    if value is None:
        return "NULL"
    if value == "":
        return "''"
    return str(value["exact"] if isinstance(value, dict) else value)


def _time_text(value: timedelta) -> str:
    """Return a time as MariaDB prints it: a sign, at least two digits of hours, and the fraction without zeros at its end."""
    micros = value // timedelta(microseconds=1)
    seconds, part = divmod(abs(micros), 1_000_000)
    text = f"{'-' if micros < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{part:06}".rstrip("0") if part else "")


def are_equal(duckdb_result: CaseResult, reference: CaseResult) -> bool:
    """Return whether both failed, or rows are equal up to the written precision of numbers."""
    # Only a failure is an object instead of a list of rows.
    if isinstance(duckdb_result, dict) or isinstance(reference, dict):
        return isinstance(duckdb_result, dict) and isinstance(reference, dict)
    return len(duckdb_result) == len(reference) and all(map(_are_equal_rows, duckdb_result, reference))


def _are_equal_rows(own: Sequence[Any], reference: Sequence[Any]) -> bool:
    """Return whether two rows have as many values, and their values are equal."""
    return len(own) == len(reference) and all(map(_are_equal_values, own, reference))


def _are_equal_values(own: Any, reference: Any) -> bool:
    """Return whether a value of DuckDB is that of MariaDB, up to the precision of numbers and to spaces in JSON documents."""
    if isinstance(reference, dict):
        exact = Decimal(reference["exact"])
        number = _decimal_of(own)
        if number is None or not number.is_finite():
            return False
        last_digit = Decimal(1).scaleb(_exponent(exact))
        # A number that was rounded to the last digit differs by up to a half of it; DuckDB's binary fractions by a little more.
        return abs(number - exact) <= last_digit * Decimal("0.5000001") or math.isclose(number, exact, rel_tol=1e-12)
    if isinstance(own, dict):
        own = float(own["exact"])
    if isinstance(own, int | float) and isinstance(reference, int | float):
        return math.isclose(own, reference, rel_tol=1e-9, abs_tol=1e-12)
    if own == reference:
        return True
    document = _as_document(reference)
    return document is not None and bool(_as_document(own) == document)


def _decimal_of(value: Any) -> Decimal | None:
    """Return a JSON value as a decimal number, or None if it is not a number."""
    if isinstance(value, dict):
        return Decimal(value["exact"])
    return Decimal(repr(value)) if isinstance(value, int | float) else None


def _exponent(number: Decimal) -> int:
    """Return the power of ten of the last digit of a number, such as -2 for 1.25."""
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _as_document(value: Any) -> Any:
    """Return the value of a text that is a JSON object or array, or None for any other value."""
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None
