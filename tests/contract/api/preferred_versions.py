"""Routes of the preferred versions only, for tests of every route: tests/unit/api/test_route_versions.py compares the versions."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.http.routing import Route
from dashwright.common.kinds.registry import KINDS

_PREFERRED_ROOTS: Final = {
    f"/apis/{kind.api_version(version)}": f"/apis/{kind.api_version(kind.version)}"
    for kind in KINDS
    for version in kind.versions
    if version != kind.version
}


def in_preferred_versions(routes: Sequence[Route]) -> list[Route]:
    """Return the routes without those of other versions of kinds, unless the preferred version has no such route."""
    present = {(route.method, route.path) for route in routes}
    return [route for route in routes if (route.method, _preferred_path(route.path)) not in present]


def _preferred_path(path: str) -> str:
    """Return the path in the preferred version, or an empty string for a path that names no other version."""
    root = "/".join(path.split("/", 4)[:4])
    return _PREFERRED_ROOTS[root] + path.removeprefix(root) if root in _PREFERRED_ROOTS else ""
