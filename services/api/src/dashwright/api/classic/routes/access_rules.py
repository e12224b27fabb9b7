"""Routes of the access rules of folders and dashboards, in two formats of Grafana.

The routes below an object, such as ``/api/folders/{uid}/permissions``, list and replace all rules. The routes below
``/api/access-control`` can also set the permission of a single user, team or role.
"""

from collections.abc import Sequence
from typing import Any, Final, get_args

from pydantic import Field

from dashwright.api.access.permissions import EffectiveRule, Permissions, check_rules, update_event
from dashwright.api.domain.access.tree import Level, Rule
from dashwright.api.domain.access.view import KINDS_WITH_RULES, actions_of
from dashwright.api.domain.times import ZERO_TIME, format_time
from dashwright.api.domain.urls import avatar_url, dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Handler, Operation, Permission, Route
from dashwright.api.models.access_rules import Assignments, HeldPermission, LevelName, ObjectPermission, PermissionsDescription
from dashwright.api.models.response import Message
from dashwright.api.stores.access import ProtectedObject
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.classic import ClassicBody, Text

_TAG: Final = "access_control"
"""Group of the operations in the description of the API."""
_BAD_BODY: Final = "bad request data"
"""Message of Grafana for an invalid body."""
_MAX_QUOTED_CHARACTERS: Final = 40
"""Largest number of characters of a name that an error quotes."""
_LEVELS: Final = {"": Level.NONE, "View": Level.VIEW, "Edit": Level.EDIT, "Admin": Level.ADMIN}
_ROLES: Final = {role.value: role for role in Role if role is not Role.NONE}


class PermissionItem(ClassicBody):
    """The permission of one user, team or role. Exactly one of ``user_id``, ``team_id`` and ``role`` is set."""

    user_id: int = 0
    team_id: int = 0
    role: Text = ""
    #: 1 view, 2 edit, 4 admin.
    permission: int = Field(default=0)


class PermissionItems(ClassicBody):
    """All access rules of a folder or dashboard."""

    items: list[PermissionItem]


class SetPermission(ClassicBody):
    """The permission of one user, team or role on a folder or dashboard. An empty string removes the permission."""

    #: ``View``, ``Edit`` or ``Admin``; an empty string for none.
    permission: Text = ""


class HolderPermission(SetPermission):
    """The permission of one user, team or role, which the members name."""

    user_id: int = 0
    team_id: int = 0
    built_in_role: Text = ""


class HolderPermissions(ClassicBody):
    """All permissions of users, teams and roles on a folder or dashboard. They replace the current ones."""

    permissions: list[HolderPermission]


class _Handlers:
    """Handlers for one kind of object."""

    def __init__(self, permissions: Permissions, kind: Kind) -> None:
        self._permissions = permissions
        self._kind = kind

    async def list(self, call: Call) -> Response:
        target, effective_rules = await self._permissions.list_rules(call.identity, self._kind, *self._name_or_id(call))
        return json_response([_object_permission(self._kind, target, effective_rule) for effective_rule in effective_rules])

    async def replace(self, call: Call) -> Response:
        body = await call.model_or_400(PermissionItems, message=_BAD_BODY)
        rules = [_rule(item.user_id, item.team_id, item.role, _level(item.permission)) for item in body.items]
        check_rules(rules)
        name, numeric_id = self._name_or_id(call)
        await self._permissions.replace(call.actor, call.identity, self._kind, name, rules, numeric_id)
        return message_response(f"{self._kind.kind} permissions updated")

    async def list_as_access_control(self, call: Call) -> Response:
        _, effective_rules = await self._permissions.list_rules(call.identity, self._kind, *self._name_or_id(call))
        return json_response([_access_control_permission(self._kind, effective_rule) for effective_rule in effective_rules])

    async def replace_as_access_control(self, call: Call) -> Response:
        body = await call.model_or_400(HolderPermissions, message=_BAD_BODY)
        rules: list[Rule] = []
        for item in body.permissions:
            level = _named_level(item.permission)
            # An item without a permission removes the rule of its holder: the new rules do not include it.
            if level > Level.NONE:
                rules.append(_rule(item.user_id, item.team_id, item.built_in_role, level))
        check_rules(rules)
        await self._permissions.replace(call.actor, call.identity, self._kind, call.parameters["uid"], rules)
        return message_response("Permissions updated")

    async def set_user(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, user_id=_path_id(call, "user_id", "user")))

    async def set_team(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, team_id=_path_id(call, "team_id", "team")))

    async def set_role(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, role=_role(call.parameters["role"])))

    async def describe(self, _: Call) -> Response:
        return json_response(PermissionsDescription(assignments=Assignments(), permissions=list(get_args(LevelName))))

    async def _set(self, call: Call, rule: Rule) -> Response:
        """Set the level in the body for the user, team or role of ``rule``, which has no level yet."""
        body = await call.model_or_400(SetPermission, message=_BAD_BODY)
        level = _named_level(body.permission)
        await self._permissions.set_rule(call.actor, call.identity, self._kind, call.parameters["uid"], rule._replace(level=level))
        return message_response("Permission removed" if level is Level.NONE else "Permission updated")

    def _name_or_id(self, call: Call) -> tuple[str, int | None]:
        """Return the name and the id of the object in the path: an empty name with an id, or a name without id."""
        return ("", call.path_integer("id", "id is invalid")) if "id" in call.parameters else (call.parameters["uid"], None)


def routes(permissions: Permissions) -> list[Route]:
    """Return the routes of the access rules of folders and dashboards."""
    return [
        route for kind in KINDS_WITH_RULES for route in (*_classic_routes(kind, permissions), *_access_control_routes(kind, permissions))
    ]


_CLASSIC_PATHS: Final = {
    FOLDER.kind: [("/api/folders/{uid}", "getFolderPermissionList", "updateFolderPermissions")],
    DASHBOARD.kind: [
        ("/api/dashboards/uid/{uid}", "getDashboardPermissionsListByUID", "updateDashboardPermissionsByUID"),
        ("/api/dashboards/id/{id}", "getDashboardPermissionsListByID", "updateDashboardPermissionsByID"),
    ],
}
"""Paths of objects in the classic API by kind, each with the ids of the operations that list and replace the access rules."""


def _classic_routes(kind: Kind, permissions: Permissions) -> list[Route]:
    """Return the routes below the objects of a kind."""
    handlers = _Handlers(permissions, kind)
    read, write = _permissions(kind)
    routes_of_kind: list[Route] = []
    for path, list_id, replace_id in _CLASSIC_PATHS[kind.kind]:
        parameter_types = {"id": int} if "{id}" in path else {}
        listing = Operation(
            list_id,
            f"the access rules of a {kind.singular}",
            f"{kind.plural}",
            responses={200: list[ObjectPermission]},
            parameters=parameter_types,
            errors=(404,),
        )
        replace = Operation(
            replace_id,
            f"replace the access rules of a {kind.singular}",
            f"{kind.plural}",
            PermissionItems,
            {200: Message},
            parameters=parameter_types,
            errors=(404,),
        )
        routes_of_kind.append(Route("GET", f"{path}/permissions", handlers.list, read, listing))
        routes_of_kind.append(Route("POST", f"{path}/permissions", handlers.replace, write, replace, audit=update_event(kind)))
    return routes_of_kind


def _access_control_routes(kind: Kind, permissions: Permissions) -> list[Route]:
    """Return the routes of a kind below ``/api/access-control``."""
    handlers = _Handlers(permissions, kind)
    read, write = _permissions(kind)
    root = f"/api/access-control/{kind.plural}"

    def new_operation(verb: str, summary: str, response_type: Any, request_type: Any = None, **parameter_types: type) -> Operation:
        responses = {200: response_type}
        return Operation(f"{verb}{kind.kind}Access", summary, _TAG, request_type, responses, parameters=parameter_types, errors=(404,))

    def write_route(path: str, handler: Handler, operation: Operation) -> Route:
        return Route("POST", f"{root}/{{uid}}{path}", handler, write, operation, audit=update_event(kind))

    summary_template = f"set the permission of %s on a {kind.singular}"
    return [
        Route(
            "GET",
            f"{root}/description",
            handlers.describe,
            read,
            new_operation("describe", "the permissions that exist", PermissionsDescription),
        ),
        Route(
            "GET",
            f"{root}/{{uid}}",
            handlers.list_as_access_control,
            read,
            new_operation("list", f"the permissions on a {kind.singular}", list[HeldPermission]),
        ),
        write_route(
            "",
            handlers.replace_as_access_control,
            new_operation("replace", f"replace the permissions on a {kind.singular}", Message, HolderPermissions),
        ),
        write_route(
            "/users/{user_id}",
            handlers.set_user,
            new_operation("setUser", summary_template % "a user", Message, SetPermission, user_id=int),
        ),
        write_route(
            "/teams/{team_id}",
            handlers.set_team,
            new_operation("setTeam", summary_template % "a team", Message, SetPermission, team_id=int),
        ),
        write_route(
            "/builtInRoles/{role}", handlers.set_role, new_operation("setRole", summary_template % "a role", Message, SetPermission)
        ),
    ]


def _permissions(kind: Kind) -> tuple[Permission, Permission]:
    """Return the permissions to read and to change the access rules of objects of a kind."""
    return (
        Permission(f"{kind.area}.permissions:read", object_rules_suffice=True),
        Permission(f"{kind.area}.permissions:write", object_rules_suffice=True),
    )


def _rule(user_id: int, team_id: int, role: str, level: Level) -> Rule:
    """Return a rule from the members of a body. Raises BadRequest unless they name exactly one user, team or role."""
    holder_count = sum(map(bool, (user_id, team_id, role)))
    if holder_count != 1:
        raise BadRequest("each permission belongs to one user, one team or one role: give one of userId, teamId and the role")
    return Rule(level, user_id, team_id, _role(role) if role else None)


def _role(name: str) -> Role:
    """Return a role that may have rules. Raises BadRequest for another name."""
    role = _ROLES.get(name)
    if role is None:
        raise BadRequest(f"role {name[:_MAX_QUOTED_CHARACTERS]!r} has no permissions of its own; give one of {', '.join(_ROLES)}")
    return role


def _level(permission: int) -> Level:
    """Return the level for Grafana's number of a permission. Raises BadRequest for another number."""
    if permission not in (Level.VIEW, Level.EDIT, Level.ADMIN):
        raise BadRequest(f"permission {permission} is unknown: give 1 (view), 2 (edit) or 4 (admin)")
    return Level(permission)


def _named_level(name: str) -> Level:
    """Return the level for Grafana's name of a permission, which is empty for NONE. Raises BadRequest for another name."""
    level = _LEVELS.get(name)
    if level is None:
        raise BadRequest(f"permission {name[:_MAX_QUOTED_CHARACTERS]!r} is unknown: give View, Edit, Admin or nothing")
    return level


def _path_id(call: Call, parameter: str, noun: str) -> int:
    """Return an id from the path. Raises BadRequest for a value that no user or team can have, with the message for an unknown id."""
    path_id = parse_integer(call.parameters[parameter])
    if not path_id:
        raise BadRequest(f"{noun} not found")
    return path_id


def _object_permission(kind: Kind, target: ProtectedObject, effective_rule: EffectiveRule) -> ObjectPermission:
    """Return a rule in the format of the routes below the objects. It names the folder that the rule is inherited from."""
    rule, stored_rule, source = effective_rule.rule, effective_rule.stored_rule, effective_rule.source
    created = ZERO_TIME if stored_rule is None else format_time(stored_rule.created)
    permission = ObjectPermission(
        dashboard_id=target.number if kind is DASHBOARD else None,
        folder_id=target.number if kind is FOLDER else None,
        created=created,
        updated=created,
        role=rule.role,
        permission=int(rule.level),
        permission_name=_level_name(rule.level),
        uid=target.name if source is None else source.name,
        is_folder=kind is FOLDER or source is not None,
        inherited=effective_rule.is_inherited,
    )
    if stored_rule is not None and rule.user_id:
        permission.user_id, permission.user_uid = rule.user_id, stored_rule.user_uid
        permission.user_login, permission.user_email = stored_rule.login, stored_rule.email
        permission.user_avatar_url = avatar_url(stored_rule.email, stored_rule.login)
    if stored_rule is not None and rule.team_id:
        permission.team_id, permission.team_uid, permission.team = rule.team_id, stored_rule.team_uid, stored_rule.team
        permission.team_avatar_url = avatar_url("", stored_rule.team)
    if source is None:
        url_of = folder_url if kind is FOLDER else dashboard_url
        permission.title, permission.slug, permission.url = target.title, slug_of(target.title), url_of(target.name, target.title)
    elif source.name:  # A folder that the caller may not read has no name.
        permission.title, permission.slug, permission.url = source.title, slug_of(source.title), folder_url(source.name, source.title)
    return permission


def _access_control_permission(kind: Kind, effective_rule: EffectiveRule) -> HeldPermission:
    """Return a rule in the format of the routes below ``/api/access-control``."""
    rule, stored_rule = effective_rule.rule, effective_rule.stored_rule
    permission = HeldPermission(
        role_name=f"managed:{_holder_name(rule)}:permissions",
        is_managed=stored_rule is not None,
        is_inherited=effective_rule.is_inherited,
        is_service_account=stored_rule is not None and stored_rule.is_service_account,
        built_in_role=rule.role,
        actions=list(actions_of(kind, rule.level)),
        permission=_level_name(rule.level),
    )
    if stored_rule is not None and rule.user_id:
        permission.user_id, permission.user_login = rule.user_id, stored_rule.login
    if stored_rule is not None and rule.team_id:
        permission.team_id, permission.team = rule.team_id, stored_rule.team
    return permission


def _holder_name(rule: Rule) -> str:
    """Return the holder of a rule in the format of the names of Grafana's managed roles, such as ``teams:7``."""
    if rule.role:
        return f"builtins:{rule.role.value.lower()}"
    return f"teams:{rule.team_id}" if rule.team_id else f"users:{rule.user_id}"


def _level_name(level: Level) -> LevelName:
    """Return Grafana's name of the permission for a level other than NONE."""
    names: Sequence[LevelName] = get_args(LevelName)
    return next(name for name in names if _LEVELS[name] is level)
