"""What admission must know of the installation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """``permitted_paths``: absolute folders that ``local`` repositories may lie in."""

    permitted_paths: tuple[str, ...] = ()
