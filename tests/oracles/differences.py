"""Intended differences between SQL expressions and MariaDB, read from their only list: the table of the reference page."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
from tests.oracles.cases import CaseResult, are_equal, query_duckdb, result_text

PAGE = Path(__file__).parents[2] / "docs/reference/sql.md"
_ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


class Difference(NamedTuple):
    """The two results, formatted by ``result_text``, and the reason for the difference."""

    #: The result of the SQL expression in DuckDB.
    own: str
    #: The result in MariaDB.
    reference: str
    reason: str


@cache
def differences() -> dict[str, Difference]:
    """Return the differences by case, from the table between two markers of the page."""
    _, _, after_marker = PAGE.read_text().partition("<!-- differences -->\n")
    table, _, _ = after_marker.partition("<!-- end -->")
    return {case.replace("\\|", "|"): Difference(own, reference, reason) for case, own, reference, reason in _ROW.findall(table)}


def check_case(connection: duckdb.DuckDBPyConnection, case: str, reference: CaseResult) -> str | None:
    """Return what is wrong with the result of this case compared to MariaDB's, or None."""
    own = query_duckdb(connection, case)
    difference = differences().get(case)
    if difference is None:
        return None if are_equal(own, reference) else f"{case}: {result_text(own)}, MariaDB: {result_text(reference)}"
    if are_equal(own, reference):
        return f"{case}: listed as different, but both return {result_text(own)}"
    listed = (difference.own.strip("`"), difference.reference.strip("`"))
    actual = (result_text(own), result_text(reference))
    return None if listed == actual else f"{case}: listed as {listed}, but the result is {actual}"
