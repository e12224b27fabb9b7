"""The tables that the oracle's statements read, as rows."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Table(NamedTuple):
    """``columns`` are names with the types of MariaDB and of DuckDB."""

    name: str
    columns: list[tuple[str, str, str]]
    rows: list[tuple[Any, ...]]


_START = datetime(2024, 2, 28, 22)  # noqa: DTZ001 (a timestamp in UTC, as tables hold them)
_HOSTS = ["a", "b", None, "A", "ä"]

TABLES = [
    Table(
        "A",
        [
            ("n", "int", "integer"),
            ("time", "datetime", "timestamp"),
            ("host", "varchar(20)", "varchar"),
            ("value", "double", "double"),
            ("flag", "boolean", "boolean"),
            ("label", "varchar(20)", "varchar"),
        ],
        [
            (n, _START + timedelta(hours=n), _HOSTS[n % 5], None if n == 6 else n * 1.5 % 7, None if n == 5 else n % 3 == 0, f"{n * 5}")
            for n in range(12)
        ],
    ),
    Table(
        "B",
        [("host", "varchar(20)", "varchar"), ("name", "varchar(20)", "varchar")],
        [("a", "first"), ("b", "second"), ("z", "last"), (None, "nobody")],
    ),
    Table("two words", [("name", "varchar(20)", "varchar")], [("x",), ("y",)]),
]
