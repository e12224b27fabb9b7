"""The tables of R8, whose series have the labels of the stub's series, and the role that reads them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from secrets import token_hex
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg

from benchmarks.sources.prometheus_stub import labels_of
from benchmarks.sources.workload import POSTGRES, START, STEP

#: Points of each series, and the numbers of series of the tables.
POINTS: Final = 60
SERIES: Final = (1_000, 10_000)


async def create(connection: "asyncpg.Connection[Any]", database_url: str) -> dict[str, Any]:
    """Create the tables, with rows in the order of time, and return the data source that reads them."""
    for count in SERIES:
        table = f"points_{count}"
        await connection.execute(
            f"create table {table} (time timestamptz not null, host text not null, zone text not null, job text not null, "
            "pod text not null, value double precision not null)"
        )
        await connection.copy_records_to_table(table, records=_rows(count))
        await connection.execute(f"create index on {table} (time)")
        await connection.execute(f"vacuum analyze {table}")
    role, password = f"reader_{token_hex(4)}", token_hex(8)
    await connection.execute(f"create role {role} login password '{password}'")
    await connection.execute(f"grant select on {', '.join(f'points_{count}' for count in SERIES)} to {role}")
    parts = urlsplit(database_url)
    return {
        "name": POSTGRES,
        "uid": POSTGRES,
        "type": "grafana-postgresql-datasource",
        "url": f"{parts.hostname}:{parts.port}",
        "user": role,
        "jsonData": {"database": parts.path.strip("/"), "sslmode": "disable"},
        "secureJsonData": {"password": password},
    }


def _rows(count: int) -> Iterator[tuple[datetime, str, str, str, str, float]]:
    """Yield the rows of a table: a point of each series for each time."""
    rng = Random(count)
    labels = [labels_of(number) for number in range(count)]
    for point in range(POINTS):
        time = datetime.fromtimestamp(START, UTC) + timedelta(seconds=point * STEP)
        for series in labels:
            yield time, series["host"], series["zone"], series["job"], series["pod"], round(rng.uniform(0, 100), 6)
