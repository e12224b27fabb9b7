"""Routes that list, find and change the users of all organizations.

A path whose ``{id}`` is not an integer names an unknown user (404).
"""

from typing import Final

from dashwright.api.accounts.preferences import THEMES
from dashwright.api.accounts.users import SWITCH_ORGANIZATION, UPDATE, Users, not_found
from dashwright.api.domain.access.metadata import ScopedType
from dashwright.api.domain.names import stripped_text
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, OrganizationScope, Permission, Route
from dashwright.api.models.organizations import MembershipShape
from dashwright.api.models.response import Message
from dashwright.api.models.users import AuthTokenShape, ProfileShape, UserForm, UserItem, UserPage
from dashwright.api.routes.account_views import membership_view, profile_view, user_item_view
from dashwright.api.stores import members, persons
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound

TAG: Final = "users"
_READ_PERMISSION, _WRITE_PERMISSION = "users:read", "users:write"
_USER_SCOPE: Final = "global.users:{id}"
# The limit on the number of a page keeps the offset within a bigint.
_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE, _MAX_PAGE = 1000, 5000, 1_000_000
_LIST_QUERY: Final = {
    "query": "text in login, e-mail or name, ignoring case",
    "page": "number of the page, from 1",
    "perpage": f"users on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
}
_PAGING_PARAMETERS: Final[dict[str, type]] = {"page": int, "perpage": int}


def routes(database: Database, use_cases: Users, clock: Clock) -> list[Route]:
    """Return the routes."""

    async def user_page(call: Call) -> UserPage:
        """Return the requested page of the users that the caller may read."""
        page, per_page = (
            call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE),
            call.query_integer("perpage", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE),
        )
        containing, ids = call.query.get("query", ""), call.authorized_identity.ids(_READ_PERMISSION, ScopedType.USER.prefix)
        async with database.connection() as connection:
            users = await persons.page(connection, containing=containing, limit=per_page, offset=(page - 1) * per_page, ids=ids)
            total = await persons.count(connection, containing=containing, ids=ids)
        now = clock.now()
        return UserPage(total_count=total, users=[user_item_view(user, now) for user in users], page=page, per_page=per_page)

    async def list_users(call: Call) -> Response:
        return json_response((await user_page(call)).users)

    async def search_users(call: Call) -> Response:
        return json_response(await user_page(call))

    async def look_up(call: Call) -> Response:
        async with database.connection() as connection:
            person = await persons.find(connection, call.query.get("loginOrEmail", ""))
        if person is None or not call.authorized_identity.may(_READ_PERMISSION, f"{ScopedType.USER.prefix}{person.id}"):
            raise not_found()
        return json_response(profile_view(person))

    async def find_person(call: Call, not_found_error: NotFound) -> persons.Person:
        """Return the user in the path. Raises ``not_found_error`` for an unknown id."""
        user_id = parse_integer(call.parameters["id"])
        if user_id is None:
            raise not_found_error
        async with database.connection() as connection:
            person = await persons.get(connection, user_id)
        if person is None:
            raise not_found_error
        return person

    async def get(call: Call) -> Response:
        person = await find_person(call, not_found())
        return json_response(profile_view(person, caller=call.authorized_identity if call.query_flag("accesscontrol") else None))

    async def change(call: Call) -> Response:
        # Before the body is read: an unknown user is 404 even if the body is invalid. The capital letter is Grafana's.
        user_id = (await find_person(call, NotFound("User not found"))).id
        await use_cases.change(call.actor, call.authorized_identity, user_id, await changes_of(call))
        return message_response("User updated")

    async def organizations(call: Call) -> Response:
        user_id = (await find_person(call, not_found())).id
        async with database.connection() as connection:
            return json_response([membership_view(membership) for membership in await members.organizations(connection, user_id)])

    async def auth_tokens(call: Call) -> Response:
        # Only for the 404 of an unknown user: there are no sessions, since each request carries its credentials.
        await find_person(call, not_found())
        return json_response([])

    async def switch(call: Call) -> Response:
        org_id = call.path_integer("orgId", "orgId is invalid")
        user_id = parse_integer(call.parameters["id"])
        if user_id is None:
            raise not_found()
        await use_cases.switch_organization(call.actor, user_id, org_id)
        return message_response("Active organization changed")

    # A permission on a single user suffices, because the handlers return only the users that the caller may read.
    read_any = Permission(_READ_PERMISSION, organization=OrganizationScope.GLOBAL, any_scope_suffices=True)
    read, write = (
        Permission(_READ_PERMISSION, _USER_SCOPE, OrganizationScope.GLOBAL),
        Permission(_WRITE_PERMISSION, _USER_SCOPE, OrganizationScope.GLOBAL),
    )
    id_parameter: dict[str, type] = {"id": int}
    return [
        Route(
            "GET",
            "/api/users",
            list_users,
            read_any,
            Operation(
                "searchUsers", "users, by login", TAG, responses={200: list[UserItem]}, query=_LIST_QUERY, parameters=_PAGING_PARAMETERS
            ),
        ),
        Route(
            "GET",
            "/api/users/search",
            search_users,
            read_any,
            Operation(
                "searchUsersWithPaging",
                "users in pages, by login",
                TAG,
                responses={200: UserPage},
                query=_LIST_QUERY,
                parameters=_PAGING_PARAMETERS,
            ),
        ),
        Route(
            "GET",
            "/api/users/lookup",
            look_up,
            read_any,
            Operation(
                "getUserByLoginOrEmail",
                "the user with a login or e-mail",
                TAG,
                responses={200: ProfileShape},
                query={"loginOrEmail": "either, ignoring case"},
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            "/api/users/{id}",
            get,
            read,
            Operation(
                "getUserByID",
                "get a user",
                TAG,
                responses={200: ProfileShape},
                query={"accesscontrol": "add the caller's permissions on the user"},
                parameters={**id_parameter, "accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "PUT",
            "/api/users/{id}",
            change,
            write,
            Operation(
                "updateUser",
                "change login, e-mail, name or theme; missing members are kept",
                TAG,
                request=UserForm,
                responses={200: Message},
                parameters=id_parameter,
                errors=(404, 409),
            ),
            audit=UPDATE,
        ),
        Route(
            "GET",
            "/api/users/{id}/orgs",
            organizations,
            read,
            Operation(
                "getUserOrgList",
                "the organizations of a user",
                TAG,
                responses={200: list[MembershipShape]},
                parameters=id_parameter,
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            "/api/admin/users/{id}/auth-tokens",
            auth_tokens,
            Permission("users.authtoken:read", _USER_SCOPE, OrganizationScope.GLOBAL),
            Operation(
                "adminGetUserAuthTokens",
                "the sessions of a user: always empty, because each request carries its credentials",
                "admin_users",
                responses={200: list[AuthTokenShape]},
                parameters=id_parameter,
                errors=(404,),
            ),
        ),
        Route(
            "POST",
            "/api/users/{id}/using/{orgId}",
            switch,
            write,
            Operation(
                "switchOrgOfUser",
                "change a user's current organization; 401 if the user is not a member",
                TAG,
                responses={200: Message},
                parameters={**id_parameter, "orgId": int},
                errors=(404,),
            ),
            audit=SWITCH_ORGANIZATION,
        ),
    ]


async def changes_of(call: Call) -> persons.PersonChanges:
    """Return the changes in the body. Raises BadRequest for an invalid body, and if login and e-mail are both missing."""
    body = await call.model_or_400(UserForm, message="bad request data")
    login, email = stripped_text("login", body.login), stripped_text("email", body.email)
    # As in Grafana: each of the two may be missing, and then keeps its value, but not both.
    if not login and not email:
        raise BadRequest("Need to specify either username or email")
    if body.theme and body.theme not in THEMES:
        raise BadRequest(f"Invalid theme; give one of {', '.join(THEMES)}")
    name = None if body.name is None else stripped_text("name", body.name)
    return persons.PersonChanges(login or None, email or None, name, body.theme)
