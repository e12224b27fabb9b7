"""C1: the conversion of dashboards between versions with panels (v0alpha1, v1) and with elements (v2).

The reference decodes and encodes the same JSON.

``CONVERSION_CORPUS=<directory>`` reads the dashboards below a directory instead of generating them.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.measurement import Row, compare_functions
from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.versions import convert

#: The largest ratio that meets the goal, for each direction.
_GOAL: Final = 3
#: The numbers of panels of the generated dashboards.
_PANEL_COUNTS: Final = (5, 20, 60)


async def rows() -> list[Row]:
    """Return a row for each direction, that of the dashboard with the median ratio."""
    dashboards = _corpus()
    classic = [convert(spec, version, "v1", EMPTY_CONTEXT) for spec, version in dashboards]
    elements = [convert(spec, version, "v2", EMPTY_CONTEXT) for spec, version in dashboards]
    saved = [spec for spec, version in dashboards if not version.startswith("v2")]
    directions = (("as saved to v2", saved, "v0alpha1", "v2"), ("v1 to v2", classic, "v1", "v2"), ("v2 to v1", elements, "v2", "v1"))
    return [await _median_row(*direction) for direction in directions if direction[1]]


async def _median_row(label: str, specs: Sequence[Mapping[str, Any]], source: str, target: str) -> Row:
    """Measure each dashboard, and return the row of the one with the median ratio."""
    name = f"{label}, to read and write, {len(specs)} dashboards"
    measured = []
    for spec in specs:
        body = orjson.dumps(spec)
        measured.append(
            await compare_functions(
                "C1",
                name,
                _GOAL,
                partial(convert, spec, source, target, EMPTY_CONTEXT),
                partial(_read_and_write, body),
                calls=3,
            )
        )
    return sorted(measured, key=lambda row: row.ratio)[len(measured) // 2]


def _read_and_write(body: bytes) -> bytes:
    """Decode and encode a dashboard: the reference."""
    return orjson.dumps(orjson.loads(body))


def _corpus() -> list[tuple[Mapping[str, Any], str]]:
    """Return dashboards with their versions."""
    directory = os.environ.get("CONVERSION_CORPUS")
    if not directory:
        return [(_generated_dashboard(count), "v0alpha1") for count in _PANEL_COUNTS]
    documents = [orjson.loads(path.read_bytes()) for path in sorted(Path(directory).rglob("*.json"))]
    return [dashboard for document in documents if (dashboard := _dashboard(document)) is not None]


def _dashboard(document: Any) -> tuple[Mapping[str, Any], str] | None:
    """Return the spec and version of a file, or None for a file without a dashboard."""
    if not isinstance(document, dict):
        return None
    if document.get("kind") == "Dashboard" and isinstance(document.get("spec"), dict):
        return document["spec"], str(document["apiVersion"]).partition("/")[2]
    return (document, "v0alpha1") if "panels" in document and "title" in document else None


def _generated_dashboard(panel_count: int) -> dict[str, Any]:
    """Return a classic dashboard of an older schema version, with panels as users save them."""
    panels = [_panel(number) for number in range(panel_count)]
    variables = [
        {
            "name": name,
            "type": "query",
            "datasource": "Metrics",
            "query": f"label_values({name})",
            "current": {"text": "All", "value": "$__all"},
            "includeAll": True,
            "refresh": 1,
        }
        for name in ("job", "instance")
    ]
    time = {"from": "now-6h", "to": "now"}
    return {"title": "Hosts", "schemaVersion": 30, "panels": panels, "templating": {"list": variables}, "time": time, "tags": ["hosts"]}


def _panel(number: int) -> dict[str, Any]:
    """Return a panel in a grid of three columns."""
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": f"Load of {number}",
        "datasource": "Metrics",
        "gridPos": {"x": number % 3 * 8, "y": number // 3 * 8, "w": 8, "h": 8},
        "targets": [{"refId": ref_id, "expr": f"rate(load{number}{{job=~'$job'}}[5m])", "legendFormat": "{{instance}}"} for ref_id in "AB"],
        "fieldConfig": {
            "defaults": {
                "unit": "percent",
                "custom": {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10},
                "thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 80}]},
            },
            "overrides": [
                {"matcher": {"id": "byName", "options": "max"}, "properties": [{"id": "color", "value": {"mode": "fixed"}}]},
            ],
        },
        "options": {"legend": {"displayMode": "table", "calcs": ["mean"]}, "tooltip": {"mode": "multi"}},
    }
