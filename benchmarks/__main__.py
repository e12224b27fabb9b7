"""The program of ``make bench [ROWS=Q1,R]``.

It runs benchmarks, prints the table of their rows and writes it as JSON to benchmarks/results/.
"""

import json
import os
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from tests.servers import databases, postgres, rabbitmq

from benchmarks import (
    concurrent_writes,
    conversion,
    converted_lists,
    dataframe_libraries,
    encoding,
    gateway,
    job_path,
    kernels,
    large_responses,
    proxied_streams,
    query_path,
    resources,
    sql_expressions,
    startup,
    watches,
)
from benchmarks.jobs import backlog, batches, small_jobs
from benchmarks.measurement import Row
from benchmarks.pictures import picture_times
from benchmarks.sources import request_times, worker_load
from benchmarks.sync import many_repositories, separate_services, sync_times

Benchmark = Callable[[], Awaitable[list[Row]]]
ServerBenchmark = Callable[[str, str, Path], Awaitable[list[Row]]]
"""A benchmark with the URL of an empty database, the URL of a broker, and an empty folder."""

#: By id, the benchmarks that run in this process only.
BENCHMARKS: dict[str, list[Benchmark]] = {
    "E1": [kernels.addition],
    "E2": [kernels.alignment],
    "E3": [kernels.union],
    "E4": [kernels.reduction],
    "E5": [kernels.resampling],
    "E6": [kernels.conditions],
    "E7": [sql_expressions.rows],
    "E8": [encoding.json_encoding, encoding.responsiveness],
    "E9": [encoding.arrow_encoding],
    "C1": [conversion.rows],
    "P": [dataframe_libraries.rows],
}

#: By id, the benchmarks that need PostgreSQL and RabbitMQ. An id can be in both mappings.
SERVER_BENCHMARKS: dict[str, list[ServerBenchmark]] = {
    "E8": [large_responses.transfer],
    "E9": [large_responses.arrow_requests],
    "E10": [query_path.rows],
    "C2": [converted_lists.rows],
    "G": [gateway.rows],
    "G3": [resources.lists],
    "D1": [resources.bodies],
    "Q1": [job_path.rows],
    "Q2": [small_jobs.rows],
    "Q3": [backlog.rows],
    "Q6": [batches.rows],
    "Q7": [concurrent_writes.rows],
    "R1": [request_times.instant],
    "R2": [request_times.ranges],
    "R3": [request_times.long_ranges],
    "R4": [request_times.returned_series],
    "R5": [request_times.rules],
    "R6": [request_times.spaces],
    "R7": [worker_load.one_request],
    "R8": [request_times.postgres],
    "R9": [worker_load.many_requests],
    "R10": [worker_load.small_requests],
    "S1": [sync_times.first_sync, sync_times.first_sync_with_delay],
    "S2": [sync_times.unchanged_sync],
    "S3": [sync_times.incremental_sync],
    "S4": [separate_services.lists_during_syncs],
    "S5": [many_repositories.rows],
    "S7": [proxied_streams.rows],
    "M1": [separate_services.memory],
    "M2": [separate_services.idle_memory],
    "T1": [startup.rows],
    "V1": [picture_times.small_dashboard],
    "V2": [picture_times.large_dashboard],
    "V3": [picture_times.panel_by_panel],
    "W": [watches.many_watches, watches.large_namespace],
}


async def measure(ids: list[str]) -> list[Row]:
    """Return the rows of the benchmarks with these ids."""
    rows: list[Row] = []
    for row_id in ids:
        for benchmark in BENCHMARKS.get(row_id, []):
            _report_start(row_id)
            rows += await benchmark()
    if server_ids := [row_id for row_id in ids if row_id in SERVER_BENCHMARKS]:
        rows += await _measure_with_servers(server_ids)
    return rows


async def _measure_with_servers(ids: list[str]) -> list[Row]:
    """Run benchmarks on servers of their own with durable storage, as in production, each with a new database."""
    rows: list[Row] = []
    database, broker = await postgres.provide_private(), await rabbitmq.provide_private()
    try:
        template = await databases.make_template(database.dsn)
        for row_id in ids:
            for benchmark in SERVER_BENCHMARKS[row_id]:
                async with databases.temporary_database(database.dsn, template) as database_url:
                    with tempfile.TemporaryDirectory() as folder:
                        _report_start(row_id)
                        rows += await benchmark(database_url, broker.url, Path(folder))
    finally:
        await broker.remove()
        await database.remove()
    return rows


def _report_start(row_id: str) -> None:
    """Write to standard error which benchmark begins, because standard output is the table."""
    print(f"measuring {row_id} …", file=sys.stderr)


def print_table(rows: list[Row]) -> None:
    """Print the rows as a table in Markdown."""
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of alternating rounds\n")
    print(f"| {'id':4} | {'path':48} | {'product':>10} | {'reference':>10} | {'ratio':>6} | {'goal':>6} | met |")
    print(f"| {'-' * 4} | {'-' * 48} | {'-' * 9}: | {'-' * 9}: | {'-' * 5}: | {'-' * 5}: | --- |")
    for row in rows:
        product, reference = f"{row.product:.4g} {row.unit}", f"{row.reference:.4g} {row.unit}"
        met = "yes" if row.is_met else "no"
        print(f"| {row.id:4} | {row.path:48} | {product:>10} | {reference:>10} | {row.ratio:6.3g} | {row.goal:6.3g} | {met:3} |")


def _matching_ids(pattern: str, known_ids: list[str]) -> list[str]:
    """Return the id that equals a pattern, or all ids that begin with it if it is a letter."""
    return [pattern] if pattern in known_ids else [row_id for row_id in known_ids if row_id[0] == pattern]


def main() -> int:
    """Run the benchmarks that ``ROWS`` names, or all; return the exit status."""
    known_ids = list(dict.fromkeys([*BENCHMARKS, *SERVER_BENCHMARKS]))
    patterns = [pattern for pattern in os.environ.get("ROWS", "").split(",") if pattern]
    if unknown := [pattern for pattern in patterns if not _matching_ids(pattern, known_ids)]:
        print(f"unknown rows: {', '.join(unknown)}; known: {', '.join(known_ids)}", file=sys.stderr)
        return 2
    selected_ids = dict.fromkeys(row_id for pattern in patterns for row_id in _matching_ids(pattern, known_ids))
    rows = uvloop.run(measure(list(selected_ids) or known_ids))
    rows.sort(key=lambda row: (row.id[0], int(row.id[1:] or 0)))
    print_table(rows)
    print(f"\nwritten to {_write_results(rows)}")
    return 0


def _write_results(rows: list[Row]) -> Path:
    """Write the rows as JSON and return the path of the file."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    file = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    table = [asdict(row) | {"ratio": row.ratio, "met": row.is_met} for row in rows]
    file.write_text(json.dumps({"cores": os.cpu_count(), "rows": table}, indent=2) + "\n")
    return file


if __name__ == "__main__":
    sys.exit(main())
