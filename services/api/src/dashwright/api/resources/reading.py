"""One stored object, for a caller who may read it."""

from dashwright.api.domain.access.view import View
from dashwright.api.http.call import Call
from dashwright.api.resources.services import Services
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Stored


async def read_object(kind: Kind, services: Services, call: Call) -> tuple[Stored, View]:
    """The object that the path names, and the caller's view on where it lies. Raises NotFound and Forbidden."""
    # Known before the body is read, so that no request keeps a body in memory while it waits for another connection.
    await services.policy.view(call.identity, call.parameters["namespace"])
    async with services.database.connection() as connection:
        found = await resources.get(connection, kind, call.parameters["namespace"], call.parameters["name"])
    return found, await services.policy.demand(call.identity, kind.actions["get"], found)
