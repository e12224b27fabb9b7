"""``/api/dashboards/tags``: the tags of the dashboards that the caller may read."""

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.classic_objects import TagCount
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import DASHBOARD


def routes(database: Database, policy: AccessPolicy) -> list[Route]:
    async def tags(call: Call) -> Response:
        caller = call.identity
        scope = (await policy.view(caller, caller.namespace)).scope(DASHBOARD)
        async with database.connection() as connection:
            found = await titles.tags(connection, caller.org_id, scope)
        return json_response([TagCount(term=term, count=count) for term, count in found])

    operation = Operation(
        "getDashboardTags", "the tags of dashboards, and how many have each", "dashboards", responses={200: list[TagCount]}
    )
    return [Route("GET", "/api/dashboards/tags", tags, SIGNED_IN, operation)]
