"""Access rules of folders and dashboards: as lists of the classic API, and one by one under ``/api/access-control``."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, get_args

from pydantic import Field

from dashwright.api.access.permissions import EffectiveRule, Permissions, check_rules, update_event
from dashwright.api.domain.access.tree import Level, Rule
from dashwright.api.domain.access.view import KINDS_WITH_RULES, actions_of
from dashwright.api.domain.times import format_time
from dashwright.api.domain.urls import avatar_url, dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.access_rules import Assignments, HeldPermission, LevelName, ObjectPermission, PermissionsDescribed
from dashwright.api.models.response import Message
from dashwright.api.stores.access import ProtectedObject
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.classic import ClassicBody, Text

_TAG: Final = "access_control"
_BAD_BODY: Final = "bad request data"
# Go's zero time, which clients recognise as missing.
_NEVER: Final = "0001-01-01T00:00:00Z"
_LEVELS: Final = {"": Level.NONE, "View": Level.VIEW, "Edit": Level.EDIT, "Admin": Level.ADMIN}
_ROLES: Final = {role.value: role for role in Role if role is not Role.NONE}


class PermissionItem(ClassicBody):
    """One of userId, teamId and role, and its permission: 1 view, 2 edit, 4 admin."""

    user_id: int = 0
    team_id: int = 0
    role: Text = ""
    #: 1 view, 2 edit, 4 admin.
    permission: int = Field(default=0)


class PermissionItems(ClassicBody):
    """All rules of an object."""

    items: list[PermissionItem]


class GivenPermission(ClassicBody):
    """``View``, ``Edit`` or ``Admin``; an empty text removes the permission."""

    #: ``View``, ``Edit`` or ``Admin``; empty: none.
    permission: Text = ""


class HolderPermission(GivenPermission):
    """The permission of one user, team or role."""

    user_id: int = 0
    team_id: int = 0
    built_in_role: Text = ""


class HolderPermissions(ClassicBody):
    """Permissions to set in one request."""

    permissions: list[HolderPermission]


Handle = Callable[[Call], Awaitable[Response]]


class _Handlers:
    """Handlers for one kind of object."""

    def __init__(self, permissions: Permissions, kind: Kind) -> None:
        self._permissions = permissions
        self._kind = kind

    async def list(self, call: Call) -> Response:
        guarded, found = await self._permissions.listed(call.identity, self._kind, *self._key(call))
        return json_response([_object_permission(self._kind, guarded, each) for each in found])

    async def replace(self, call: Call) -> Response:
        body = await call.fields(PermissionItems, fault=_BAD_BODY)
        rules = [_rule(item.user_id, item.team_id, item.role, _level(item.permission)) for item in body.items]
        check_rules(rules)
        name, number = self._key(call)
        await self._permissions.replace(call.actor, call.identity, self._kind, name, rules, number)
        return message_response(f"{self._kind.kind} permissions updated")

    async def list_held(self, call: Call) -> Response:
        _, found = await self._permissions.listed(call.identity, self._kind, *self._key(call))
        return json_response([_held_permission(self._kind, each) for each in found])

    async def replace_held(self, call: Call) -> Response:
        body = await call.fields(HolderPermissions, fault=_BAD_BODY)
        given = [(item, _named_level(item.permission)) for item in body.permissions]
        rules = [_rule(item.user_id, item.team_id, item.built_in_role, level) for item, level in given if level > Level.NONE]
        check_rules(rules)
        await self._permissions.replace(call.actor, call.identity, self._kind, call.parameters["uid"], rules)
        return message_response("Permissions updated")

    async def set_user(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, user_id=_number(call, "user_id", "user")))

    async def set_team(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, team_id=_number(call, "team_id", "team")))

    async def set_role(self, call: Call) -> Response:
        return await self._set(call, Rule(Level.NONE, role=_role(call.parameters["role"])))

    async def describe(self, _: Call) -> Response:
        return json_response(PermissionsDescribed(assignments=Assignments(), permissions=list(get_args(LevelName))))

    async def _set(self, call: Call, whom: Rule) -> Response:
        body = await call.fields(GivenPermission, fault=_BAD_BODY)
        level = _named_level(body.permission)
        await self._permissions.set_one(call.actor, call.identity, self._kind, call.parameters["uid"], whom._replace(level=level))
        return message_response("Permission removed" if level is Level.NONE else "Permission updated")

    def _key(self, call: Call) -> tuple[str, int | None]:
        """Return the name and the number in the path; one of them is given."""
        return ("", call.integer("id", "id is invalid")) if "id" in call.parameters else (call.parameters["uid"], None)


def routes(permissions: Permissions) -> list[Route]:
    """Return the routes of the access rules of folders and dashboards."""
    return [route for kind in KINDS_WITH_RULES for route in (*_classic(kind, permissions), *_control(kind, permissions))]


_CLASSIC_PLACES: Final = {
    FOLDER.kind: [("/api/folders/{uid}", "getFolderPermissionList", "updateFolderPermissions")],
    DASHBOARD.kind: [
        ("/api/dashboards/uid/{uid}", "getDashboardPermissionsListByUID", "updateDashboardPermissionsByUID"),
        ("/api/dashboards/id/{id}", "getDashboardPermissionsListByID", "updateDashboardPermissionsByID"),
    ],
}
"""Paths of the classic access rules by kind, with the ids of the operations that list and replace them."""


def _classic(kind: Kind, permissions: Permissions) -> list[Route]:
    handlers, read, write = _Handlers(permissions, kind), *_needs(kind)
    found: list[Route] = []
    for place, list_id, replace_id in _CLASSIC_PLACES[kind.kind]:
        types = {"id": int} if "{id}" in place else {}
        listing = Operation(
            list_id,
            f"who may do what with a {kind.singular}",
            f"{kind.plural}",
            responses={200: list[ObjectPermission]},
            parameters=types,
            errors=(404,),
        )
        replace = Operation(
            replace_id,
            f"replace the rules of a {kind.singular}",
            f"{kind.plural}",
            PermissionItems,
            {200: Message},
            parameters=types,
            errors=(404,),
        )
        found.append(Route("GET", f"{place}/permissions", handlers.list, read, listing))
        found.append(Route("POST", f"{place}/permissions", handlers.replace, write, replace, audit=update_event(kind)))
    return found


def _control(kind: Kind, permissions: Permissions) -> list[Route]:
    handlers, read, write = _Handlers(permissions, kind), *_needs(kind)
    root = f"/api/access-control/{kind.plural}"

    def operation(verb: str, summary: str, answer: Any, request: Any = None, **types: type) -> Operation:
        return Operation(f"{verb}{kind.kind}Access", summary, _TAG, request, {200: answer}, parameters=types, errors=(404,))

    def change(path: str, handle: Handle, described: Operation) -> Route:
        return Route("POST", f"{root}/{{uid}}{path}", handle, write, described, audit=update_event(kind))

    one = f"what %s may do with a {kind.singular}"
    return [
        Route("GET", f"{root}/description", handlers.describe, read, operation("describe", "which levels there are", PermissionsDescribed)),
        Route("GET", f"{root}/{{uid}}", handlers.list_held, read, operation("list", one % "everybody", list[HeldPermission])),
        change("", handlers.replace_held, operation("replace", f"replace the rules of a {kind.singular}", Message, HolderPermissions)),
        change("/users/{user_id}", handlers.set_user, operation("setUser", one % "one user", Message, GivenPermission, user_id=int)),
        change("/teams/{team_id}", handlers.set_team, operation("setTeam", one % "one team", Message, GivenPermission, team_id=int)),
        change("/builtInRoles/{role}", handlers.set_role, operation("setRole", one % "a role", Message, GivenPermission)),
    ]


def _needs(kind: Kind) -> tuple[Permission, Permission]:
    return (
        Permission(f"{kind.area}.permissions:read", by_object=True),
        Permission(f"{kind.area}.permissions:write", by_object=True),
    )


def _rule(user_id: int, team_id: int, role: str, level: Level) -> Rule:
    # A rule has exactly one holder.
    if sum(map(bool, (user_id, team_id, role))) != 1:
        raise BadRequest("each permission belongs to one user, one team or one role: give one of userId, teamId and the role")
    return Rule(level, user_id, team_id, _role(role) if role else None)


def _role(name: str) -> Role:
    role = _ROLES.get(name)
    if role is None:
        raise BadRequest(f"role {name[:40]!r} has no permissions of its own; give one of {', '.join(_ROLES)}")
    return role


def _level(number: int) -> Level:
    if number not in (Level.VIEW, Level.EDIT, Level.ADMIN):
        raise BadRequest(f"permission {number} is unknown: give 1 (view), 2 (edit) or 4 (admin)")
    return Level(number)


def _named_level(name: str) -> Level:
    level = _LEVELS.get(name)
    if level is None:
        raise BadRequest(f"permission {name[:40]!r} is unknown: give View, Edit, Admin or nothing")
    return level


def _number(call: Call, parameter: str, what: str) -> int:
    """Return a number of the path. A number that no object can have is reported like an unknown one."""
    # An overlong number is reported like an unknown one, since no object can have it.
    number = parse_integer(call.parameters[parameter])
    if not number:
        raise BadRequest(f"{what} not found")
    return number


def _object_permission(kind: Kind, guarded: ProtectedObject, each: EffectiveRule) -> ObjectPermission:
    stored, source = each.stored, each.source
    when = _NEVER if stored is None else format_time(stored.created)
    item = ObjectPermission(
        dashboard_id=guarded.number if kind is DASHBOARD else None,
        folder_id=guarded.number if kind is FOLDER else None,
        created=when,
        updated=when,
        role=each.rule.role,
        permission=int(each.rule.level),
        permission_name=_name_of(each.rule.level),
        uid=guarded.name if source is None else source.name,
        is_folder=kind is FOLDER or source is not None,
        inherited=each.is_inherited,
    )
    if stored is not None and each.rule.user_id:
        item.user_id, item.user_uid = each.rule.user_id, stored.user_uid
        item.user_login, item.user_email = stored.login, stored.email
        item.user_avatar_url = avatar_url(stored.email, stored.login)
    if stored is not None and each.rule.team_id:
        item.team_id, item.team_uid, item.team = each.rule.team_id, stored.team_uid, stored.team
        item.team_avatar_url = avatar_url("", stored.team)
    if source is None:
        address = folder_url if kind is FOLDER else dashboard_url
        item.title, item.slug, item.url = guarded.title, slug_of(guarded.title), address(guarded.name, guarded.title)
    elif source.name:
        item.title, item.slug, item.url = source.title, slug_of(source.title), folder_url(source.name, source.title)
    return item


def _held_permission(kind: Kind, each: EffectiveRule) -> HeldPermission:
    rule, stored = each.rule, each.stored
    whom = f"builtins:{rule.role.value.lower()}" if rule.role else f"teams:{rule.team_id}" if rule.team_id else f"users:{rule.user_id}"
    held = HeldPermission(
        role_name=f"managed:{whom}:permissions",
        is_managed=stored is not None,
        is_inherited=each.is_inherited,
        is_service_account=stored is not None and stored.is_service_account,
        built_in_role=rule.role,
        actions=list(actions_of(kind, rule.level)),
        permission=_name_of(rule.level),
    )
    if stored is not None and rule.user_id:
        held.user_id, held.user_login = rule.user_id, stored.login
    if stored is not None and rule.team_id:
        held.team_id, held.team = rule.team_id, stored.team
    return held


def _name_of(level: Level) -> LevelName:
    names: Sequence[LevelName] = get_args(LevelName)
    return next(name for name in names if _LEVELS[name] is level)
