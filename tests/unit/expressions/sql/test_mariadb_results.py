"""SQL expressions compared with recorded results of MariaDB (``make test-oracles``) and with the differences on the reference page."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.oracles.cases import cases, is_statement, open_duckdb
from tests.oracles.differences import check_case, differences

from dashwright.expressions.sql.functions import FUNCTIONS

pytestmark = pytest.mark.exhaustive

#: The number of tests to which the cases are distributed, so that several processes can share them.
_PARTS = 8

_RECORDED_RESULTS = json.loads((Path(__file__).parents[3] / "golden/mariadb.json").read_text())


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to DuckDB with the tables of the cases."""
    with open_duckdb() as connection:
        yield connection


def test_the_recorded_results_are_of_these_cases() -> None:
    """Every case has a recorded result, and every recorded result a case. A new case must be recorded first."""
    assert list(_RECORDED_RESULTS) == cases()


@pytest.mark.parametrize("part", range(_PARTS))
def test_every_case_has_the_recorded_result(connection: duckdb.DuckDBPyConnection, part: int) -> None:
    """Results equal the recorded ones by value. Intended differences are on the reference page, with both results and the reason."""
    recorded_results = list(_RECORDED_RESULTS.items())[part::_PARTS]
    faults = [fault for case, response in recorded_results if (fault := check_case(connection, case, response))]
    assert not faults, "\n".join(faults)


def test_every_listed_difference_belongs_to_a_case() -> None:
    """Every difference on the reference page belongs to a case, so none is obsolete."""
    assert set(differences()) <= set(_RECORDED_RESULTS)
    # A page that is read wrongly would have none.
    assert len(differences()) > 20


def test_every_function_has_a_case() -> None:
    """Each function is used at least once, in an expression or a statement."""
    text = "\n".join(_RECORDED_RESULTS).lower()
    unused = {name for name in FUNCTIONS if f"{name}(" not in text.replace(" (", "(")}
    # The results of these functions depend on the clock.
    assert unused <= {
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "sysdate",
        "utc_date",
        "utc_time",
        "utc_timestamp",
    }
    assert sum(is_statement(case) for case in _RECORDED_RESULTS) > 200
