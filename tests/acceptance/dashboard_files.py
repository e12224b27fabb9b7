"""Folders of dashboard files for tests."""

import json
from pathlib import Path
from typing import Any

#: Number of dashboards by directory: 21 dashboards in 8 folders, which include ``platform/kubernetes`` and ``shop``.
LAYOUT = {
    "platform/kubernetes/views": 4,
    "platform/kubernetes/system": 3,
    "platform": 2,
    "shop/prod": 5,
    "shop/staging": 4,
    "databases": 3,
}


def classic(uid: str, title: str) -> dict[str, Any]:
    """Return a classic dashboard with one panel."""
    target = {"refId": "A", "expr": f"rate({uid}_total[5m])"}
    panel = {"id": 1, "type": "timeseries", "title": "Rate", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 8}, "targets": [target]}
    return {"uid": uid, "title": title, "schemaVersion": 41, "tags": ["test"], "panels": [panel]}


def write(path: Path, dashboard: dict[str, Any]) -> None:
    """Write a dashboard as JSON and create the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dashboard, indent=2))


def make_team(root: Path) -> list[str]:
    """Write the dashboards of LAYOUT, and a file of another type, below ``root``; return the dashboards' names."""
    names = []
    for directory, count in LAYOUT.items():
        for index in range(count):
            uid = f"{directory.replace('/', '-')}-{index}"
            write(root / directory / f"{uid}.json", classic(uid, f"{directory} {index}"))
            names.append(uid)
    (root / "platform" / "LICENSE").write_text("free as in speech")
    return names


def make_many(root: Path, number: int) -> list[str]:
    """Write ``number`` dashboards into one folder and return their names."""
    names = [f"many-{index:05}" for index in range(number)]
    for name in names:
        write(root / f"{name}.json", classic(name, name))
    return names
