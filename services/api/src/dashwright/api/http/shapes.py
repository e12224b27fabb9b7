"""Which of the two error shapes an API speaks: the classic one of ``/api``, or the Kubernetes ``Status`` of the resource API."""

from enum import StrEnum


class Shape(StrEnum):
    CLASSIC = "classic"
    STATUS = "status"


def shape_of(path: str) -> Shape:
    """The shape of a path that no route claims. Kubernetes clients call ``/apis``, ``/openapi/v3`` and ``/version``."""
    for root in ("/apis", "/openapi/v3", "/version"):
        if path.startswith(root) and path[len(root) : len(root) + 1] in ("", "/"):
            return Shape.STATUS
    return Shape.CLASSIC
