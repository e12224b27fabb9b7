"""Routes for server admins: create, disable and delete users, and set their passwords and permissions."""

from typing import Final

from dashwright.api.accounts.users import CREATE, DELETE, DISABLE, ENABLE, LOGOUT, PASSWORD, PERMISSIONS, NewUser, Users
from dashwright.api.domain.names import stripped_text
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, legacy_500_response, message_response
from dashwright.api.http.routing import Handler, Operation, OrganizationScope, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.users import AdminCreateUserForm, PasswordForm, ServerAdminForm, UserCreated
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import CallerType

TAG: Final = "admin_users"
_BAD_BODY: Final = "bad request data"
_MAIN_ORG_ID: Final = 1
"""The organization of a new user for whom the request names none."""


def routes(users: Users) -> list[Route]:
    """Return the routes."""

    async def create(call: Call) -> Response:
        form = await call.model_or_400(AdminCreateUserForm, message=_BAD_BODY)
        login, email, name = stripped_text("login", form.login), stripped_text("email", form.email), stripped_text("name", form.name)
        if not login and not email:
            raise BadRequest("Validation error, need specify either username or email")
        users.check_password(form.password, login, email, too_short_message="Password is missing or too short")
        new_user = NewUser(login or email, email or login, name, form.password, form.org_id or _MAIN_ORG_ID)
        user_id, uid = await users.create(call.actor, new_user)
        return json_response(UserCreated(id=user_id, uid=uid, message="User created"))

    async def set_password(call: Call) -> Response:
        form = await call.model_or_400(PasswordForm, message=_BAD_BODY)
        user_id = _user_id(call)
        users.check_password(form.password, too_short_message="New password too short")
        try:
            await users.set_password(call.actor, call.authorized_identity, user_id, form.password)
        except NotFound:
            # Existing clients expect the status that Grafana returns.
            return legacy_500_response("Could not read user from database")
        return message_response("User password updated")

    async def set_permissions(call: Call) -> Response:
        form = await call.model_or_400(ServerAdminForm, message=_BAD_BODY)
        await users.set_server_admin(call.actor, call.authorized_identity, _user_id(call), is_admin=form.is_grafana_admin)
        return message_response("User permissions updated")

    async def delete(call: Call) -> Response:
        await users.remove(call.actor, call.authorized_identity, _user_id(call))
        return message_response("User deleted")

    async def disable(call: Call) -> Response:
        await users.set_disabled(call.actor, call.authorized_identity, _user_id(call), is_disabled=True)
        return message_response("User disabled")

    async def enable(call: Call) -> Response:
        await users.set_disabled(call.actor, call.authorized_identity, _user_id(call), is_disabled=False)
        return message_response("User enabled")

    async def log_out(call: Call) -> Response:
        user_id = _user_id(call)
        if call.identity.kind is CallerType.USER and call.identity.user_id == user_id:
            raise BadRequest("You cannot logout yourself")
        await users.log_out(call.actor, call.authorized_identity, user_id)
        return message_response("User logged out")

    user_path = "/api/admin/users/{id}"
    id_parameter: dict[str, type] = {"id": int}
    message_responses = {200: Message}

    def action_route(subpath: str, handler: Handler, action: str, operation_id: str, summary: str, audit: str) -> Route:
        """Return a route that changes a user without a body. ``action`` is the permission that it requires."""
        operation = Operation(operation_id, summary, TAG, responses=message_responses, parameters=id_parameter, errors=(404,))
        return Route("POST", f"{user_path}/{subpath}", handler, _user_permission(action), operation, audit=audit)

    return [
        Route(
            "POST",
            "/api/admin/users",
            create,
            Permission("users:create", "global.users:*", OrganizationScope.GLOBAL),
            Operation(
                "adminCreateUser",
                "create a user as Viewer of one organization",
                TAG,
                request=AdminCreateUserForm,
                responses={200: UserCreated},
                errors=(412,),
            ),
            audit=CREATE,
        ),
        Route(
            "PUT",
            f"{user_path}/password",
            set_password,
            _user_permission("users.password:write"),
            Operation(
                "adminUpdateUserPassword",
                "set a user's password; the status is 500 for an unknown user",
                TAG,
                request=PasswordForm,
                responses=message_responses,
                parameters=id_parameter,
            ),
            audit=PASSWORD,
        ),
        Route(
            "PUT",
            f"{user_path}/permissions",
            set_permissions,
            _user_permission("users.permissions:write"),
            Operation(
                "adminUpdateUserPermissions",
                "grant or revoke server admin rights",
                TAG,
                request=ServerAdminForm,
                responses=message_responses,
                parameters=id_parameter,
                errors=(404,),
            ),
            audit=PERMISSIONS,
        ),
        Route(
            "DELETE",
            user_path,
            delete,
            _user_permission("users:delete"),
            Operation("adminDeleteUser", "delete a user", TAG, responses=message_responses, parameters=id_parameter, errors=(404,)),
            audit=DELETE,
        ),
        action_route("disable", disable, "users:disable", "adminDisableUser", "disable a user, who can then not log in", DISABLE),
        action_route("enable", enable, "users:enable", "adminEnableUser", "enable a user, who can then log in again", ENABLE),
        action_route("logout", log_out, "users:logout", "adminLogoutUser", "reload a user's rights; there are no sessions to end", LOGOUT),
    ]


def _user_permission(action: str) -> Permission:
    return Permission(action, "global.users:{id}", OrganizationScope.GLOBAL)


def _user_id(call: Call) -> int:
    return call.path_integer("id", "id is invalid")
