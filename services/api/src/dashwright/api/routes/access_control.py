"""Routes of permissions: the caller's own, and the explicit grants of users and service accounts."""

from typing import Final

from dashwright.api.accounts.grants import UPDATE, Grants
from dashwright.api.accounts.users import not_found
from dashwright.api.domain.access.scopes import Grant, canonical_grant
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationScope, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.users import GrantList, GrantsForm, GrantShape
from dashwright.api.stores import grants, members, persons
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Forbidden, NotFound

TAG: Final = "access_control"
_BAD_BODY: Final = "bad request data"
_ORG_ID_QUERY: Final = {"orgId": "the organization of the grants, by default the caller's own; 0: all organizations, and global resources"}


def routes(database: Database, use_cases: Grants) -> list[Route]:
    """Return the routes."""

    async def list_actions(call: Call) -> Response:
        return json_response(dict.fromkeys(sorted(call.identity.permissions), True))

    async def list_permissions(call: Call) -> Response:
        return json_response({action: sorted(action_scopes) for action, action_scopes in sorted(call.identity.permissions.items())})

    async def find_user(connection: Connection, call: Call) -> tuple[int, int]:
        """Return the user id and the organization id of the request. Raises NotFound if the user is unknown or not a member."""
        user_id, org_id = call.path_integer("id", "id is invalid"), _requested_org_id(call)
        # Grants in organization 0, which apply in all organizations, require no membership.
        if await persons.get(connection, user_id) is None or (org_id and await members.role(connection, org_id, user_id) is None):
            raise not_found()
        return user_id, org_id

    async def find_service_account(connection: Connection, call: Call) -> tuple[int, int]:
        """Return the account id and the organization id of the request.

        Raises NotFound for an account outside of the caller's organization, and BadRequest for another organization than the account's.
        """
        account_id, org_id = call.path_integer("id", "Service Account ID is invalid"), _requested_org_id(call)
        account_org_id = await grants.service_account_org(connection, account_id)
        if account_org_id is None or account_org_id != call.identity.org_id:
            raise _no_service_account()
        if org_id not in (0, account_org_id):
            raise BadRequest("a service account can only have permissions in its own organization, or with orgId=0 in all")
        return account_id, org_id

    async def grants_response(connection: Connection, account_id: int, org_id: int) -> Response:
        account_grants = await grants.of_account(connection, account_id, org_id)
        return json_response(GrantList(permissions=[GrantShape(action=action, scope=scope) for action, scope in account_grants]))

    async def list_user_grants(call: Call) -> Response:
        async with database.connection() as connection:
            return await grants_response(connection, *await find_user(connection, call))

    async def list_service_account_grants(call: Call) -> Response:
        async with database.connection() as connection:
            return await grants_response(connection, *await find_service_account(connection, call))

    async def set_user_grants(call: Call) -> Response:
        requested_grants = await _requested_grants(call)
        async with database.connection() as connection:
            user_id, org_id = await find_user(connection, call)
        audit_target = f"user:{user_id}"
        await use_cases.replace(call.actor, call.identity, audit_target, user_id, org_id, requested_grants, unknown_account=not_found())
        return message_response("Permissions updated")

    async def set_service_account_grants(call: Call) -> Response:
        requested_grants = await _requested_grants(call)
        async with database.connection() as connection:
            account_id, org_id = await find_service_account(connection, call)
        audit_target = f"service-account:{account_id}"
        await use_cases.replace(
            call.actor, call.identity, audit_target, account_id, org_id, requested_grants, unknown_account=_no_service_account()
        )
        return message_response("Permissions updated")

    user_path, account_path = "/api/access-control/users/{id}/permissions", "/api/access-control/serviceaccounts/{id}/permissions"
    user_scope, account_scope = "global.users:{id}", "serviceaccounts:id:{id}"
    parameter_types: dict[str, type] = {"id": int, "orgId": int}
    grant_list_responses, message_responses = {200: GrantList}, {200: Message}
    return [
        Route(
            "GET",
            "/api/access-control/user/actions",
            list_actions,
            SIGNED_IN,
            Operation("getUserActions", "the actions that the caller may do", TAG, responses={200: dict[str, bool]}),
        ),
        Route(
            "GET",
            "/api/access-control/user/permissions",
            list_permissions,
            SIGNED_IN,
            Operation(
                "getUserPermissions", "the caller's permissions: actions and their scopes", TAG, responses={200: dict[str, list[str]]}
            ),
        ),
        Route(
            "GET",
            user_path,
            list_user_grants,
            Permission("users.permissions:read", user_scope, OrganizationScope.GLOBAL),
            Operation(
                "listUserGrants",
                "a user's explicit grants",
                TAG,
                responses=grant_list_responses,
                query=_ORG_ID_QUERY,
                parameters=parameter_types,
                errors=(404,),
            ),
        ),
        Route(
            "PUT",
            user_path,
            set_user_grants,
            Permission("users.permissions:write", user_scope, OrganizationScope.GLOBAL),
            Operation(
                "setUserGrants",
                "replace a user's explicit grants",
                TAG,
                request=GrantsForm,
                responses=message_responses,
                query=_ORG_ID_QUERY,
                parameters=parameter_types,
                errors=(404,),
            ),
            audit=UPDATE,
        ),
        Route(
            "GET",
            account_path,
            list_service_account_grants,
            Permission("serviceaccounts.permissions:read", account_scope),
            Operation(
                "listServiceAccountGrants",
                "a service account's explicit grants",
                TAG,
                responses=grant_list_responses,
                query=_ORG_ID_QUERY,
                parameters=parameter_types,
                errors=(404,),
            ),
        ),
        Route(
            "PUT",
            account_path,
            set_service_account_grants,
            Permission("serviceaccounts.permissions:write", account_scope),
            Operation(
                "setServiceAccountGrants",
                "replace a service account's explicit grants",
                TAG,
                request=GrantsForm,
                responses=message_responses,
                query=_ORG_ID_QUERY,
                parameters=parameter_types,
                errors=(404,),
            ),
            audit=UPDATE,
        ),
    ]


async def _requested_grants(call: Call) -> list[Grant]:
    """Return the body's grants by canonical names, without duplicates.

    Raises BadRequest for an unknown action, and for a scope on which the action cannot be granted.
    """
    form = await call.model_or_400(GrantsForm, message=_BAD_BODY)
    return sorted({canonical_grant(grant.action, grant.scope) for grant in form.permissions})


def _requested_org_id(call: Call) -> int:
    """Return the organization id in the query, by default the caller's.

    Raises BadRequest, or Forbidden for an id that only server admins may use.
    """
    value = call.query.get("orgId")
    if value is None:
        return call.identity.org_id
    org_id = parse_integer(value)
    if org_id is None:
        raise BadRequest("orgId is invalid")
    if org_id != call.identity.org_id and not call.identity.is_server_admin:
        raise Forbidden("only server admins may manage permissions in other organizations, or with orgId=0 in all")
    return org_id


def _no_service_account() -> NotFound:
    return NotFound("service account not found", message_id="serviceaccounts.ErrNotFound")
