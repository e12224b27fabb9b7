"""Routes of organizations: the caller's own (``/api/org``), and all of them (``/api/orgs``)."""

from typing import Final

from dashwright.api.accounts import organizations as events
from dashwright.api.accounts.organizations import Organizations, not_found
from dashwright.api.domain.names import fitting
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationInPath, OrganizationView, Permission, Route
from dashwright.api.models.organizations import AddressForm, OrganizationForm, OrganizationItem, OrganizationMade, OrganizationShape
from dashwright.api.models.response import Message
from dashwright.api.routes.account_views import organization_view
from dashwright.api.stores import orgs
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound

TAG: Final = "orgs"
BAD_BODY: Final = "bad request data"
IN_PATH: Final = OrganizationInPath("org_id", "orgId is invalid")
_PAGE, _LARGEST_PAGE, _LAST_PAGE = 1000, 5000, 1_000_000
_LISTED: Final = {
    "query": "text in the name, in any case of letters",
    "name": "the exact name",
    "page": "from 0",
    "perpage": f"organizations on a page, by default {_PAGE}, at most {_LARGEST_PAGE}",
}


def routes(database: Database, organizations: Organizations) -> list[Route]:
    """Return the routes. Those of members are in ``org_users``."""

    async def read(org_id: int) -> Response:
        async with database.connection() as connection:
            found = await orgs.get(connection, org_id)
        if found is None:
            raise not_found()
        return json_response(organization_view(found))

    async def current(call: Call) -> Response:
        return await read(call.identity.org_id)

    async def one(call: Call) -> Response:
        return await read(call.integer("org_id", IN_PATH.fault))

    async def by_name(call: Call) -> Response:
        async with database.connection() as connection:
            found = await orgs.by_name(connection, call.parameters["name"])
        if found is None:
            raise not_found()
        return json_response(organization_view(found))

    async def listed(call: Call) -> Response:
        page, per_page = call.number("page", 0, least=0, most=_LAST_PAGE), call.number("perpage", _PAGE, least=1, most=_LARGEST_PAGE)
        query, name = call.query.get("query", ""), call.query.get("name", "")
        async with database.connection() as connection:
            found = await orgs.page(connection, containing=query, name=name, limit=per_page, offset=page * per_page)
        return json_response([OrganizationItem(id=number, name=text) for number, text in found])

    async def create(call: Call) -> Response:
        org_id = await organizations.create(call.actor, call.identity, await _name(call))
        return json_response(OrganizationMade(message="Organization created", org_id=org_id))

    async def rename_current(call: Call) -> Response:
        await organizations.rename(call.actor, call.identity.org_id, await _name(call))
        return message_response("Organization updated")

    async def rename(call: Call) -> Response:
        try:
            await organizations.rename(call.actor, call.integer("org_id", IN_PATH.fault), await _name(call))
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Failed to update organization")
        return message_response("Organization updated")

    async def move_current(call: Call) -> Response:
        await organizations.move(call.actor, call.identity.org_id, await _address(call))
        return message_response("Address updated")

    async def move(call: Call) -> Response:
        await organizations.move(call.actor, call.integer("org_id", IN_PATH.fault), await _address(call))
        return message_response("Address updated")

    async def delete(call: Call) -> Response:
        org_id = call.integer("org_id", IN_PATH.fault)
        if org_id == call.identity.org_id:
            raise BadRequest("Cannot delete your active organization")
        await organizations.remove(call.actor, org_id)
        return message_response("Organization deleted")

    here = "org:id:{org_id}"
    own = Permission("orgs:write", "org:id:{current_org}")
    write = Permission("orgs:write", here, IN_PATH)
    said, org, number = {200: Message}, {200: OrganizationShape}, {"org_id": int}
    form, address = OrganizationForm, AddressForm
    return [
        Route(
            "GET",
            "/api/org",
            current,
            SIGNED_IN,
            Operation("getCurrentOrg", "the caller's organization", TAG, responses=org, errors=(404,)),
        ),
        Route(
            "PUT",
            "/api/org",
            rename_current,
            own,
            Operation("updateCurrentOrg", "rename the caller's organization", TAG, request=form, responses=said, errors=(404,)),
            audit=events.UPDATE,
        ),
        Route(
            "PUT",
            "/api/org/address",
            move_current,
            own,
            Operation("updateCurrentOrgAddress", "replace the address", TAG, request=address, responses=said, errors=(404,)),
            audit=events.MOVE,
        ),
        Route(
            "GET",
            "/api/orgs",
            listed,
            Permission("orgs:read", "org:*", OrganizationView.GLOBAL),
            Operation(
                "searchOrgs",
                "organizations, by name",
                TAG,
                responses={200: list[OrganizationItem]},
                query=_LISTED,
                parameters={"page": int, "perpage": int},
            ),
        ),
        Route(
            "POST",
            "/api/orgs",
            create,
            Permission("orgs:create", "org:*", OrganizationView.GLOBAL),
            Operation(
                "createOrg",
                "create an organization; its creator is Admin",
                TAG,
                request=form,
                responses={200: OrganizationMade},
                errors=(409,),
            ),
            audit=events.CREATE,
        ),
        Route(
            "GET",
            "/api/orgs/name/{name}",
            by_name,
            Permission("orgs:read", "org:*", OrganizationView.GLOBAL),
            Operation("getOrgByName", "get an organization by its exact name", TAG, responses=org, errors=(404,)),
        ),
        Route(
            "GET",
            "/api/orgs/{org_id}",
            one,
            Permission("orgs:read", here, IN_PATH),
            Operation("getOrgByID", "get an organization", TAG, responses=org, parameters=number, errors=(404,)),
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}",
            rename,
            write,
            Operation("updateOrg", "rename an organization; an unknown one is 500", TAG, request=form, responses=said, parameters=number),
            audit=events.UPDATE,
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}/address",
            move,
            write,
            Operation("updateOrgAddress", "replace the address", TAG, request=address, responses=said, parameters=number, errors=(404,)),
            audit=events.MOVE,
        ),
        Route(
            "DELETE",
            "/api/orgs/{org_id}",
            delete,
            Permission("orgs:delete", here, IN_PATH),
            Operation(
                "deleteOrgByID", "delete an organization with everything in it", TAG, responses=said, parameters=number, errors=(404,)
            ),
            audit=events.DELETE,
        ),
    ]


async def _name(call: Call) -> str:
    name = fitting("name", (await call.fields(OrganizationForm, fault=BAD_BODY)).name)
    if not name:
        raise BadRequest(BAD_BODY)
    return name


async def _address(call: Call) -> orgs.Address:
    form = await call.fields(AddressForm, fault=BAD_BODY)
    return orgs.Address(**{member: fitting(member, text) for member, text in form.model_dump().items()})
