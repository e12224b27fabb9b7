"""Which of the two error shapes an API speaks: the classic one of ``/api``, or the Kubernetes ``Status`` of the resource API."""

from enum import StrEnum


class ErrorShape(StrEnum):
    CLASSIC = "classic"
    STATUS = "status"


def error_shape_of(path: str) -> ErrorShape:
    """The shape of a path that no route claims. Kubernetes clients call ``/apis``, ``/openapi/v3`` and ``/version``."""
    for root in ("/apis", "/openapi/v3", "/version"):
        if path.startswith(root) and path[len(root) : len(root) + 1] in ("", "/"):
            return ErrorShape.STATUS
    return ErrorShape.CLASSIC
