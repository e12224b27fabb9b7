"""``make bench [ROWS=Q1,R]``: runs benchmarks, prints the table and writes it as JSON to benchmarks/results/."""

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

Alone = Callable[[], Awaitable[list[Row]]]
Served = Callable[[str, str, Path], Awaitable[list[Row]]]

ALONE: dict[str, list[Alone]] = {
    "E1": [kernels.addition],
    "E2": [kernels.alignment],
    "E3": [kernels.union],
    "E4": [kernels.reduction],
    "E5": [kernels.resampling],
    "E6": [kernels.conditions],
    "E7": [sql_expressions.rows],
    "E8": [encoding.as_json, encoding.responsiveness],
    "E9": [encoding.as_arrow],
    "C1": [conversion.rows],
    "P": [dataframe_libraries.rows],
}
"""What needs this process only."""

SERVED: dict[str, list[Served]] = {
    "E8": [large_responses.passed_on],
    "E9": [large_responses.whole],
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
    "R4": [request_times.shown],
    "R5": [request_times.rules],
    "R6": [request_times.spaces],
    "R7": [worker_load.one_request],
    "R8": [request_times.postgres],
    "R9": [worker_load.many_requests],
    "R10": [worker_load.small_requests],
    "S1": [sync_times.full, sync_times.delayed],
    "S2": [sync_times.unchanged],
    "S3": [sync_times.incremental],
    "S4": [separate_services.reading],
    "S5": [many_repositories.rows],
    "S7": [proxied_streams.rows],
    "M1": [separate_services.memory],
    "M2": [separate_services.at_rest],
    "T1": [startup.rows],
    "V1": [picture_times.few],
    "V2": [picture_times.many],
    "V3": [picture_times.page],
    "W": [watches.crowd, watches.namespace],
}
"""What needs servers."""


async def measure(wanted: list[str]) -> list[Row]:
    """Return the measured rows of the wanted benchmarks."""
    found = [row for name in wanted for rows in ALONE.get(name, []) for row in await _announced(name, rows())]
    if any(name in SERVED for name in wanted):
        found += await _served([name for name in wanted if name in SERVED])
    return found


async def _announced(name: str, rows: Awaitable[list[Row]]) -> list[Row]:
    print(f"measuring {name} …", file=sys.stderr)
    return await rows


async def _served(wanted: list[str]) -> list[Row]:
    """Run benchmarks on servers of their own with durable storage, as in production."""
    found: list[Row] = []
    database, broker = await postgres.provide_private(), await rabbitmq.provide_private()
    try:
        template = await databases.make_template(database.dsn)
        for name, rows in [(one, rows) for one in wanted for rows in SERVED[one]]:
            async with databases.fresh(database.dsn, template) as url:
                with tempfile.TemporaryDirectory() as folder:
                    found += await _announced(name, rows(url, broker.url, Path(folder)))
    finally:
        await broker.remove()
        await database.remove()
    return found


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of rounds in turns\n")
    print(f"| {'id':4} | {'path':48} | {'product':>10} | {'reference':>10} | {'ratio':>6} | {'goal':>6} | met |")
    print(f"| {'-' * 4} | {'-' * 48} | {'-' * 9}: | {'-' * 9}: | {'-' * 5}: | {'-' * 5}: | --- |")
    for row in rows:
        product, reference = f"{row.product:.4g} {row.unit}", f"{row.reference:.4g} {row.unit}"
        met = "yes" if row.is_met else "no"
        print(f"| {row.id:4} | {row.path:48} | {product:>10} | {reference:>10} | {row.ratio:6.3g} | {row.goal:6.3g} | {met:3} |")


def _selected(name: str, known: list[str]) -> list[str]:
    """Return the benchmark with a name, or all whose ids begin with a letter."""
    return [name] if name in known else [one for one in known if one[0] == name]


def main() -> int:
    """Run the benchmarks of the command line; return the exit status."""
    known = list(dict.fromkeys([*ALONE, *SERVED]))
    names = [name for name in os.environ.get("ROWS", "").split(",") if name]
    if unknown := [name for name in names if not _selected(name, known)]:
        print(f"unknown rows: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    wanted = dict.fromkeys(one for name in names for one in _selected(name, known))
    rows = uvloop.run(measure(list(wanted) or known))
    rows.sort(key=lambda row: (row.id[0], int(row.id[1:] or 0)))
    show(rows)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    written = results / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    table = [asdict(row) | {"ratio": row.ratio, "met": row.is_met} for row in rows]
    written.write_text(json.dumps({"cores": os.cpu_count(), "rows": table}, indent=2) + "\n")
    print(f"\nwritten to {written.relative_to(Path.cwd())}" if written.is_relative_to(Path.cwd()) else f"\nwritten to {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
