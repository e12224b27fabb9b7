"""Routes of the preferred versions only, for tests of every route: tests/unit/api/test_route_versions.py compares the versions."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.http.routing import Route
from dashwright.common.kinds.registry import KINDS

_OTHER_ROOTS: Final = tuple(f"/apis/{kind.api_version(version)}/" for kind in KINDS for version in kind.versions[1:])


def in_preferred_versions(routes: Sequence[Route]) -> list[Route]:
    """Return the routes without those of the other versions of kinds."""
    return [route for route in routes if not route.path.startswith(_OTHER_ROOTS)]
