"""What a repository needs next, by what is known of it. Times are Unix milliseconds."""

from enum import Enum
from typing import Final

from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus, SyncState

HEALTHY_FOR: Final = 300_000
"""How long a repository that could be read is taken for healthy without another look."""

UNHEALTHY_FOR: Final = 60_000
_PATIENCE: Final = 10_000
"""How long a job that was asked for may take to show."""

_SLACK: Final = 1_000


class NextStep(Enum):
    """``PROBE``: whether it can be read at all. ``CHECK``: whether there is anything new. ``SYNC``: whatever there is."""

    NOTHING = "nothing"
    PROBE = "look"
    CHECK = "ask"
    SYNC = "sync"


def next_step(
    spec: RepositorySpec, status: RepositoryStatus, *, changed: int, asked: int, now: int, pause: int = UNHEALTHY_FOR
) -> NextStep:
    """``difference_since``: when the spec last did; ``asked``: when something was last done for its sake, 0 for never.

    ``pause``: how long an unhealthy one is left alone between two looks.
    """
    looked = max(status.health.checked or 0, asked)
    if status.health.checked is not None and not status.health.healthy:
        return NextStep.PROBE if looked < changed or now - looked >= pause else NextStep.NOTHING
    if spec.sync.enabled and status.sync.state not in (SyncState.WORKING, SyncState.PENDING):
        started = status.sync.started or 0
        if started < changed:
            return NextStep.SYNC if now - asked >= _PATIENCE else NextStep.NOTHING
        if _is_due(spec, max(status.sync.finished or started, asked), now):
            return NextStep.CHECK
    return NextStep.PROBE if now - looked >= HEALTHY_FOR else NextStep.NOTHING


def _is_due(spec: RepositorySpec, last: int, now: int) -> bool:
    interval = (spec.sync.interval_seconds or 0) * 1000
    return interval > 0 and now - last >= interval - _SLACK
