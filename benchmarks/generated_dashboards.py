"""Generated dashboards, and storing them without requests."""

import random
from datetime import UTC, datetime
from typing import Any

import orjson

from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import resources

#: Dashboards that are written in one transaction.
_WRITES_PER_TRANSACTION = 5_000
_WORDS = (
    *("requests", "errors", "latency", "memory", "cpu", "disk", "network", "queue", "cache", "pods", "nodes", "zone", "tenant"),
    *("saturation", "p99", "budget", "backlog", "retries"),
)


async def store_dashboards(database_url: str, namespace: str, count: int, *, panels: int) -> None:
    """Store ``count`` generated dashboards, named ``d000000`` and so on, in one batch per transaction as syncs do."""
    database = await Database.open(database_url, application_name="benchmark-data", max_size=1)
    try:
        for first in range(0, count, _WRITES_PER_TRANSACTION):
            writes = [_write(number, panels) for number in range(first, min(first + _WRITES_PER_TRANSACTION, count))]
            async with database.transaction() as connection:
                staging = resources.StagedWrites(connection)
                await staging.create_table()
                await staging.add(writes)
                await resources.lock(connection, namespace)
                await staging.write(namespace, actor="user:1", now=datetime.now(UTC))
    finally:
        await database.close()


def _write(number: int, panels: int) -> resources.Write:
    """Return the write of a generated dashboard, which belongs to one of 50 teams by its label."""
    spec = dashboard_spec(number, panels=panels)
    labels = {"team": f"t{number % 50}"}
    return resources.Write(
        DASHBOARD, f"d{number:06}", orjson.dumps(spec).decode(), "v1beta1", extract=Extract(spec["title"], tags=spec["tags"]), labels=labels
    )


def dashboard_spec(number: int, *, panels: int) -> dict[str, Any]:
    """Return the spec of a realistic dashboard, about 1 KB per panel. Dashboards differ in titles and queries.

    The same number always gives the same spec.
    """
    rng = random.Random(number)
    return {
        "title": f"{' '.join(rng.choices(_WORDS, k=3))} {number}",
        "tags": rng.sample(_WORDS, 2),
        "panels": [_panel(rng, index) for index in range(panels)],
        "templating": {"list": [{"name": word, "type": "query", "query": f"label_values({word})"} for word in rng.sample(_WORDS, 4)]},
        "time": {"from": "now-6h", "to": "now"},
        "schemaVersion": 39,
    }


def _panel(rng: random.Random, index: int) -> dict[str, Any]:
    """Return a panel with two queries, in a grid of two columns."""
    metric = "_".join(rng.choices(_WORDS, k=3))
    return {
        "id": index,
        "type": rng.choice(("timeseries", "stat", "table", "gauge")),
        "title": " ".join(rng.choices(_WORDS, k=4)),
        "description": " ".join(rng.choices(_WORDS, k=12)),
        "gridPos": {"x": 12 * (index % 2), "y": 8 * (index // 2), "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": f"{rng.getrandbits(64):016x}"},
        "fieldConfig": {
            "defaults": {
                "unit": rng.choice(("short", "s", "bytes", "percent")),
                "color": {"mode": "palette-classic"},
                "custom": {"lineWidth": 1, "fillOpacity": rng.randrange(100), "showPoints": "never", "axisPlacement": "auto"},
                "thresholds": {
                    "mode": "absolute",
                    "steps": [{"color": "green", "value": None}, {"color": "red", "value": rng.random()}],
                },
            },
            "overrides": [],
        },
        "targets": [
            {
                "refId": letter,
                "expr": f'sum by ({rng.choice(_WORDS)}) (rate({metric}{{job="{rng.choice(_WORDS)}"}}[{rng.randrange(1, 60)}m]))',
                "legendFormat": f"{{{{{rng.choice(_WORDS)}}}}}",
            }
            for letter in "AB"
        ],
    }
