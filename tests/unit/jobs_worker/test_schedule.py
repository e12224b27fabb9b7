"""The next step of the scheduler for a repository."""

from typing import Any

import pytest

from dashwright.common.jobs.timing import RepositoryTiming
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.jobs_worker.domain.schedule import NextStep, next_step

NOW = 10_000_000
SECOND = 1000


def step_for(*, enabled: bool = True, interval: int = 60, changed: int = 0, last_step_at: int = 0, **status: Any) -> NextStep:
    """Return the next step at NOW for a repository with these members of its status.

    ``interval`` is in seconds. ``changed`` and ``last_step_at`` are times in Unix milliseconds.
    """
    sync = {"enabled": enabled, "target": "folder", "intervalSeconds": interval}
    spec = RepositorySpec.model_validate({"title": "T", "type": "local", "workflows": [], "local": {"path": "p"}, "sync": sync})
    health = {"healthy": True, "checked": NOW}
    status_object = RepositoryStatus.model_validate({"health": health, **status})
    return next_step(RepositoryTiming.of(spec, status_object), spec_changed_at=changed, last_step_at=last_step_at, now_milliseconds=NOW)


def ended_sync(seconds_ago: int, state: str = "success") -> dict[str, Any]:
    """Return the status of a sync that took a millisecond."""
    return {"state": state, "started": NOW - seconds_ago * SECOND - 1, "finished": NOW - seconds_ago * SECOND}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        # A new repository is synced, unless a sync was just submitted, or is disabled.
        ({"changed": 1}, NextStep.SYNC),
        ({"changed": 1, "last_step_at": NOW - SECOND}, NextStep.NOTHING),
        ({"changed": 1, "enabled": False}, NextStep.NOTHING),
        # A repository that changed after its last sync is synced, unless a sync is pending.
        ({"changed": NOW - 1, "sync": ended_sync(5)}, NextStep.SYNC),
        ({"changed": NOW - 1, "sync": {"state": "pending"}}, NextStep.NOTHING),
        # An unchanged repository is checked after its interval of 60 s, unless a sync runs, or its syncs or its interval are disabled.
        ({"sync": ended_sync(60)}, NextStep.CHECK),
        ({"sync": ended_sync(59)}, NextStep.NOTHING),
        ({"sync": ended_sync(600), "last_step_at": NOW - 30 * SECOND}, NextStep.NOTHING),
        ({"sync": ended_sync(60, "error")}, NextStep.CHECK),
        ({"sync": {"state": "working", "started": NOW - 60 * SECOND}}, NextStep.NOTHING),
        ({"sync": ended_sync(600), "interval": 0}, NextStep.NOTHING),
        ({"sync": ended_sync(600), "enabled": False}, NextStep.NOTHING),
        # An unhealthy repository is probed after 60 s, or after a change.
        ({"changed": 1, "health": {"healthy": False, "checked": NOW - 59 * SECOND}}, NextStep.NOTHING),
        ({"changed": 1, "health": {"healthy": False, "checked": NOW - 60 * SECOND}}, NextStep.PROBE),
        ({"changed": NOW - 1, "health": {"healthy": False, "checked": NOW - 2}}, NextStep.PROBE),
        ({"changed": NOW - 2, "health": {"healthy": False, "checked": NOW - 5}, "last_step_at": NOW - 1}, NextStep.NOTHING),
        # A healthy repository is probed 300 s after its last probe or other step.
        ({"sync": ended_sync(1), "health": {"healthy": True, "checked": NOW - 300 * SECOND}}, NextStep.PROBE),
        (
            {"sync": ended_sync(1), "health": {"healthy": True, "checked": NOW - 300 * SECOND}, "last_step_at": NOW - SECOND},
            NextStep.NOTHING,
        ),
        # A repository that was never probed is probed, even if its syncs are disabled.
        ({"enabled": False, "health": {"healthy": False}}, NextStep.PROBE),
    ],
    ids=str,
)
def test_new_changed_and_overdue_repositories_are_due(conditions: dict[str, Any], expected: NextStep) -> None:
    """A new or changed repository is synced immediately, and an unchanged one is checked after its interval.

    An unhealthy repository is probed until it recovers.
    """
    assert step_for(**conditions) is expected
