"""Settings that admission rules depend on."""

from dataclasses import dataclass, field

from dashwright.common.allowed_hosts import AllowedHosts


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Settings of the installation that admission rules depend on."""

    permitted_paths: tuple[str, ...] = ()  #: Absolute folders in which ``local`` repositories may be.
    min_refresh_seconds: float = 5  #: Shortest refresh interval of a dashboard, in seconds.
    folder_depth: int = 8  #: Limit on the levels of nested folders.
    allowed_hosts: AllowedHosts = field(default_factory=AllowedHosts)  #: Hosts that webhooks may have in addition to public ones.
    playlists: int = 1000  #: Limit on the playlists of one organization.
