"""Issues of lint, and the name of the file that configures its rules."""

from dataclasses import dataclass
from typing import Final

from dashwright.common.models.values import LintSeverity

FILE: Final = ".dashboard-lint"


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue that a rule found in a dashboard."""

    severity: LintSeverity
    rule: str
    message: str
    #: JSON pointer into the dashboard's spec, empty for all of it; None for an issue of the configuration.
    pointer: str | None = None


def fault_of_config(message: str, severity: LintSeverity) -> Issue:
    """Return an issue of the configuration file itself."""
    return Issue(severity, FILE.removeprefix("."), message)
