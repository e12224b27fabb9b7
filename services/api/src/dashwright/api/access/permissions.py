"""Access rules of folders and dashboards: read, replaced as a list, and set one by one. This needs level Admin on the object."""

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
"""Access at the root by default, without a rule list on the object."""

_MISSING: Final[Mapping[Kind, str]] = {FOLDER: "folder not found", DASHBOARD: "Dashboard not found"}
_MOST: Final = 1000
"""The most rules of one object."""


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """A rule that applies to an object."""

    rule: Rule
    stored: StoredRule | None  #: None for a default rule.
    is_inherited: bool
    source: Ancestor | None = None  #: The folder above that the rule is set on; None for a rule of the object itself and for a default.


def update_event(kind: Kind) -> str:
    """Return the audit event of a change of rules."""
    return event_of(kind, "permissions.update")


class Permissions:
    """Use cases on the access rules of objects in the caller's organization."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def listed(
        self, caller: Identity, kind: Kind, name: str, number: int | None = None
    ) -> tuple[ProtectedObject, Sequence[EffectiveRule]]:
        """Return the object and every rule that applies to it: its own first, then those of the folders above, the nearest first.

        Without rules of its own, the first one is the default that Admins may do everything. The source is empty if the caller may
        not read that folder. Raises NotFound and Forbidden.
        """
        namespace = caller.namespace
        view = await self._policy.view(caller, namespace)
        async with self._database.connection() as connection:
            guarded = await _get(connection, kind, namespace, name, number)
            _check(view, "read", kind, guarded)
            way = [] if guarded.folder is None else await folders.ancestors(connection, namespace, guarded.folder)
            lists = await access.rules(connection, namespace, [(kind.plural, guarded.name), *((FOLDER.plural, step.name) for step in way)])
        return guarded, _effective_rules(view, (kind.plural, guarded.name), way, lists)

    async def replace(self, actor: Actor, caller: Identity, kind: Kind, name: str, wanted: Rules, number: int | None = None) -> None:
        """Replace the object's own rules. Raises NotFound, Forbidden, and BadRequest for users and teams outside the organization."""
        async with self._changing(caller, kind, name, number) as (connection, guarded, own):
            await _check_holders(connection, actor.org_id, wanted)
            await _write(connection, actor, kind, caller.namespace, guarded, own, wanted)

    async def set_one(self, actor: Actor, caller: Identity, kind: Kind, name: str, wanted: Rule) -> None:
        """Give one user, team or role a level on an object; NONE removes it. Raises what ``replace`` raises.

        The first rule of an object at the root is added to the defaults of the roles, which would otherwise be lost.
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
        """Open a transaction under the lock of objects. Yield it with the object and its own rules, None if it has no list."""
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
            # Also after a failure: the commit may have happened although its confirmation was lost.
            self._policy.forget(namespace)


def check_rules(wanted: Rules) -> None:
    """Raise BadRequest for too many rules, or for two rules about one user, team or role."""
    if len(wanted) > _MOST:
        raise BadRequest(f"{len(wanted)} rules are too many: one object may have at most {_MOST}; make teams of users")
    seen: set[tuple[object, ...]] = set()
    for rule in wanted:
        if rule[1:] in seen:
            raise BadRequest(f"{_rule_text(rule).partition(' ')[0]} is named twice; one user, team or role has one level")
        seen.add(rule[1:])


def _effective_rules(
    view: View, listed: ObjectKey, way: Sequence[Ancestor], lists: Mapping[ObjectKey, Sequence[StoredRule]]
) -> list[EffectiveRule]:
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
    if own is not None and set(own) == set(wanted):
        return
    await access.replace(connection, kind, namespace, guarded, wanted)
    what, details = subject_of(kind, guarded.name), {"rules": [_rule_text(rule) for rule in wanted]}
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


def _rule_text(rule: Rule) -> str:
    """Return a rule as text, such as ``team:7 Edit``."""
    whom = f"role:{rule.role}" if rule.role is not None else f"team:{rule.team_id}" if rule.team_id else f"user:{rule.user_id}"
    return f"{whom} {rule.level.name.capitalize()}"
