"""Tables that the oracle's statements read, with their rows."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Table(NamedTuple):
    """A table whose ``columns`` are names with the types of MariaDB and of DuckDB."""

    name: str
    columns: list[tuple[str, str, str]]
    rows: list[tuple[Any, ...]]


#: The first time of table A, two hours before a leap day.
_START = datetime(2024, 2, 28, 22)  # noqa: DTZ001 (a timestamp in UTC, as tables hold them)
#: The hosts of table A, which differ in case and accents, or are missing.
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
    # Each row has a value of each type, or only nulls.
    Table(
        "V",
        [
            ("n", "int", "integer"),
            ("i", "int", "integer"),
            ("x", "double", "double"),
            ("s", "varchar(40)", "varchar"),
            ("t", "datetime", "timestamp"),
        ],
        [
            (1, 0, 0.0, "", datetime(2024, 1, 1)),  # noqa: DTZ001
            (2, 1, 1.5, "abc", datetime(2023, 12, 31, 23, 59, 59)),  # noqa: DTZ001
            (3, -7, -2.5, "12.5 apples", datetime(2024, 2, 29, 12)),  # noqa: DTZ001
            (4, None, None, None, None),
            (5, 100, 1234.5678, "10:11:12", datetime(2021, 1, 3, 1, 2, 3)),  # noqa: DTZ001
            (6, 2147483647, 0.5, "2024-03-31 10:20:30", datetime(1969, 12, 31, 12)),  # noqa: DTZ001
            (7, 3, 1.0, '{"a": 1, "b": [2]}', datetime(2020, 12, 28)),  # noqa: DTZ001
            (8, -1, -1.0, "Grün, 世界", datetime(2016, 2, 28, 23, 0, 1)),  # noqa: DTZ001
        ],
    ),
    Table("two words", [("name", "varchar(20)", "varchar")], [("x",), ("y",)]),
]
