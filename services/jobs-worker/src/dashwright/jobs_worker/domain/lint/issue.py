"""Issues of lint, and the name of the file that configures its rules."""

from dataclasses import dataclass
from typing import Final

from dashwright.common.models.values import LintSeverity

CONFIG_FILE: Final = ".dashboard-lint"
"""Name of the configuration file, in the root of the repository."""


@dataclass(frozen=True, slots=True)
class Issue:
    """A finding as the linter reports it: with the name of its rule and a severity."""

    severity: LintSeverity
    rule: str
    message: str
    #: JSON pointer into the dashboard's spec, empty for the whole spec; None for an issue of the configuration.
    pointer: str | None = None


def config_issue(message: str, severity: LintSeverity) -> Issue:
    """Return an issue of the configuration file itself."""
    return Issue(severity, CONFIG_FILE.removeprefix("."), message)
