"""Rules of access on folders and dashboards: shown, replaced, and set one by one. Who has level Admin on an object may do so."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.tree import Level, ObjectKey, Rule, Rules
from dashwright.api.domain.access.view import View
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, audit, folders
from dashwright.api.stores.access import ProtectedObject, StoredRule
from dashwright.api.stores.folders import Ancestor
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import resources

BY_ROLE: Final[Rules] = (Rule(Level.EDIT, role=Role.EDITOR), Rule(Level.VIEW, role=Role.VIEWER))
"""What holds at the root where nobody has set anything."""

_MISSING: Final[Mapping[Kind, str]] = {FOLDER: "folder not found", DASHBOARD: "Dashboard not found"}
_MOST: Final = 1000
"""Rules of one object."""


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """A rule that holds for an object. ``source`` is the folder above that it is set on, None where it is set on the object itself or
    on nothing; ``stored`` is None of what holds by default.
    """

    rule: Rule
    stored: StoredRule | None
    is_inherited: bool
    source: Ancestor | None = None


def update_event(kind: Kind) -> str:
    """What the audit calls a change of rules."""
    return event_of(kind, "permissions.update")


class Permissions:
    """Answers and changes the rules of objects in the caller's organization."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def listed(
        self, caller: Identity, kind: Kind, name: str, number: int | None = None
    ) -> tuple[ProtectedObject, Sequence[EffectiveRule]]:
        """The object, and every rule that holds for it: its own first, then those of the folders above, the nearest first.

        Where it has none of its own, that Admins may do everything comes first. The name of a folder that the caller may not read is
        not told. Raises NotFound, and Forbidden.
        """
        namespace = caller.namespace
        view = await self._policy.view(caller, namespace)
        async with self._database.connection() as connection:
            guarded = await _get(connection, kind, namespace, name, number)
            _check(view, "read", kind, guarded)
            way = [] if guarded.folder is None else await folders.ancestors(connection, namespace, guarded.folder)
            lists = await access.rules(connection, namespace, [(kind.plural, guarded.name), *((FOLDER.plural, step.name) for step in way)])
        return guarded, _shown(view, (kind.plural, guarded.name), way, lists)

    async def replace(self, actor: Actor, caller: Identity, kind: Kind, name: str, wanted: Rules, number: int | None = None) -> None:
        """Makes these the object's own rules. Raises NotFound, Forbidden, and BadRequest for who is not in the organization."""
        async with self._changing(caller, kind, name, number) as (connection, guarded, own):
            await _check_holders(connection, actor.org_id, wanted)
            await _write(connection, actor, kind, caller.namespace, guarded, own, wanted)

    async def set_one(self, actor: Actor, caller: Identity, kind: Kind, name: str, wanted: Rule) -> None:
        """Gives one user, team or role a level on an object, NONE takes it away. Raises as ``replace``.

        The first rule of an object at the root stands beside what the roles have there without it.
        """
        async with self._changing(caller, kind, name) as (connection, guarded, own):
            await _check_holders(connection, actor.org_id, [wanted])
            held = own if own is not None else BY_ROLE if guarded.folder is None else ()
            kept = [rule for rule in held if rule[1:] != wanted[1:]]
            if wanted.level > Level.NONE:
                kept.append(wanted)
            elif own is None:
                return
            await _write(connection, actor, kind, caller.namespace, guarded, own, kept)

    @asynccontextmanager
    async def _changing(
        self, caller: Identity, kind: Kind, name: str, number: int | None = None
    ) -> AsyncIterator[tuple[Connection, ProtectedObject, Rules | None]]:
        """A transaction under the lock of objects, the object, and the rules of its own, None where it has no list."""
        namespace = caller.namespace
        view = await self._policy.view(caller, namespace)
        try:
            async with self._database.transaction() as connection:
                await resources.lock(connection)
                guarded = await _get(connection, kind, namespace, name, number)
                _check(view, "write", kind, guarded)
                listed = (kind.plural, guarded.name)
                found = (await access.rules(connection, namespace, [listed])).get(listed)
                yield connection, guarded, None if found is None else [each.rule for each in found]
        finally:
            self._policy.forget(namespace)


def check_rules(wanted: Rules) -> None:
    """Raises BadRequest where somebody is named twice, or there are too many."""
    if len(wanted) > _MOST:
        raise BadRequest(f"{len(wanted)} rules are too many: at most {_MOST} may stand on one object; make teams of users")
    seen: set[tuple[object, ...]] = set()
    for rule in wanted:
        if rule[1:] in seen:
            raise BadRequest(f"{_said(rule).partition(' ')[0]} is named twice; one user, team or role has one level")
        seen.add(rule[1:])


def _shown(view: View, listed: ObjectKey, way: Sequence[Ancestor], lists: Mapping[ObjectKey, Sequence[StoredRule]]) -> list[EffectiveRule]:
    own = lists.get(listed)
    found = [EffectiveRule(each.rule, each, is_inherited=False) for each in own or ()]
    if own is None:
        found.append(EffectiveRule(Rule(Level.ADMIN, role=Role.ADMIN), None, is_inherited=bool(way)))
    for step in reversed(way):
        is_seen = view.may(FOLDER.actions["get"], FOLDER, step.name, step.parent)
        source = step if is_seen else Ancestor("", "", None)
        found += [EffectiveRule(each.rule, each, is_inherited=True, source=source) for each in lists.get((FOLDER.plural, step.name), ())]
    top = (FOLDER.plural, way[0].name) if way else listed
    if own is None and top not in lists:
        found += [EffectiveRule(rule, None, is_inherited=bool(way)) for rule in BY_ROLE]
    return found


async def _write(
    connection: Connection, actor: Actor, kind: Kind, namespace: str, guarded: ProtectedObject, own: Rules | None, wanted: Rules
) -> None:
    """What changes nothing leaves neither event nor mark."""
    if own is not None and set(own) == set(wanted):
        return
    await access.replace(connection, kind, namespace, guarded, wanted)
    what, details = subject_of(kind, guarded.name), {"rules": [_said(rule) for rule in wanted]}
    await audit.record(connection, actor, update_event(kind), what, org_id=actor.org_id, details=details)


async def _get(connection: Connection, kind: Kind, namespace: str, name: str, number: int | None = None) -> ProtectedObject:
    guarded = await access.find(connection, kind, namespace, name, number)
    if guarded is None:
        raise NotFound(_MISSING[kind])
    return guarded


def _check(view: View, verb: str, kind: Kind, guarded: ProtectedObject) -> None:
    action = f"{kind.area}.permissions:{verb}"
    if not view.may(action, kind, guarded.name, guarded.folder):
        raise permission_denied(action)


async def _check_holders(connection: Connection, org_id: int, wanted: Rules) -> None:
    users = {rule.user_id for rule in wanted if rule.user_id}
    if users and users - await access.hold_members(connection, org_id, users):
        raise BadRequest("user not found")
    teams = {rule.team_id for rule in wanted if rule.team_id}
    if teams and teams - await access.hold_teams(connection, org_id, teams):
        raise BadRequest("team not found")


def _said(rule: Rule) -> str:
    """``team:7 Edit``."""
    whom = f"role:{rule.role}" if rule.role is not None else f"team:{rule.team_id}" if rule.team_id else f"user:{rule.user_id}"
    return f"{whom} {rule.level.name.capitalize()}"
