"""Routes of permissions: the caller's own, and the explicit grants of users and service accounts."""

from typing import Final

from dashwright.api.accounts import grants as events
from dashwright.api.accounts.grants import Grants
from dashwright.api.accounts.users import not_found
from dashwright.api.domain.access.scopes import Grant, normalise
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationView, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.users import GrantList, GrantsForm, GrantShape
from dashwright.api.stores import grants, members, persons
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Forbidden, NotFound

TAG: Final = "access_control"
_BAD_BODY: Final = "bad request data"
_ORG: Final = {"orgId": "the organization of the grants, by default the caller's own; 0: all organizations, and global resources"}


def routes(database: Database, use: Grants) -> list[Route]:
    """Return the routes."""

    async def actions(call: Call) -> Response:
        return json_response(dict.fromkeys(sorted(call.identity.permissions), True))

    async def scopes(call: Call) -> Response:
        return json_response({action: sorted(granted) for action, granted in sorted(call.identity.permissions.items())})

    async def user(connection: Connection, call: Call) -> tuple[int, int]:
        user_id, org_id = call.integer("id", "id is invalid"), _org(call)
        if await persons.get(connection, user_id) is None or (org_id and await members.role(connection, org_id, user_id) is None):
            raise not_found()
        return user_id, org_id

    async def service_account(connection: Connection, call: Call) -> tuple[int, int]:
        account_id, org_id = call.integer("id", "Service Account ID is invalid"), _org(call)
        own = await grants.service_account_org(connection, account_id)
        if own is None or own != call.identity.org_id:
            raise _no_service_account()
        if org_id not in (0, own):
            raise BadRequest("a service account can only have permissions in its own organization, or with orgId=0 in all")
        return account_id, org_id

    async def listed(connection: Connection, account_id: int, org_id: int) -> Response:
        held = await grants.of_account(connection, account_id, org_id)
        return json_response(GrantList(permissions=[GrantShape(action=action, scope=scope) for action, scope in held]))

    async def of_user(call: Call) -> Response:
        async with database.connection() as connection:
            return await listed(connection, *await user(connection, call))

    async def of_service_account(call: Call) -> Response:
        async with database.connection() as connection:
            return await listed(connection, *await service_account(connection, call))

    async def grant_user(call: Call) -> Response:
        wanted = await _requested_grants(call)
        async with database.connection() as connection:
            user_id, org_id = await user(connection, call)
        await use.replace(call.actor, call.identity, f"user:{user_id}", user_id, org_id, wanted, unknown=not_found())
        return message_response("Permissions updated")

    async def grant_service_account(call: Call) -> Response:
        wanted = await _requested_grants(call)
        async with database.connection() as connection:
            account_id, org_id = await service_account(connection, call)
        holder = f"service-account:{account_id}"
        await use.replace(call.actor, call.identity, holder, account_id, org_id, wanted, unknown=_no_service_account())
        return message_response("Permissions updated")

    of_users, of_accounts = "/api/access-control/users/{id}/permissions", "/api/access-control/serviceaccounts/{id}/permissions"
    one_user, one_account = "global.users:{id}", "serviceaccounts:id:{id}"
    types: dict[str, type] = {"id": int, "orgId": int}
    listing, said = {200: GrantList}, {200: Message}
    return [
        Route(
            "GET",
            "/api/access-control/user/actions",
            actions,
            SIGNED_IN,
            Operation("getUserActions", "the actions that the caller may do", TAG, responses={200: dict[str, bool]}),
        ),
        Route(
            "GET",
            "/api/access-control/user/permissions",
            scopes,
            SIGNED_IN,
            Operation(
                "getUserPermissions", "the caller's permissions: actions and their scopes", TAG, responses={200: dict[str, list[str]]}
            ),
        ),
        Route(
            "GET",
            of_users,
            of_user,
            Permission("users.permissions:read", one_user, OrganizationView.GLOBAL),
            Operation("listUserGrants", "a user's explicit grants", TAG, responses=listing, query=_ORG, parameters=types, errors=(404,)),
        ),
        Route(
            "PUT",
            of_users,
            grant_user,
            Permission("users.permissions:write", one_user, OrganizationView.GLOBAL),
            Operation(
                "setUserGrants",
                "replace a user's explicit grants",
                TAG,
                request=GrantsForm,
                responses=said,
                query=_ORG,
                parameters=types,
                errors=(404,),
            ),
            audit=events.UPDATE,
        ),
        Route(
            "GET",
            of_accounts,
            of_service_account,
            Permission("serviceaccounts.permissions:read", one_account),
            Operation(
                "listServiceAccountGrants",
                "a service account's explicit grants",
                TAG,
                responses=listing,
                query=_ORG,
                parameters=types,
                errors=(404,),
            ),
        ),
        Route(
            "PUT",
            of_accounts,
            grant_service_account,
            Permission("serviceaccounts.permissions:write", one_account),
            Operation(
                "setServiceAccountGrants",
                "replace a service account's explicit grants",
                TAG,
                request=GrantsForm,
                responses=said,
                query=_ORG,
                parameters=types,
                errors=(404,),
            ),
            audit=events.UPDATE,
        ),
    ]


async def _requested_grants(call: Call) -> list[Grant]:
    """Return the body's grants by canonical names, without duplicates.

    Raises BadRequest for an unknown action or a scope that does not fit it.
    """
    form = await call.fields(GrantsForm, fault=_BAD_BODY)
    return sorted({normalise(grant.action, grant.scope) for grant in form.permissions})


def _org(call: Call) -> int:
    """Return the organization in the query. Raises BadRequest, or Forbidden if only a server admin may name it."""
    text = call.query.get("orgId")
    if text is None:
        return call.identity.org_id
    org_id = parse_integer(text)
    if org_id is None:
        raise BadRequest("orgId is invalid")
    if org_id != call.identity.org_id and not call.identity.is_server_admin:
        raise Forbidden("only server admins may manage permissions in other organizations, or with orgId=0 in all")
    return org_id


def _no_service_account() -> NotFound:
    return NotFound("service account not found", message_id="serviceaccounts.ErrNotFound")
