"""What a repository needs next, and when."""

from typing import Any

import pytest

from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.jobs_worker.domain.schedule import Need, need

NOW = 10_000_000
SECOND = 1000


def judge(*, enabled: bool = True, interval: int = 60, changed: int = 0, asked: int = 0, **status: Any) -> Need:
    sync = {"enabled": enabled, "target": "folder", "intervalSeconds": interval}
    spec = RepositorySpec.model_validate({"title": "T", "type": "local", "workflows": [], "local": {"path": "p"}, "sync": sync})
    health = {"healthy": True, "checked": NOW}
    known = RepositoryStatus.model_validate({"health": health, **status})
    return need(spec, known, changed=changed, asked=asked, now=NOW)


def ended(seconds_ago: int, state: str = "success") -> dict[str, Any]:
    return {"state": state, "started": NOW - seconds_ago * SECOND - 1, "finished": NOW - seconds_ago * SECOND}


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ({"changed": 1}, Need.SYNC),
        ({"changed": 1, "asked": NOW - SECOND}, Need.NOTHING),
        ({"changed": 1, "enabled": False}, Need.NOTHING),
        ({"changed": NOW - 1, "sync": ended(5)}, Need.SYNC),
        ({"changed": NOW - 1, "sync": {"state": "pending"}}, Need.NOTHING),
        ({"sync": ended(59)}, Need.ASK),
        ({"sync": ended(58)}, Need.NOTHING),
        ({"sync": ended(600), "asked": NOW - 30 * SECOND}, Need.NOTHING),
        ({"sync": ended(60, "error")}, Need.ASK),
        ({"sync": {"state": "working", "started": NOW - 60 * SECOND}}, Need.NOTHING),
        ({"sync": ended(600), "interval": 0}, Need.NOTHING),
        ({"sync": ended(600), "enabled": False}, Need.NOTHING),
        ({"changed": 1, "health": {"healthy": False, "checked": NOW - 59 * SECOND}}, Need.NOTHING),
        ({"changed": 1, "health": {"healthy": False, "checked": NOW - 60 * SECOND}}, Need.LOOK),
        ({"changed": NOW - 1, "health": {"healthy": False, "checked": NOW - 2}}, Need.LOOK),
        ({"changed": NOW - 2, "health": {"healthy": False, "checked": NOW - 5}, "asked": NOW - 1}, Need.NOTHING),
        ({"sync": ended(1), "health": {"healthy": True, "checked": NOW - 300 * SECOND}}, Need.LOOK),
        ({"sync": ended(1), "health": {"healthy": True, "checked": NOW - 300 * SECOND}, "asked": NOW - SECOND}, Need.NOTHING),
        ({"enabled": False, "health": {"healthy": False}}, Need.LOOK),
    ],
    ids=str,
)
def test_what_is_due(known: dict[str, Any], wanted: Need) -> None:
    """New and changed ones at once, the others by their interval; the sick are looked at until they heal, and nobody is asked twice."""
    assert judge(**known) is wanted
