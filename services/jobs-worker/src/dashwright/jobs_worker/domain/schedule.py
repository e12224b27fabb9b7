"""The next step for a repository, by its status. Times are Unix milliseconds."""

from enum import Enum
from typing import Final

from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus, SyncState

HEALTHY_FOR: Final = 300_000
"""How long a repository that could be read counts as healthy without another probe."""

UNHEALTHY_FOR: Final = 60_000
_PATIENCE: Final = 10_000
"""How long a submitted job may take to appear in the status."""

_SLACK: Final = 1_000


class NextStep(Enum):
    """The next step of the scheduler for a repository."""

    NOTHING = "nothing"
    #: Check whether the repository can be read.
    PROBE = "look"
    #: Ask the host for new commits.
    CHECK = "ask"
    #: Sync, whatever has changed.
    SYNC = "sync"


def next_step(
    spec: RepositorySpec, status: RepositoryStatus, *, changed: int, handled: int, now: int, pause: int = UNHEALTHY_FOR
) -> NextStep:
    """Return the next step for a repository.

    ``changed`` is when the spec last changed and ``handled`` when a step was last done, 0 for never. ``pause`` is the time between
    two probes of an unhealthy repository.
    """
    probed = max(status.health.checked or 0, handled)
    if status.health.checked is not None and not status.health.healthy:
        return NextStep.PROBE if probed < changed or now - probed >= pause else NextStep.NOTHING
    if spec.sync.enabled and status.sync.state not in (SyncState.WORKING, SyncState.PENDING):
        started = status.sync.started or 0
        if started < changed:
            return NextStep.SYNC if now - handled >= _PATIENCE else NextStep.NOTHING
        if _is_due(spec, max(status.sync.finished or started, handled), now):
            return NextStep.CHECK
    return NextStep.PROBE if now - probed >= HEALTHY_FOR else NextStep.NOTHING


def _is_due(spec: RepositorySpec, last: int, now: int) -> bool:
    interval = (spec.sync.interval_seconds or 0) * 1000
    return interval > 0 and now - last >= interval - _SLACK
