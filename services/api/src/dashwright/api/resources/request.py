"""The target of a request to the resource API, and the stored object that its path names."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from dashwright.api.domain.access.view import AccessView
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.resources.services import Services
from dashwright.common.kinds.kind import Kind, SubResource
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject


@dataclass(frozen=True, slots=True)
class Target:
    """A kind in one of its versions, or a subresource of its objects."""

    kind: Kind
    version: str
    subresource: SubResource | None = None


ResourceHandler: TypeAlias = Callable[[Target, Services, Call], Awaitable[Response]]
"""A handler of one verb or subresource."""


async def read_object(kind: Kind, services: Services, call: Call) -> tuple[StoredObject, AccessView]:
    """Return the object that the path names and the caller's view of its namespace.

    Raises NotFound, and Forbidden unless the caller may read the object.
    """
    # The view is loaded before the object is read, so that no request keeps an object in memory while it waits for a second connection.
    await services.policy.view(call.identity, call.parameters["namespace"])
    async with services.database.connection() as connection:
        stored_object = await resources.get(connection, kind, call.parameters["namespace"], call.parameters["name"])
    return stored_object, await services.policy.require_permission(call.identity, kind.actions["get"], stored_object)
