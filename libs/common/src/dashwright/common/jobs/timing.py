"""The settings and times of a repository by which its next step is planned."""

from dataclasses import dataclass
from typing import Self

from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus, SyncState


@dataclass(frozen=True, slots=True)
class RepositoryTiming:
    """The part of a spec and a status that the scheduler reads each second. Times are Unix milliseconds."""

    is_sync_enabled: bool
    #: Seconds between two checks of the host; 0 for none.
    interval_seconds: int
    sync_state: SyncState | None
    #: Start and end of the last sync; 0 for none.
    sync_started: int
    sync_finished: int
    is_healthy: bool
    #: Time of the last probe, None before the first one.
    checked: int | None

    @classmethod
    def of(cls, spec: RepositorySpec, status: RepositoryStatus) -> Self:
        """Return the timing of a repository."""
        sync, health = status.sync, status.health
        interval = spec.sync.interval_seconds or 0
        return cls(spec.sync.enabled, interval, sync.state, sync.started or 0, sync.finished or 0, health.healthy, health.checked)
