"""SQL expressions answer what MariaDB answers, but for what the reference page says."""

import duckdb
import pymysql
import pytest
from tests.golden import wire
from tests.oracles.cases import Answer, as_file, ask_mariadb, cases
from tests.oracles.differences import check_case

pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def answers(mariadb: "pymysql.Connection[pymysql.cursors.Cursor]") -> dict[str, Answer]:
    return ask_mariadb(mariadb, cases())


def test_the_ordinary_suite_knows_its_answers(answers: dict[str, Answer]) -> None:
    """They lie in a file, so that no other test needs the server. ``UPDATE_GOLDEN=1`` writes it anew."""
    wire.check("mariadb.json", as_file(answers))


def test_every_case_is_answered_alike(answers: dict[str, Answer], guest: duckdb.DuckDBPyConnection) -> None:
    """By value; what differs on purpose stands on the page, with both answers and the reason."""
    faults = [fault for case, answer in answers.items() if (fault := check_case(guest, case, answer))]
    assert not faults, "\n".join(faults)
