"""SQL expressions return what MariaDB returns, except for the differences on the reference page."""

import duckdb
import pymysql
import pytest
from tests.golden import wire
from tests.oracles.cases import CaseResult, cases, json_file, query_mariadb
from tests.oracles.differences import check_case

pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def results(mariadb: "pymysql.Connection[pymysql.cursors.Cursor]") -> dict[str, CaseResult]:
    """Return MariaDB's result of each case."""
    return query_mariadb(mariadb, cases())


def test_the_golden_file_has_mariadbs_results(results: dict[str, CaseResult]) -> None:
    """MariaDB's results are in a golden file, so that other tests need no server. ``UPDATE_GOLDEN=1`` rewrites it."""
    wire.check("mariadb.json", json_file(results))


def test_every_case_has_the_same_result(results: dict[str, CaseResult], duckdb_connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB returns the result of MariaDB for every case, unless the reference page lists exactly these two different results."""
    faults = [fault for case, result in results.items() if (fault := check_case(duckdb_connection, case, result))]
    assert not faults, "\n".join(faults)
