"""Routes that list, find and change any user. An ``{id}`` that is not a number is an unknown user (404)."""

from typing import Final

from dashwright.api.accounts import users as events
from dashwright.api.accounts.users import Users, not_found
from dashwright.api.domain.access.metadata import Subject
from dashwright.api.domain.names import fitting
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, OrganizationView, Permission, Route
from dashwright.api.models.organizations import MembershipShape
from dashwright.api.models.response import Message
from dashwright.api.models.users import AuthTokenShape, ProfileShape, UserForm, UserItem, UserPage
from dashwright.api.routes.account_views import membership_view, profile_view, user_item_view
from dashwright.api.stores import members, persons
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound

TAG: Final = "users"
_READ, _WRITE = "users:read", "users:write"
_ONE: Final = "global.users:{id}"
_PAGE, _LARGEST_PAGE, _LAST_PAGE = 1000, 5000, 1_000_000
_THEMES: Final = ("", "light", "dark", "system")
_LISTED: Final = {
    "query": "text in login, e-mail or name, in any case of letters",
    "page": "from 1",
    "perpage": f"users on a page, by default {_PAGE}, at most {_LARGEST_PAGE}",
}
_PAGING: Final[dict[str, type]] = {"page": int, "perpage": int}


def routes(database: Database, use: Users, clock: Clock) -> list[Route]:
    """Return the routes."""

    async def search(call: Call) -> UserPage:
        page, per_page = call.number("page", 1, least=1, most=_LAST_PAGE), call.number("perpage", _PAGE, least=1, most=_LARGEST_PAGE)
        containing, only = call.query.get("query", ""), call.evaluated.ids(_READ, Subject.USER.prefix)
        async with database.connection() as connection:
            found = await persons.page(connection, containing=containing, limit=per_page, offset=(page - 1) * per_page, only=only)
            total = await persons.count(connection, containing=containing, only=only)
        now = clock.now()
        return UserPage(total_count=total, users=[user_item_view(one, now) for one in found], page=page, per_page=per_page)

    async def listed(call: Call) -> Response:
        return json_response((await search(call)).users)

    async def searched(call: Call) -> Response:
        return json_response(await search(call))

    async def lookup(call: Call) -> Response:
        async with database.connection() as connection:
            found = await persons.find(connection, call.query.get("loginOrEmail", ""))
        if found is None or not call.evaluated.may(_READ, f"{Subject.USER.prefix}{found.id}"):
            raise not_found()
        return json_response(profile_view(found))

    async def person(call: Call, missing: NotFound) -> persons.Person:
        number = parse_integer(call.parameters["id"])
        if number is None:
            raise missing
        async with database.connection() as connection:
            found = await persons.get(connection, number)
        if found is None:
            raise missing
        return found

    async def one(call: Call) -> Response:
        found = await person(call, not_found())
        return json_response(profile_view(found, caller=call.evaluated if call.switch("accesscontrol") else None))

    async def change(call: Call) -> Response:
        user_id = (await person(call, NotFound("User not found"))).id
        await use.change(call.actor, call.evaluated, user_id, await changes_of(call))
        return message_response("User updated")

    async def organizations(call: Call) -> Response:
        user_id = (await person(call, not_found())).id
        async with database.connection() as connection:
            return json_response([membership_view(found) for found in await members.organizations(connection, user_id)])

    async def auth_tokens(call: Call) -> Response:
        await person(call, not_found())
        return json_response([])

    async def switch(call: Call) -> Response:
        org_id = call.integer("orgId", "orgId is invalid")
        user_id = parse_integer(call.parameters["id"])
        if user_id is None:
            raise not_found()
        await use.switch(call.actor, user_id, org_id)
        return message_response("Active organization changed")

    any_user = Permission(_READ, organization=OrganizationView.GLOBAL, any_scope=True)
    read, write = Permission(_READ, _ONE, OrganizationView.GLOBAL), Permission(_WRITE, _ONE, OrganizationView.GLOBAL)
    number: dict[str, type] = {"id": int}
    return [
        Route(
            "GET",
            "/api/users",
            listed,
            any_user,
            Operation("searchUsers", "users, by login", TAG, responses={200: list[UserItem]}, query=_LISTED, parameters=_PAGING),
        ),
        Route(
            "GET",
            "/api/users/search",
            searched,
            any_user,
            Operation(
                "searchUsersWithPaging", "users in pages, by login", TAG, responses={200: UserPage}, query=_LISTED, parameters=_PAGING
            ),
        ),
        Route(
            "GET",
            "/api/users/lookup",
            lookup,
            any_user,
            Operation(
                "getUserByLoginOrEmail",
                "the user with a login or e-mail",
                TAG,
                responses={200: ProfileShape},
                query={"loginOrEmail": "either, in any case of letters"},
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            "/api/users/{id}",
            one,
            read,
            Operation(
                "getUserByID",
                "get a user",
                TAG,
                responses={200: ProfileShape},
                query={"accesscontrol": "add the caller's permissions on the user"},
                parameters={**number, "accesscontrol": bool},
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
                parameters=number,
                errors=(404, 409),
            ),
            audit=events.UPDATE,
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
                parameters=number,
                errors=(404,),
            ),
        ),
        Route(
            "GET",
            "/api/admin/users/{id}/auth-tokens",
            auth_tokens,
            Permission("users.authtoken:read", _ONE, OrganizationView.GLOBAL),
            Operation(
                "adminGetUserAuthTokens",
                "the sessions of a user: always empty, because each request carries its credentials",
                "admin_users",
                responses={200: list[AuthTokenShape]},
                parameters=number,
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
                parameters={**number, "orgId": int},
                errors=(404,),
            ),
            audit=events.SWITCH,
        ),
    ]


async def changes_of(call: Call) -> persons.PersonChanges:
    """Return the changes in the body. Raises BadRequest if login and e-mail are both missing."""
    form = await call.fields(UserForm, fault="bad request data")
    login, email = fitting("login", form.login), fitting("email", form.email)
    if not login and not email:
        raise BadRequest("Need to specify either username or email")
    if form.theme is not None and form.theme not in _THEMES:
        raise BadRequest("Invalid theme")
    name = None if form.name is None else fitting("name", form.name)
    return persons.PersonChanges(login or None, email or None, name, form.theme)
