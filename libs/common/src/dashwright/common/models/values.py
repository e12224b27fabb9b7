"""Constants of the API for programs that start without its models, such as the command line. This module does not import pydantic."""

from enum import StrEnum
from typing import Final


class LintSeverity(StrEnum):
    """The severity of an issue of lint."""

    ERROR = "error"
    EXCLUDE = "exclude"
    FIXED = "fixed"
    QUIET = "quiet"
    WARNING = "warning"


#: Uids of the expression data source: the current one, and that in old panels.
EXPRESSION_UIDS: Final = frozenset({"__expr__", "-100"})
