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
    encoding,
    gateway,
    job_path,
    kernels,
    large_responses,
    peers,
    proxied_streams,
    query_path,
    resources,
    starts,
    statements,
    watchers,
)
from benchmarks.jobs import backlog, batches, small
from benchmarks.pictures import rows as pictures
from benchmarks.row import Row
from benchmarks.sources import load
from benchmarks.sources import rows as sources
from benchmarks.sync import many, whole
from benchmarks.sync import rows as syncs

Alone = Callable[[], Awaitable[list[Row]]]
Served = Callable[[str, str, Path], Awaitable[list[Row]]]

ALONE: dict[str, list[Alone]] = {
    "E1": [kernels.addition],
    "E2": [kernels.alignment],
    "E3": [kernels.union],
    "E4": [kernels.reduction],
    "E5": [kernels.resampling],
    "E6": [kernels.conditions],
    "E7": [statements.rows],
    "E8": [encoding.as_json, encoding.responsiveness],
    "E9": [encoding.as_arrow],
    "C1": [conversion.rows],
    "P": [peers.rows],
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
    "Q2": [small.rows],
    "Q3": [backlog.rows],
    "Q6": [batches.rows],
    "Q7": [concurrent_writes.rows],
    "R1": [sources.instant],
    "R2": [sources.ranges],
    "R3": [sources.long_ranges],
    "R4": [sources.shown],
    "R5": [sources.rules],
    "R6": [sources.spaces],
    "R7": [load.one_request],
    "R8": [sources.postgres],
    "R9": [load.many_requests],
    "R10": [load.small_requests],
    "S1": [syncs.full, syncs.delayed],
    "S2": [syncs.unchanged],
    "S3": [syncs.incremental],
    "S4": [whole.reading],
    "S5": [many.rows],
    "S7": [proxied_streams.rows],
    "M1": [whole.memory],
    "M2": [whole.at_rest],
    "T1": [starts.rows],
    "V1": [pictures.few],
    "V2": [pictures.many],
    "V3": [pictures.page],
    "W": [watchers.crowd, watchers.namespace],
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
