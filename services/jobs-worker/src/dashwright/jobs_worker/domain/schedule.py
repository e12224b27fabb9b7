"""The next step for a repository, by its status. Times are Unix milliseconds, and durations are in milliseconds."""

from enum import Enum
from typing import Final

from dashwright.common.jobs.timing import RepositoryTiming
from dashwright.common.models.provisioning import SyncState

HEALTHY_PROBE_INTERVAL: Final = 300_000
"""Milliseconds between two probes of a healthy repository."""

UNHEALTHY_PROBE_INTERVAL: Final = 60_000
"""Milliseconds between two probes of an unhealthy repository."""

_SUBMISSION_TIMEOUT: Final = 10_000
"""Milliseconds that a submitted job may take to appear in the status."""


class NextStep(Enum):
    """The next step of the scheduler for a repository."""

    NOTHING = "nothing"
    #: Check whether the repository can be read.
    PROBE = "probe"
    #: Check the host for new commits.
    CHECK = "check"
    #: Submit a sync without checking for new commits.
    SYNC = "sync"


def next_step(
    timing: RepositoryTiming,
    *,
    spec_changed_at: int,
    last_step_at: int,
    now_milliseconds: int,
    probe_interval: int = UNHEALTHY_PROBE_INTERVAL,
) -> NextStep:
    """Return the next step for a repository.

    ``spec_changed_at`` is the time of the last change of the spec, and ``last_step_at`` the time of the last step, 0 for never.
    ``probe_interval`` is the time between two probes of an unhealthy repository, in milliseconds.
    """
    last_probe = max(timing.checked or 0, last_step_at)
    if timing.checked is not None and not timing.is_healthy:
        # A changed spec may have corrected the fault, so it is probed immediately.
        must_probe = last_probe < spec_changed_at or now_milliseconds - last_probe >= probe_interval
        return NextStep.PROBE if must_probe else NextStep.NOTHING
    if timing.is_sync_enabled and timing.sync_state not in (SyncState.WORKING, SyncState.PENDING):
        if timing.sync_started < spec_changed_at:
            # A sync that was just submitted may not be in the status yet.
            return NextStep.SYNC if now_milliseconds - last_step_at >= _SUBMISSION_TIMEOUT else NextStep.NOTHING
        if _is_due(timing, max(timing.sync_finished or timing.sync_started, last_step_at), now_milliseconds):
            return NextStep.CHECK
    return NextStep.PROBE if now_milliseconds - last_probe >= HEALTHY_PROBE_INTERVAL else NextStep.NOTHING


def _is_due(timing: RepositoryTiming, last_sync: int, now_milliseconds: int) -> bool:
    """Return whether the interval between syncs has passed. An interval of 0 disables syncs by time."""
    interval = timing.interval_seconds * 1000
    return interval > 0 and now_milliseconds - last_sync >= interval
