"""Routes of the caller's own user: profile, organizations, password and stars.

Most are for persons only; keys and tokens get 403.
"""

from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts import users as events
from dashwright.api.accounts.users import Users, not_found
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.http.call import Call, user_only
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.organizations import MembershipShape
from dashwright.api.models.response import Message
from dashwright.api.models.users import KeyProfile, OwnPasswordForm, ProfileShape, UserForm
from dashwright.api.routes.account_views import membership_view, profile_view
from dashwright.api.routes.users import TAG, changes_of
from dashwright.api.stores import access, audit, members, orgs, persons
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Caller
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.password_policy import MAX_PASSWORD_BYTES

STAR: Final = "star.add"
UNSTAR: Final = "star.remove"


def routes(database: Database, use: Users, throttle: LoginThrottle, policy: AccessPolicy) -> list[Route]:
    """Return the routes."""

    async def current(call: Call) -> Response:
        caller = call.identity
        if caller.kind is Caller.API_KEY:
            return json_response(KeyProfile(uid=caller.uid, login=caller.login, name=caller.login, org_id=caller.org_id))
        async with database.connection() as connection:
            found = await persons.account(connection, caller.user_id)
        if found is None:
            raise not_found()
        return json_response(profile_view(found, org_id=caller.org_id))

    async def ping(_: Call) -> Response:
        return message_response("Logged in")

    async def change(call: Call) -> Response:
        user_id = user_only(call, lacks="profile to change")
        await use.change(call.actor, call.identity, user_id, await changes_of(call))
        return message_response("User updated")

    async def organizations(call: Call) -> Response:
        caller = call.identity
        async with database.connection() as connection:
            if caller.kind is Caller.API_KEY:
                org = await orgs.get(connection, caller.org_id)
                found = [] if org is None else [members.Membership(org.id, org.name, caller.role)]
            else:
                found = list(await members.organizations(connection, caller.user_id))
        return json_response([membership_view(one) for one in found])

    async def switch(call: Call) -> Response:
        user_id = user_only(call, lacks="other organizations")
        await use.switch(call.actor, user_id, call.integer("orgId", "id is invalid"))
        return message_response("Active organization changed")

    async def change_password(call: Call) -> Response:
        user_id = user_only(call, lacks="password")
        form = await call.fields(OwnPasswordForm, fault="bad request data")
        login, address = call.identity.login, call.address
        is_refused = throttle.refuses(login, address)
        # Count the attempt before the check: otherwise concurrent guesses would all pass the limit as the first one.
        throttle.failed(login, address)
        fits = len(form.old_password.encode()) <= MAX_PASSWORD_BYTES and await use.fits(user_id, form.old_password)
        if is_refused or not fits:
            raise BadRequest("Invalid old password")
        throttle.succeeded(login, address)
        use.check_password(form.new_password, login, short="New password is too short")
        await use.set_password(call.actor, call.identity, user_id, form.new_password)
        return message_response("User password changed")

    async def readable(call: Call) -> str:
        """Return the uid of the dashboard in the path. Raises NotFound, also if the caller may not read it."""
        caller = call.identity
        uid, number = ("", call.integer("id", "id is invalid")) if "id" in call.parameters else (call.parameters["uid"], None)
        view = await policy.view(caller, caller.namespace)
        async with database.connection() as connection:
            found = await access.find(connection, DASHBOARD, caller.namespace, uid, number)
        if found is None or not view.may(DASHBOARD.actions["get"], DASHBOARD, found.name, found.folder):
            raise NotFound("Dashboard not found")
        return found.name

    async def star(call: Call) -> Response:
        user_id, caller = user_only(call, lacks="stars"), call.identity
        dashboard = await readable(call)
        async with database.transaction() as connection:
            await persons.add_star(connection, user_id, caller.org_id, dashboard)
            await audit.record(connection, call.actor, STAR, f"dashboard:{dashboard}", org_id=caller.org_id)
        return message_response("Dashboard starred!")

    async def unstar(call: Call) -> Response:
        user_id = user_only(call, lacks="stars")
        dashboard = call.parameters["uid"] if "uid" in call.parameters else await readable(call)
        async with database.transaction() as connection:
            await persons.remove_star(connection, user_id, call.identity.org_id, dashboard)
            await audit.record(connection, call.actor, UNSTAR, f"dashboard:{dashboard}", org_id=call.identity.org_id)
        return message_response("Dashboard unstarred")

    starred, by_number = "/api/user/stars/dashboard/uid/{uid}", "/api/user/stars/dashboard/{id}"
    number = {"id": int}
    said = {200: Message}
    return [
        Route(
            "GET",
            "/api/user",
            current,
            SIGNED_IN,
            Operation(
                "getSignedInUser",
                "the caller; a legacy key has no user and gets a few members only",
                TAG,
                responses={200: ProfileShape | KeyProfile},
                errors=(404,),
            ),
        ),
        Route(
            "PUT",
            "/api/user",
            change,
            SIGNED_IN,
            Operation(
                "updateSignedInUser", "change login, e-mail, name or theme", TAG, request=UserForm, responses=said, errors=(404, 409)
            ),
            audit=events.UPDATE,
        ),
        Route(
            "GET",
            "/api/login/ping",
            ping,
            SIGNED_IN,
            Operation("loginPing", "check the credentials", TAG, responses=said),
        ),
        Route(
            "GET",
            "/api/user/orgs",
            organizations,
            SIGNED_IN,
            Operation("getSignedInUserOrgList", "the organizations of the caller", TAG, responses={200: list[MembershipShape]}),
        ),
        Route(
            "POST",
            "/api/user/using/{orgId}",
            switch,
            SIGNED_IN,
            Operation(
                "userSetUsingOrg",
                "change the current organization; 401 if the caller is not a member",
                TAG,
                responses=said,
                parameters={"orgId": int},
            ),
            audit=events.SWITCH,
        ),
        Route(
            "PUT",
            "/api/user/password",
            change_password,
            SIGNED_IN,
            Operation("changeUserPassword", "change the own password", TAG, request=OwnPasswordForm, responses=said, errors=(404,)),
            audit=events.PASSWORD,
            takes_weak_passwords=True,
        ),
        Route(
            "POST",
            starred,
            star,
            SIGNED_IN,
            Operation("starDashboardByUID", "star a dashboard", TAG, responses=said, errors=(404,)),
            audit=STAR,
        ),
        Route(
            "DELETE",
            starred,
            unstar,
            SIGNED_IN,
            Operation("unstarDashboardByUID", "remove a star, if there is one", TAG, responses=said),
            audit=UNSTAR,
        ),
        Route(
            "POST",
            by_number,
            star,
            SIGNED_IN,
            Operation(
                "starDashboard", "star a dashboard by its number", TAG, responses=said, parameters=number, errors=(404,), deprecated=True
            ),
            audit=STAR,
        ),
        Route(
            "DELETE",
            by_number,
            unstar,
            SIGNED_IN,
            Operation(
                "unstarDashboard",
                "remove a star by the dashboard's number",
                TAG,
                responses=said,
                parameters=number,
                errors=(404,),
                deprecated=True,
            ),
            audit=UNSTAR,
        ),
    ]
