"""Routes of the caller's own user: profile, organizations, password and stars.

Most routes are for users only: the API returns 403 to keys and tokens.
"""

from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts.users import PASSWORD, SWITCH_ORGANIZATION, UPDATE, Users, not_found
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.http.call import Call, require_account_id, require_user_id
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
from dashwright.common.identity import CallerType
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.password_policy import MAX_PASSWORD_BYTES

# Names of audit events.
STAR: Final = "star.add"
UNSTAR: Final = "star.remove"


def routes(database: Database, users: Users, throttle: LoginThrottle, policy: AccessPolicy) -> list[Route]:
    """Return the routes."""

    async def get_current(call: Call) -> Response:
        caller = call.identity
        if caller.kind is CallerType.API_KEY:
            return json_response(KeyProfile(uid=caller.uid, login=caller.login, name=caller.login, org_id=caller.org_id))
        async with database.connection() as connection:
            person = await persons.account(connection, caller.user_id)
        if person is None:
            raise not_found()
        return json_response(profile_view(person, org_id=caller.org_id))

    async def ping(_: Call) -> Response:
        return message_response("Logged in")

    async def change(call: Call) -> Response:
        user_id = require_user_id(call, user_data="profile to change")
        await users.change(call.actor, call.identity, user_id, await changes_of(call))
        return message_response("User updated")

    async def organizations(call: Call) -> Response:
        caller = call.identity
        async with database.connection() as connection:
            if caller.kind is CallerType.API_KEY:
                organization = await orgs.get(connection, caller.org_id)
                memberships = [] if organization is None else [members.Membership(organization.id, organization.name, caller.role)]
            else:
                memberships = list(await members.organizations(connection, caller.user_id))
        return json_response([membership_view(membership) for membership in memberships])

    async def switch(call: Call) -> Response:
        user_id = require_user_id(call, user_data="other organizations")
        await users.switch_organization(call.actor, user_id, call.path_integer("orgId", "id is invalid"))
        return message_response("Active organization changed")

    async def change_password(call: Call) -> Response:
        """Change the caller's password. A wrong old password counts as a failed login, and too many of them block the change."""
        user_id = require_user_id(call, user_data="password")
        body = await call.model_or_400(OwnPasswordForm, message="bad request data")
        login, address = call.identity.login, call.address
        is_blocked = throttle.is_blocked(login, address)
        # The attempt is counted before the check, so that concurrent guesses cannot exceed the limit together.
        throttle.record_failure(login, address)
        is_correct = len(body.old_password.encode()) <= MAX_PASSWORD_BYTES and await users.verify_password(user_id, body.old_password)
        # Also for a blocked login, the password is verified before, so that the response takes the same time.
        if is_blocked or not is_correct:
            raise BadRequest("Invalid old password")
        throttle.record_success(login, address)
        users.check_password(body.new_password, login, too_short_message="New password is too short")
        await users.set_password(call.actor, call.identity, user_id, body.new_password)
        return message_response("User password changed")

    async def readable_dashboard_uid(call: Call) -> str:
        """Return the uid of the dashboard in the path. Raises NotFound, also if the caller may not read it."""
        caller = call.identity
        # The path has either an id or a uid.
        dashboard_id = call.path_integer("id", "id is invalid") if "id" in call.parameters else None
        uid = call.parameters.get("uid", "")
        view = await policy.view(caller, caller.namespace)
        async with database.connection() as connection:
            dashboard = await access.find(connection, DASHBOARD, caller.namespace, uid, dashboard_id)
        if dashboard is None or not view.may(DASHBOARD.actions["get"], DASHBOARD, dashboard.name, dashboard.folder):
            raise NotFound("Dashboard not found")
        return dashboard.name

    async def star(call: Call) -> Response:
        user_id, caller = require_account_id(call, account_data="stars"), call.identity
        dashboard_uid = await readable_dashboard_uid(call)
        async with database.transaction() as connection:
            await persons.add_star(connection, user_id, caller.org_id, dashboard_uid)
            await audit.record(connection, call.actor, STAR, f"dashboard:{dashboard_uid}", org_id=caller.org_id)
        return message_response("Dashboard starred!")

    async def unstar(call: Call) -> Response:
        user_id = require_account_id(call, account_data="stars")
        # A star can be removed by uid even if the dashboard was deleted, or if the caller may no longer read it.
        dashboard_uid = call.parameters["uid"] if "uid" in call.parameters else await readable_dashboard_uid(call)
        async with database.transaction() as connection:
            await persons.remove_star(connection, user_id, call.identity.org_id, dashboard_uid)
            await audit.record(connection, call.actor, UNSTAR, f"dashboard:{dashboard_uid}", org_id=call.identity.org_id)
        return message_response("Dashboard unstarred")

    star_path, star_by_id_path = "/api/user/stars/dashboard/uid/{uid}", "/api/user/stars/dashboard/{id}"
    id_parameter = {"id": int}
    message_responses = {200: Message}
    return [
        Route(
            "GET",
            "/api/user",
            get_current,
            SIGNED_IN,
            Operation(
                "getSignedInUser",
                "the caller; the response to a legacy key has fewer members, because the key belongs to no user",
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
                "updateSignedInUser",
                "change login, e-mail, name or theme",
                TAG,
                request=UserForm,
                responses=message_responses,
                errors=(404, 409),
            ),
            audit=UPDATE,
        ),
        Route(
            "GET",
            "/api/login/ping",
            ping,
            SIGNED_IN,
            Operation("loginPing", "check the credentials", TAG, responses=message_responses),
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
                responses=message_responses,
                parameters={"orgId": int},
            ),
            audit=SWITCH_ORGANIZATION,
        ),
        Route(
            "PUT",
            "/api/user/password",
            change_password,
            SIGNED_IN,
            Operation(
                "changeUserPassword",
                "change the caller's password",
                TAG,
                request=OwnPasswordForm,
                responses=message_responses,
                errors=(404,),
            ),
            audit=PASSWORD,
            accepts_weak_passwords=True,
        ),
        Route(
            "POST",
            star_path,
            star,
            SIGNED_IN,
            Operation("starDashboardByUID", "star a dashboard", TAG, responses=message_responses, errors=(404,)),
            audit=STAR,
        ),
        Route(
            "DELETE",
            star_path,
            unstar,
            SIGNED_IN,
            Operation("unstarDashboardByUID", "remove a star, if there is one", TAG, responses=message_responses),
            audit=UNSTAR,
        ),
        Route(
            "POST",
            star_by_id_path,
            star,
            SIGNED_IN,
            Operation(
                "starDashboard",
                "star a dashboard by its id",
                TAG,
                responses=message_responses,
                parameters=id_parameter,
                errors=(404,),
                deprecated=True,
            ),
            audit=STAR,
        ),
        Route(
            "DELETE",
            star_by_id_path,
            unstar,
            SIGNED_IN,
            Operation(
                "unstarDashboard",
                "remove a star by the dashboard's id",
                TAG,
                responses=message_responses,
                parameters=id_parameter,
                errors=(404,),
                deprecated=True,
            ),
            audit=UNSTAR,
        ),
    ]
