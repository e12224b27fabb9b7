"""Settings that admission needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Settings of the installation that admission rules depend on."""

    permitted_paths: tuple[str, ...] = ()  #: Absolute folders in which ``local`` repositories may be.
    min_refresh_seconds: float = 5  #: Shortest refresh interval of a dashboard, in seconds.
    folder_depth: int = 8  #: Deepest nesting of folders.
