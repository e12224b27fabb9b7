"""Errors of responses that cannot be responses of a Prometheus server."""

from typing import Final

from dashwright.common.errors import SourceFailed

#: The advice for a response with too many series or points.
ADVICE: Final = "ask for fewer series, a shorter time range or a larger interval"


def unreadable(problem: str) -> SourceFailed:
    """Return the error of a response with a problem, such as ``is not JSON``."""
    return SourceFailed(f"the response {problem}; check that the data source's URL is that of a Prometheus server")
