"""What admission must know of the installation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """``permitted_paths``: absolute folders that ``local`` repositories may lie in. ``min_refresh_seconds``: of dashboards.
    ``folder_depth``: how many folders may lie one in another.
    """

    permitted_paths: tuple[str, ...] = ()
    min_refresh_seconds: float = 5
    folder_depth: int = 8
