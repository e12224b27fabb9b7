"""Routes of organizations: the caller's own (``/api/org``), and all of them (``/api/orgs``)."""

from typing import Final

from dashwright.api.accounts.organizations import CREATE, DELETE, UPDATE, UPDATE_ADDRESS, Organizations, not_found
from dashwright.api.domain.names import stripped_text
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationInPath, OrganizationScope, Permission, Route
from dashwright.api.models.organizations import AddressForm, OrganizationCreated, OrganizationForm, OrganizationItem, OrganizationShape
from dashwright.api.models.response import Message
from dashwright.api.routes.account_views import organization_view
from dashwright.api.stores import orgs
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound

TAG: Final = "orgs"
BAD_BODY: Final = "bad request data"
ORGANIZATION_IN_PATH: Final = OrganizationInPath("org_id", "orgId is invalid")
# The limit on the number of a page keeps the offset within a bigint.
_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE, _MAX_PAGE = 1000, 5000, 1_000_000
_LIST_QUERY: Final = {
    "query": "text in the name, ignoring case",
    "name": "the exact name",
    "page": "number of the page, from 0",
    "perpage": f"organizations on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
}


def routes(database: Database, use_cases: Organizations) -> list[Route]:
    """Return the routes. The routes of members are in ``org_users``."""

    async def organization_response(org_id: int) -> Response:
        async with database.connection() as connection:
            organization = await orgs.get(connection, org_id)
        if organization is None:
            raise not_found()
        return json_response(organization_view(organization))

    async def get_current(call: Call) -> Response:
        return await organization_response(call.identity.org_id)

    async def get(call: Call) -> Response:
        return await organization_response(call.path_integer("org_id", ORGANIZATION_IN_PATH.error_message))

    async def get_by_name(call: Call) -> Response:
        async with database.connection() as connection:
            organization = await orgs.get_by_name(connection, call.parameters["name"])
        if organization is None:
            raise not_found()
        return json_response(organization_view(organization))

    async def list_organizations(call: Call) -> Response:
        # As in Grafana, the pages of this list are counted from 0.
        page, per_page = (
            call.query_integer("page", 0, minimum=0, maximum=_MAX_PAGE),
            call.query_integer("perpage", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE),
        )
        query, name = call.query.get("query", ""), call.query.get("name", "")
        async with database.connection() as connection:
            ids_and_names = await orgs.page(connection, containing=query, name=name, limit=per_page, offset=page * per_page)
        return json_response([OrganizationItem(id=org_id, name=org_name) for org_id, org_name in ids_and_names])

    async def create(call: Call) -> Response:
        org_id = await use_cases.create(call.actor, call.identity, await _requested_name(call))
        return json_response(OrganizationCreated(message="Organization created", org_id=org_id))

    async def rename_current(call: Call) -> Response:
        await use_cases.rename(call.actor, call.identity.org_id, await _requested_name(call))
        return message_response("Organization updated")

    async def rename(call: Call) -> Response:
        try:
            await use_cases.rename(call.actor, call.path_integer("org_id", ORGANIZATION_IN_PATH.error_message), await _requested_name(call))
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Failed to update organization")
        return message_response("Organization updated")

    async def change_current_address(call: Call) -> Response:
        await use_cases.change_address(call.actor, call.identity.org_id, await _requested_address(call))
        return message_response("Address updated")

    async def change_address(call: Call) -> Response:
        await use_cases.change_address(
            call.actor, call.path_integer("org_id", ORGANIZATION_IN_PATH.error_message), await _requested_address(call)
        )
        return message_response("Address updated")

    async def delete(call: Call) -> Response:
        org_id = call.path_integer("org_id", ORGANIZATION_IN_PATH.error_message)
        if org_id == call.identity.org_id:
            raise BadRequest("Cannot delete your active organization")
        await use_cases.remove(call.actor, org_id)
        return message_response("Organization deleted")

    org_scope = "org:id:{org_id}"
    write_current = Permission("orgs:write", "org:id:{current_org}")
    write_org = Permission("orgs:write", org_scope, ORGANIZATION_IN_PATH)
    message_responses, org_responses, org_id_parameter = {200: Message}, {200: OrganizationShape}, {"org_id": int}
    return [
        Route(
            "GET",
            "/api/org",
            get_current,
            SIGNED_IN,
            Operation("getCurrentOrg", "the caller's organization", TAG, responses=org_responses, errors=(404,)),
        ),
        Route(
            "PUT",
            "/api/org",
            rename_current,
            write_current,
            Operation(
                "updateCurrentOrg",
                "rename the caller's organization",
                TAG,
                request=OrganizationForm,
                responses=message_responses,
                errors=(404,),
            ),
            audit=UPDATE,
        ),
        Route(
            "PUT",
            "/api/org/address",
            change_current_address,
            write_current,
            Operation(
                "updateCurrentOrgAddress", "replace the address", TAG, request=AddressForm, responses=message_responses, errors=(404,)
            ),
            audit=UPDATE_ADDRESS,
        ),
        Route(
            "GET",
            "/api/orgs",
            list_organizations,
            Permission("orgs:read", "org:*", OrganizationScope.GLOBAL),
            Operation(
                "searchOrgs",
                "organizations, by name",
                TAG,
                responses={200: list[OrganizationItem]},
                query=_LIST_QUERY,
                parameters={"page": int, "perpage": int},
            ),
        ),
        Route(
            "POST",
            "/api/orgs",
            create,
            Permission("orgs:create", "org:*", OrganizationScope.GLOBAL),
            Operation(
                "createOrg",
                "create an organization; its creator is Admin",
                TAG,
                request=OrganizationForm,
                responses={200: OrganizationCreated},
                errors=(409,),
            ),
            audit=CREATE,
        ),
        Route(
            "GET",
            "/api/orgs/name/{name}",
            get_by_name,
            Permission("orgs:read", "org:*", OrganizationScope.GLOBAL),
            Operation("getOrgByName", "get an organization by its exact name", TAG, responses=org_responses, errors=(404,)),
        ),
        Route(
            "GET",
            "/api/orgs/{org_id}",
            get,
            Permission("orgs:read", org_scope, ORGANIZATION_IN_PATH),
            Operation("getOrgByID", "get an organization", TAG, responses=org_responses, parameters=org_id_parameter, errors=(404,)),
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}",
            rename,
            write_org,
            Operation(
                "updateOrg",
                "rename an organization; the status is 500 for an unknown one",
                TAG,
                request=OrganizationForm,
                responses=message_responses,
                parameters=org_id_parameter,
            ),
            audit=UPDATE,
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}/address",
            change_address,
            write_org,
            Operation(
                "updateOrgAddress",
                "replace the address",
                TAG,
                request=AddressForm,
                responses=message_responses,
                parameters=org_id_parameter,
                errors=(404,),
            ),
            audit=UPDATE_ADDRESS,
        ),
        Route(
            "DELETE",
            "/api/orgs/{org_id}",
            delete,
            Permission("orgs:delete", org_scope, ORGANIZATION_IN_PATH),
            Operation(
                "deleteOrgByID",
                "delete an organization with everything in it",
                TAG,
                responses=message_responses,
                parameters=org_id_parameter,
                errors=(404,),
            ),
            audit=DELETE,
        ),
    ]


async def _requested_name(call: Call) -> str:
    name = stripped_text("name", (await call.model_or_400(OrganizationForm, message=BAD_BODY)).name)
    if not name:
        raise BadRequest(BAD_BODY)
    return name


async def _requested_address(call: Call) -> orgs.Address:
    body = await call.model_or_400(AddressForm, message=BAD_BODY)
    return orgs.Address(**{member: stripped_text(member, value) for member, value in body.model_dump().items()})
