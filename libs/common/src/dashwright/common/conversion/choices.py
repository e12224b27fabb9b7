"""Members of dashboards with a fixed set of values: numbers in classic dashboards, names in dashboards with elements.

Each tuple has the names in the order of their classic numbers. The first one is the default.
"""

from typing import Final

CURSOR_SYNCS: Final = ("Off", "Crosshair", "Tooltip")
VARIABLE_HIDES: Final = ("dontHide", "hideLabel", "hideVariable")
VARIABLE_REFRESHES: Final = ("never", "onDashboardLoad", "onTimeRangeChanged")
VARIABLE_SORTS: Final = (
    "disabled",
    "alphabeticalAsc",
    "alphabeticalDesc",
    "numericalAsc",
    "numericalDesc",
    "alphabeticalCaseInsensitiveAsc",
    "alphabeticalCaseInsensitiveDesc",
    "naturalAsc",
    "naturalDesc",
)


def numbers(names: tuple[str, ...]) -> dict[str, int]:
    """Return the classic number of each name."""
    return {name: number for number, name in enumerate(names)}
