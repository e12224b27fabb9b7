"""Routes of members of the caller's organization (``/api/org/users``) and of any (``/api/orgs/{org_id}/users``)."""

from collections.abc import Callable, Sequence
from typing import Final

from dashwright.api.accounts import members as events
from dashwright.api.accounts.members import Members
from dashwright.api.accounts.organizations import not_found
from dashwright.api.domain.access.metadata import Subject
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import Operation, OrganizationInPath, OrganizationView, Permission, Route
from dashwright.api.models.organizations import InviteShape, MemberAdded, MemberForm, MemberFound, MemberPage, MemberShape, RoleForm
from dashwright.api.models.response import Message
from dashwright.api.routes.account_views import member_found_view, member_view
from dashwright.api.routes.orgs import BAD_BODY, IN_PATH, TAG
from dashwright.api.stores import members, orgs
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Role

_READ: Final = "org.users:read"
_ALL: Final = 10_000
_LOOKED_UP: Final = 50
_PAGE, _LARGEST_PAGE, _LAST_PAGE = 1000, 5000, 1_000_000
_QUERY: Final = "text in login, e-mail or name, in any case of letters"
_SHOWN: Final = "add the caller's permissions on each"
_BAD_USER: Final = "userId is invalid"

Org = Callable[[Call], int]


def routes(database: Database, use: Members, clock: Clock) -> list[Route]:
    """Return the routes, which exist twice except ``lookup``, which serves the caller's organization only."""
    return [
        *_routes(database, use, clock, "/api/org/users", OrganizationView.CURRENT, _current_org, "ForCurrentOrg"),
        _lookup(database),
        _invites(),
        *_routes(database, use, clock, "/api/orgs/{org_id}/users", IN_PATH, _org_of_path, ""),
    ]


def _current_org(call: Call) -> int:
    return call.identity.org_id


def _org_of_path(call: Call) -> int:
    return call.integer("org_id", IN_PATH.fault)


def _routes(
    database: Database, use: Members, clock: Clock, path: str, where: OrganizationView | OrganizationInPath, org_of: Org, suffix: str
) -> list[Route]:
    async def listed(call: Call) -> Response:
        limit = call.number("limit", _ALL, least=1, most=_ALL)
        async with database.connection() as connection:
            if await orgs.get(connection, org_of(call)) is None:
                raise not_found()
            found = await members.page(connection, org_of(call), containing=_query(call), limit=limit, only=_readable(call))
        return json_response(_member_views(call, found))

    async def search(call: Call) -> Response:
        page, per_page = call.number("page", 1, least=1, most=_LAST_PAGE), call.number("perpage", _PAGE, least=1, most=_LARGEST_PAGE)
        org_id, containing, only, offset = org_of(call), _query(call), _readable(call), (page - 1) * per_page
        async with database.connection() as connection:
            if await orgs.get(connection, org_id) is None:
                raise not_found()
            found = await members.page(connection, org_id, containing=containing, limit=per_page, offset=offset, only=only)
            total = await members.count(connection, org_id, containing=containing, only=only)
        return json_response(MemberPage(total_count=total, org_users=_member_views(call, found), page=page, per_page=per_page))

    def _member_views(call: Call, found: Sequence[members.Member]) -> list[MemberShape]:
        caller = call.evaluated if call.switch("accesscontrol") else None
        now = clock.now()
        return [member_view(one, now, caller) for one in found]

    async def add(call: Call) -> Response:
        form = await call.fields(MemberForm, fault=BAD_BODY)
        if not form.login_or_email.strip():
            raise BadRequest(BAD_BODY)
        user_id = await use.add(call.actor, call.evaluated, org_of(call), form.login_or_email.strip(), _role(form.role))
        return json_response(MemberAdded(message="User added to organization", user_id=user_id))

    async def change(call: Call) -> Response:
        role = _role((await call.fields(RoleForm, fault=BAD_BODY)).role)
        try:
            await use.change_role(call.actor, call.evaluated, org_of(call), call.integer("user_id", _BAD_USER), role)
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Failed update org user")
        return message_response("Organization user updated")

    async def remove(call: Call) -> Response:
        await use.remove(call.actor, call.evaluated, org_of(call), call.integer("user_id", _BAD_USER))
        return message_response("User removed from organization")

    org: dict[str, type] = {"org_id": int} if isinstance(where, OrganizationInPath) else {}
    one = f"{path}/{{user_id}}"
    read = Permission(_READ, organization=where, any_scope=True)
    return [
        Route(
            "GET",
            path,
            listed,
            read,
            Operation(
                f"getOrgUsers{suffix}",
                "members, by e-mail and login",
                TAG,
                responses={200: list[MemberShape]},
                query={"query": _QUERY, "limit": f"the most members to return, by default {_ALL}", "accesscontrol": _SHOWN},
                parameters={**org, "limit": int, "accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            f"{path}/search",
            search,
            read,
            Operation(
                f"searchOrgUsers{suffix}",
                "members in pages, by e-mail and login",
                TAG,
                responses={200: MemberPage},
                query={
                    "query": _QUERY,
                    "page": "from 1",
                    "perpage": f"members on a page, by default {_PAGE}, at most {_LARGEST_PAGE}",
                    "accesscontrol": _SHOWN,
                },
                parameters={**org, "page": int, "perpage": int, "accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "POST",
            path,
            add,
            Permission("org.users:add", "users:*", where),
            Operation(
                "addOrgUser" if isinstance(where, OrganizationInPath) else "addOrgUserToCurrentOrg",
                "add a user to the organization",
                TAG,
                request=MemberForm,
                responses={200: MemberAdded},
                parameters=org,
                errors=(404, 409),
            ),
            audit=events.ADD,
        ),
        Route(
            "PATCH",
            one,
            change,
            Permission("org.users:write", "users:id:{user_id}", where),
            Operation(
                f"updateOrgUser{suffix}",
                "change the role of a member; another user is 500",
                TAG,
                request=RoleForm,
                responses={200: Message},
                parameters={**org, "user_id": int},
            ),
            audit=events.UPDATE,
        ),
        Route(
            "DELETE",
            one,
            remove,
            Permission("org.users:remove", "users:id:{user_id}", where),
            Operation(
                f"removeOrgUser{suffix}",
                "remove a member; the user is not deleted",
                TAG,
                responses={200: Message},
                parameters={**org, "user_id": int},
                errors=(404,),
            ),
            audit=events.REMOVE,
        ),
    ]


def _lookup(database: Database) -> Route:
    async def lookup(call: Call) -> Response:
        limit = call.number("limit", _LOOKED_UP, least=1, most=_LOOKED_UP)
        async with database.connection() as connection:
            found = await members.page(connection, call.identity.org_id, containing=_query(call), limit=limit, only=_readable(call))
        return json_response([member_found_view(one) for one in found])

    return Route(
        "GET",
        "/api/org/users/lookup",
        lookup,
        Permission(_READ, any_scope=True),
        Operation(
            "getOrgUsersForCurrentOrgLookup",
            "members for a lookup by name",
            TAG,
            responses={200: list[MemberFound]},
            query={"query": _QUERY, "limit": f"the most members to return, by default {_LOOKED_UP}"},
            parameters={"limit": int},
        ),
    )


def _invites() -> Route:
    async def invites(_: Call) -> Response:
        return json_response([])

    described = Operation(
        "getPendingOrgInvites",
        "pending invitations: always empty, because users are added without one",
        TAG,
        responses={200: list[InviteShape]},
    )
    return Route("GET", "/api/org/invites", invites, Permission("org.users:add", "users:*"), described)


def _query(call: Call) -> str:
    return call.query.get("query", "")


def _readable(call: Call) -> frozenset[int] | None:
    return call.evaluated.ids(_READ, Subject.MEMBER.prefix)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError as error:
        raise BadRequest("Invalid role specified") from error
