"""Routes of members of the caller's organization (``/api/org/users``) and of any organization (``/api/orgs/{org_id}/users``)."""

from collections.abc import Callable, Sequence
from typing import Final

from dashwright.api.accounts.members import ADD, REMOVE, UPDATE, Members
from dashwright.api.accounts.organizations import not_found
from dashwright.api.domain.access.metadata import ScopedType
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import Operation, OrganizationInPath, OrganizationScope, Permission, Route
from dashwright.api.models.organizations import InviteShape, MemberAdded, MemberForm, MemberMatch, MemberPage, MemberShape, RoleForm
from dashwright.api.models.response import Message
from dashwright.api.routes.account_views import member_lookup_view, member_view
from dashwright.api.routes.orgs import BAD_BODY, ORGANIZATION_IN_PATH, TAG
from dashwright.api.stores import members, orgs
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Role

_READ_PERMISSION: Final = "org.users:read"
_MAX_MEMBERS: Final = 10_000
"""Limit on the members in the list that has no pages."""
_MAX_LOOKUP_MEMBERS: Final = 50
"""Limit on the members that complete a name."""
# The limit on the number of a page keeps the offset within a bigint.
_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE, _MAX_PAGE = 1000, 5000, 1_000_000
_QUERY_TEXT: Final = "text in login, e-mail or name, ignoring case"
_ACCESS_CONTROL_TEXT: Final = "add the caller's permissions on each"
_BAD_USER: Final = "userId is invalid"

#: A function that returns the id of the organization that a call is about.
OrgIdOf = Callable[[Call], int]


def routes(database: Database, use_cases: Members, clock: Clock) -> list[Route]:
    """Return the routes of members of the caller's organization, and of members of the organization in the path.

    The lookup and the invitations exist for the caller's organization only.
    """
    return [
        *_routes(database, use_cases, clock, "/api/org/users", OrganizationScope.CURRENT, _current_org_id, "ForCurrentOrg"),
        _lookup_route(database),
        _invites_route(),
        *_routes(database, use_cases, clock, "/api/orgs/{org_id}/users", ORGANIZATION_IN_PATH, _path_org_id, ""),
    ]


def _current_org_id(call: Call) -> int:
    return call.identity.org_id


def _path_org_id(call: Call) -> int:
    return call.path_integer("org_id", ORGANIZATION_IN_PATH.error_message)


def _routes(
    database: Database,
    use_cases: Members,
    clock: Clock,
    path: str,
    organization: OrganizationScope | OrganizationInPath,
    org_id_of: OrgIdOf,
    operation_id_suffix: str,
) -> list[Route]:
    """Return the routes of the members of one organization, below ``path``. ``organization`` is that of their permissions."""

    async def list_members(call: Call) -> Response:
        limit = call.query_integer("limit", _MAX_MEMBERS, minimum=1, maximum=_MAX_MEMBERS)
        async with database.connection() as connection:
            if await orgs.get(connection, org_id_of(call)) is None:
                raise not_found()
            matching_members = await members.page(
                connection, org_id_of(call), containing=_search_text(call), limit=limit, ids=_readable_ids(call)
            )
        return json_response(_member_views(call, matching_members))

    async def search(call: Call) -> Response:
        page, per_page = (
            call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE),
            call.query_integer("perpage", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE),
        )
        org_id, containing, ids, offset = org_id_of(call), _search_text(call), _readable_ids(call), (page - 1) * per_page
        async with database.connection() as connection:
            if await orgs.get(connection, org_id) is None:
                raise not_found()
            matching_members = await members.page(connection, org_id, containing=containing, limit=per_page, offset=offset, ids=ids)
            total = await members.count(connection, org_id, containing=containing, ids=ids)
        return json_response(MemberPage(total_count=total, org_users=_member_views(call, matching_members), page=page, per_page=per_page))

    def _member_views(call: Call, matching_members: Sequence[members.Member]) -> list[MemberShape]:
        caller = call.authorized_identity if call.query_flag("accesscontrol") else None
        now = clock.now()
        return [member_view(member, now, caller) for member in matching_members]

    async def add(call: Call) -> Response:
        body = await call.model_or_400(MemberForm, message=BAD_BODY)
        if not body.login_or_email.strip():
            raise BadRequest(BAD_BODY)
        user_id = await use_cases.add(
            call.actor, call.authorized_identity, org_id_of(call), body.login_or_email.strip(), _parse_role(body.role)
        )
        return json_response(MemberAdded(message="User added to organization", user_id=user_id))

    async def change(call: Call) -> Response:
        role = _parse_role((await call.model_or_400(RoleForm, message=BAD_BODY)).role)
        try:
            await use_cases.change_role(
                call.actor, call.authorized_identity, org_id_of(call), call.path_integer("user_id", _BAD_USER), role
            )
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Failed update org user")
        return message_response("Organization user updated")

    async def remove(call: Call) -> Response:
        await use_cases.remove(call.actor, call.authorized_identity, org_id_of(call), call.path_integer("user_id", _BAD_USER))
        return message_response("User removed from organization")

    org_parameter: dict[str, type] = {"org_id": int} if isinstance(organization, OrganizationInPath) else {}
    member_path = f"{path}/{{user_id}}"
    read_permission = Permission(_READ_PERMISSION, organization=organization, any_scope_suffices=True)
    return [
        Route(
            "GET",
            path,
            list_members,
            read_permission,
            Operation(
                f"getOrgUsers{operation_id_suffix}",
                "members, by e-mail and login",
                TAG,
                responses={200: list[MemberShape]},
                query={
                    "query": _QUERY_TEXT,
                    "limit": f"maximum number of members, by default {_MAX_MEMBERS}",
                    "accesscontrol": _ACCESS_CONTROL_TEXT,
                },
                parameters={**org_parameter, "limit": int, "accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            f"{path}/search",
            search,
            read_permission,
            Operation(
                f"searchOrgUsers{operation_id_suffix}",
                "members in pages, by e-mail and login",
                TAG,
                responses={200: MemberPage},
                query={
                    "query": _QUERY_TEXT,
                    "page": "number of the page, from 1",
                    "perpage": f"members on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
                    "accesscontrol": _ACCESS_CONTROL_TEXT,
                },
                parameters={**org_parameter, "page": int, "perpage": int, "accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "POST",
            path,
            add,
            Permission("org.users:add", "users:*", organization),
            # Grafana's ids of this operation do not follow the pattern of the others.
            Operation(
                "addOrgUser" if isinstance(organization, OrganizationInPath) else "addOrgUserToCurrentOrg",
                "add a user to the organization",
                TAG,
                request=MemberForm,
                responses={200: MemberAdded},
                parameters=org_parameter,
                errors=(404, 409),
            ),
            audit=ADD,
        ),
        Route(
            "PATCH",
            member_path,
            change,
            Permission("org.users:write", "users:id:{user_id}", organization),
            Operation(
                f"updateOrgUser{operation_id_suffix}",
                "change the role of a member; the status is 500 for any other user",
                TAG,
                request=RoleForm,
                responses={200: Message},
                parameters={**org_parameter, "user_id": int},
            ),
            audit=UPDATE,
        ),
        Route(
            "DELETE",
            member_path,
            remove,
            Permission("org.users:remove", "users:id:{user_id}", organization),
            Operation(
                f"removeOrgUser{operation_id_suffix}",
                "remove a member; the user is not deleted",
                TAG,
                responses={200: Message},
                parameters={**org_parameter, "user_id": int},
                errors=(404,),
            ),
            audit=REMOVE,
        ),
    ]


def _lookup_route(database: Database) -> Route:
    """Return the route by which a client completes the name of a member while a user types it."""

    async def look_up(call: Call) -> Response:
        limit = call.query_integer("limit", _MAX_LOOKUP_MEMBERS, minimum=1, maximum=_MAX_LOOKUP_MEMBERS)
        async with database.connection() as connection:
            matching_members = await members.page(
                connection, call.identity.org_id, containing=_search_text(call), limit=limit, ids=_readable_ids(call)
            )
        return json_response([member_lookup_view(member) for member in matching_members])

    return Route(
        "GET",
        "/api/org/users/lookup",
        look_up,
        Permission(_READ_PERMISSION, any_scope_suffices=True),
        Operation(
            "getOrgUsersForCurrentOrgLookup",
            "members for a lookup by name",
            TAG,
            responses={200: list[MemberMatch]},
            query={"query": _QUERY_TEXT, "limit": f"maximum number of members, by default {_MAX_LOOKUP_MEMBERS}"},
            parameters={"limit": int},
        ),
    )


def _invites_route() -> Route:
    """Return the route of pending invitations, which existing clients request."""

    async def list_invites(_: Call) -> Response:
        return json_response([])

    operation = Operation(
        "getPendingOrgInvites",
        "pending invitations: always empty, because users are added without one",
        TAG,
        responses={200: list[InviteShape]},
    )
    return Route("GET", "/api/org/invites", list_invites, Permission("org.users:add", "users:*"), operation)


def _search_text(call: Call) -> str:
    return call.query.get("query", "")


def _readable_ids(call: Call) -> frozenset[int] | None:
    """Return the ids of the members that the caller may read, or None for all."""
    return call.authorized_identity.ids(_READ_PERMISSION, ScopedType.MEMBER.prefix)


def _parse_role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError as error:
        raise BadRequest(f"Invalid role specified; give one of {', '.join(Role)}") from error
