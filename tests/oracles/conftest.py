"""Reference programs, whose results are compared with those of Dashwright. They are provided like the servers of other tests."""

from collections.abc import Iterator

import duckdb
import pymysql
import pytest
from tests.oracles import cases
from tests.servers import keeper
from tests.servers.mariadb import connect


@pytest.fixture(scope="session")
def mariadb() -> "Iterator[pymysql.Connection[pymysql.cursors.Cursor]]":
    """Return a connection to a MariaDB."""
    with connect(keeper.request_server("mariadb")) as connection:
        yield connection


@pytest.fixture(scope="session")
def duckdb_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a DuckDB that runs SQL expressions."""
    with cases.open_duckdb() as connection:
        yield connection
