"""The versions of ``provisioning.grafana.app``: the same routes in each version, and responses that name the version of their path."""

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Handler, Route
from dashwright.common.kinds.registry import REPOSITORY

_ROOT: Final = f"/apis/{REPOSITORY.group}/"
_PREFERRED_ROOT: Final = f"{_ROOT}{REPOSITORY.version}/"

#: The start of a response body in the preferred version.
_BODY_START: Final = re.compile(rb'\{"kind":"\w+","apiVersion":"(' + re.escape(REPOSITORY.api_version().encode()) + rb')"')


def in_each_version(routes: Sequence[Route]) -> list[Route]:
    """Return the routes in each version of the group. ``routes`` are those of the preferred version."""
    return [_in_version(route, version) for version in REPOSITORY.versions for route in routes]


def version_of(call: Call) -> str:
    """Return the API version in the path of a request."""
    return call.template.removeprefix(_ROOT).partition("/")[0]


def _in_version(route: Route, version: str) -> Route:
    """Return a route of the preferred version in another version: its path, its operation id, and the version in its responses."""
    if version == REPOSITORY.version:
        return route
    operation = None if route.operation is None else replace(route.operation, id=f"{route.operation.id}{version.capitalize()}")
    path = f"{_ROOT}{version}/{route.path.removeprefix(_PREFERRED_ROOT)}"
    return replace(route, path=path, handler=functools.partial(_handle, route.handler), operation=operation)


async def _handle(handler: Handler, call: Call) -> Response:
    """Handle a request, and name the version of its path at the start of the response."""
    response = await handler(call)
    # Handlers and the jobs worker write the preferred version. Only the start is replaced, because files can contain the same text.
    if not isinstance(response.body, bytes) or (start := _BODY_START.match(response.body)) is None:
        return response
    api_version = REPOSITORY.api_version(version_of(call)).encode()
    return response._replace(body=response.body[: start.start(1)] + api_version + response.body[start.end(1) :])
