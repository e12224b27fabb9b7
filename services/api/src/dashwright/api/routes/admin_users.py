"""Routes for server admins: create, disable and delete users, and set their passwords and permissions."""

from collections.abc import Awaitable, Callable
from typing import Final

from dashwright.api.accounts import users as events
from dashwright.api.accounts.users import NewUser, Users
from dashwright.api.domain.names import fitting
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import Operation, OrganizationView, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.users import AdminCreateUserForm, PasswordForm, ServerAdminForm, UserMade
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Caller

TAG: Final = "admin_users"
_BAD_BODY: Final = "bad request data"
_FIRST_ORG: Final = 1


def routes(use: Users) -> list[Route]:
    """Return the routes."""

    async def create(call: Call) -> Response:
        form = await call.fields(AdminCreateUserForm, fault=_BAD_BODY)
        login, email, name = fitting("login", form.login), fitting("email", form.email), fitting("name", form.name)
        if not login and not email:
            raise BadRequest("Validation error, need specify either username or email")
        use.check_password(form.password, login, email, short="Password is missing or too short")
        wanted = NewUser(login or email, email or login, name, form.password, form.org_id or _FIRST_ORG)
        user_id, uid = await use.create(call.actor, wanted)
        return json_response(UserMade(id=user_id, uid=uid, message="User created"))

    async def set_password(call: Call) -> Response:
        form = await call.fields(PasswordForm, fault=_BAD_BODY)
        user_id = _user(call)
        use.check_password(form.password, short="New password too short")
        try:
            await use.set_password(call.actor, call.evaluated, user_id, form.password)
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Could not read user from database")
        return message_response("User password updated")

    async def set_permissions(call: Call) -> Response:
        form = await call.fields(ServerAdminForm, fault=_BAD_BODY)
        await use.set_server_admin(call.actor, call.evaluated, _user(call), is_admin=form.is_grafana_admin)
        return message_response("User permissions updated")

    async def delete(call: Call) -> Response:
        await use.remove(call.actor, call.evaluated, _user(call))
        return message_response("User deleted")

    async def disable(call: Call) -> Response:
        await use.set_disabled(call.actor, call.evaluated, _user(call), is_disabled=True)
        return message_response("User disabled")

    async def enable(call: Call) -> Response:
        await use.set_disabled(call.actor, call.evaluated, _user(call), is_disabled=False)
        return message_response("User enabled")

    async def log_out(call: Call) -> Response:
        user_id = _user(call)
        if call.identity.kind is Caller.USER and call.identity.user_id == user_id:
            raise BadRequest("You cannot logout yourself")
        await use.log_out(call.actor, call.evaluated, user_id)
        return message_response("User logged out")

    one = "/api/admin/users/{id}"
    number: dict[str, type] = {"id": int}
    said = {200: Message}

    def act(path: str, handler: Callable[[Call], Awaitable[Response]], action: str, operation: str, summary: str, audit: str) -> Route:
        described = Operation(operation, summary, TAG, responses=said, parameters=number, errors=(404,))
        return Route("POST", f"{one}/{path}", handler, _needs(action), described, audit=audit)

    return [
        Route(
            "POST",
            "/api/admin/users",
            create,
            Permission("users:create", "global.users:*", OrganizationView.GLOBAL),
            Operation(
                "adminCreateUser",
                "create a user as Viewer of one organization",
                TAG,
                request=AdminCreateUserForm,
                responses={200: UserMade},
                errors=(412,),
            ),
            audit=events.CREATE,
        ),
        Route(
            "PUT",
            f"{one}/password",
            set_password,
            _needs("users.password:write"),
            Operation(
                "adminUpdateUserPassword",
                "set a user's password; an unknown user is 500",
                TAG,
                request=PasswordForm,
                responses=said,
                parameters=number,
            ),
            audit=events.PASSWORD,
        ),
        Route(
            "PUT",
            f"{one}/permissions",
            set_permissions,
            _needs("users.permissions:write"),
            Operation(
                "adminUpdateUserPermissions",
                "grant or revoke server admin rights",
                TAG,
                request=ServerAdminForm,
                responses=said,
                parameters=number,
                errors=(404,),
            ),
            audit=events.PERMISSIONS,
        ),
        Route(
            "DELETE",
            one,
            delete,
            _needs("users:delete"),
            Operation("adminDeleteUser", "delete a user", TAG, responses=said, parameters=number, errors=(404,)),
            audit=events.DELETE,
        ),
        act("disable", disable, "users:disable", "adminDisableUser", "disable a user, who can then not log in", events.DISABLE),
        act("enable", enable, "users:enable", "adminEnableUser", "enable a user, who can then log in again", events.ENABLE),
        act("logout", log_out, "users:logout", "adminLogoutUser", "reload a user's rights; there are no sessions to end", events.LOGOUT),
    ]


def _needs(action: str) -> Permission:
    return Permission(action, "global.users:{id}", OrganizationView.GLOBAL)


def _user(call: Call) -> int:
    return call.integer("id", "id is invalid")
