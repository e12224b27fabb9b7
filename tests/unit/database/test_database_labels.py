"""Labels of databases in messages: the database and its host, and never the password."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.database.errors import database_label


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("postgresql://me:hidden@db.example:5432/dashboards", "dashboards at db.example:5432"),
        ("postgresql://me:hid%40den@db.example/my%20base", "my base at db.example"),
        ("postgresql://me:hidden@/dashboards?host=/run/sockets&port=5432", "dashboards at /run/sockets"),
        ("postgresql://one,two/x", "x at one,two"),
        ("postgresql:///x", "x at the local socket"),
        ("postgresql://db", "postgres at db"),
    ],
)
def test_a_label_has_database_and_host(url: str, label: str) -> None:
    """Each form of URL that libpq accepts has a label of database and host."""
    assert database_label(url) == label


# The prefix prevents that a password is part of the expected label.
@given(st.text(min_size=6).map(lambda text: "Zq" + text))
def test_no_label_has_a_password(password: str) -> None:
    """The label has no password, neither of the user part of a URL nor of its query."""
    quoted = quote(password, safe="")
    assert database_label(f"postgresql://me:{quoted}@db/x?password={quoted}") == "x at db"
