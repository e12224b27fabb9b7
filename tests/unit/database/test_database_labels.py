"""Names of databases in messages: the host and the database, and never the password."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.database.errors import database_label


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://me:hidden@db.example:5432/dashboards", "dashboards at db.example:5432"),
        ("postgresql://me:hid%40den@db.example/my%20base", "my base at db.example"),
        ("postgresql://me:hidden@/dashboards?host=/run/sockets&port=5432", "dashboards at /run/sockets"),
        ("postgresql://one,two/x", "x at one,two"),
        ("postgresql:///x", "x at the local socket"),
        ("postgresql://db", "postgres at db"),
    ],
)
def test_host_and_database_are_named(url: str, name: str) -> None:
    """Each form of URL that libpq accepts results in the host and the database."""
    assert database_label(url) == name


@given(st.text(min_size=6).map(lambda text: "Zq" + text))
def test_the_password_is_never_named(password: str) -> None:
    """No password is in the name of the place."""
    written = quote(password, safe="")
    name = database_label(f"postgresql://me:{written}@db/x?password={written}")
    assert name == "x at db"
