"""Use cases on the access rules of folders and dashboards. The caller needs the level Admin on the object."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.tree import Level, ObjectKey, Rule, Rules
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.actor import Actor
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, audit, folders
from dashwright.api.stores.access import ProtectedObject, StoredRule
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.api.stores.folders import Ancestor
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import resources

DEFAULT_RULES: Final[Rules] = (Rule(Level.EDIT, role=Role.EDITOR), Rule(Level.VIEW, role=Role.VIEWER))
"""Rules of an object at the root that has no rule list of its own."""

_NOT_FOUND_MESSAGES: Final[Mapping[Kind, str]] = {FOLDER: "folder not found", DASHBOARD: "Dashboard not found"}
_HIDDEN_FOLDER: Final = Ancestor("", "", None)
"""The source, in responses, of rules that are inherited from a folder that the caller may not read."""
_MAX_RULES: Final = 1000
"""Limit on the rules of one object."""


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """A rule that applies to an object: its own, an inherited or a default rule."""

    rule: Rule
    stored_rule: StoredRule | None  #: None for a default rule.
    is_inherited: bool
    source: Ancestor | None = None  #: The folder that the rule is inherited from; None for own and default rules.


def update_event(kind: Kind) -> str:
    """Return the audit event of a change of rules."""
    return event_of(kind, "permissions.update")


class Permissions:
    """Use cases on the access rules of objects in the caller's organization."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def list_rules(
        self, caller: Identity, kind: Kind, name: str, numeric_id: int | None = None
    ) -> tuple[ProtectedObject, Sequence[EffectiveRule]]:
        """Return the object and every rule that applies to it: its own rules, then those of the folders above, the nearest first.

        In place of its own rules, an object without a rule list has a default rule for Admins. An inherited rule does not name its
        folder if the caller may not read that folder. Raises NotFound and Forbidden.
        """
        namespace = caller.namespace
        view = await self._policy.view(caller, namespace)
        async with self._database.connection() as connection:
            target = await _get(connection, kind, namespace, name, numeric_id)
            _require_permission(view, "read", kind, target)
            ancestors = [] if target.folder is None else await folders.ancestors(connection, namespace, target.folder)
            rules_by_object = await access.rules(
                connection, namespace, [(kind.plural, target.name), *((FOLDER.plural, folder.name) for folder in ancestors)]
            )
        return target, _effective_rules(view, (kind.plural, target.name), ancestors, rules_by_object)

    async def replace(self, actor: Actor, caller: Identity, kind: Kind, name: str, rules: Rules, numeric_id: int | None = None) -> None:
        """Replace the object's own rules. Raises NotFound, Forbidden, and BadRequest for users and teams outside the organization."""
        async with self._rules_transaction(caller, kind, name, numeric_id) as (connection, target, current_rules):
            await _check_holders(connection, actor.org_id, rules)
            await _replace_rules(connection, actor, kind, caller.namespace, target, current_rules, rules)

    async def set_rule(self, actor: Actor, caller: Identity, kind: Kind, name: str, rule: Rule) -> None:
        """Set the level of one user, team or role on an object; the level NONE removes the rule. Raises the errors of ``replace``.

        The first rule of an object at the root is stored together with the default rules, because a rule list replaces them.
        """
        async with self._rules_transaction(caller, kind, name) as (connection, target, current_rules):
            await _check_holders(connection, actor.org_id, [rule])
            if current_rules is None and rule.level is Level.NONE:
                return  # There is no rule to remove, and the default rules remain in force.
            default_rules = DEFAULT_RULES if target.folder is None else ()
            base_rules = default_rules if current_rules is None else current_rules
            new_rules = [other_rule for other_rule in base_rules if _holder(other_rule) != _holder(rule)]
            if rule.level > Level.NONE:
                new_rules.append(rule)
            await _replace_rules(connection, actor, kind, caller.namespace, target, current_rules, new_rules)

    @asynccontextmanager
    async def _rules_transaction(
        self, caller: Identity, kind: Kind, name: str, numeric_id: int | None = None
    ) -> AsyncIterator[tuple[Connection, ProtectedObject, Rules | None]]:
        """Open a transaction that locks the namespace. Yield it, the object, and the object's own rules (None: no rule list)."""
        namespace = caller.namespace
        view = await self._policy.view(caller, namespace)
        try:
            async with self._database.transaction() as connection:
                await resources.lock(connection, namespace)
                target = await _get(connection, kind, namespace, name, numeric_id)
                _require_permission(view, "write", kind, target)
                key = (kind.plural, target.name)
                stored_rules = (await access.rules(connection, namespace, [key])).get(key)
                yield connection, target, None if stored_rules is None else [stored.rule for stored in stored_rules]
        finally:
            # Even after a failure, since the commit may have happened although its confirmation was lost.
            self._policy.invalidate(namespace)


def check_rules(rules: Rules) -> None:
    """Raise BadRequest for too many rules, or for two rules about one user, team or role."""
    if len(rules) > _MAX_RULES:
        raise BadRequest(f"{len(rules)} rules are too many: one object may have at most {_MAX_RULES}; make teams of users")
    holders: set[str] = set()
    for rule in rules:
        if _holder(rule) in holders:
            raise BadRequest(f"{_holder(rule)} is named twice; one user, team or role has one level")
        holders.add(_holder(rule))


def _effective_rules(
    view: AccessView, key: ObjectKey, ancestors: Sequence[Ancestor], rules_by_object: Mapping[ObjectKey, Sequence[StoredRule]]
) -> list[EffectiveRule]:
    """Return the rules that apply to the object ``key``, in the order of ``list_rules``. ``ancestors`` are from the root downwards."""
    own_rules = rules_by_object.get(key)
    effective = [EffectiveRule(stored.rule, stored, is_inherited=False) for stored in own_rules or ()]
    if own_rules is None:
        effective.append(EffectiveRule(Rule(Level.ADMIN, role=Role.ADMIN), None, is_inherited=bool(ancestors)))
    for folder in reversed(ancestors):
        is_visible = view.may(FOLDER.actions["get"], FOLDER, folder.name, folder.parent)
        source = folder if is_visible else _HIDDEN_FOLDER
        inherited_rules = rules_by_object.get((FOLDER.plural, folder.name), ())
        effective += [EffectiveRule(stored.rule, stored, is_inherited=True, source=source) for stored in inherited_rules]
    # Default rules take the place of a missing rule list at the root: that of the topmost folder, or of an object at the root.
    top_key = (FOLDER.plural, ancestors[0].name) if ancestors else key
    if own_rules is None and top_key not in rules_by_object:
        effective += [EffectiveRule(rule, None, is_inherited=bool(ancestors)) for rule in DEFAULT_RULES]
    return effective


async def _replace_rules(
    connection: Connection, actor: Actor, kind: Kind, namespace: str, target: ProtectedObject, current_rules: Rules | None, new_rules: Rules
) -> None:
    """Store the own rules of an object with an audit event, unless they are unchanged."""
    if current_rules is not None and set(current_rules) == set(new_rules):
        return
    await access.replace(connection, kind, namespace, target, new_rules)
    details = {"rules": [f"{_holder(rule)} {rule.level.name.capitalize()}" for rule in new_rules]}
    await audit.record(connection, actor, update_event(kind), subject_of(kind, target.name), org_id=actor.org_id, details=details)


async def _get(connection: Connection, kind: Kind, namespace: str, name: str, numeric_id: int | None = None) -> ProtectedObject:
    """Return an object by its name, or by its numeric id if that is given. Raises NotFound."""
    target = await access.find(connection, kind, namespace, name, numeric_id)
    if target is None:
        raise NotFound(_NOT_FOUND_MESSAGES[kind])
    return target


def _require_permission(view: AccessView, verb: str, kind: Kind, target: ProtectedObject) -> None:
    """Raise Forbidden if the caller may not ``read`` or ``write`` (the verb) the rules of an object."""
    action = f"{kind.area}.permissions:{verb}"
    if not view.may(action, kind, target.name, target.folder):
        raise permission_denied(action)


async def _check_holders(connection: Connection, org_id: int, rules: Rules) -> None:
    """Raise BadRequest if a user or team of the rules does not belong to the organization."""
    user_ids = {rule.user_id for rule in rules if rule.user_id}
    if user_ids:
        member_ids = await access.lock_members(connection, org_id, user_ids)
        if user_ids - member_ids:
            raise BadRequest("user not found")
    team_ids = {rule.team_id for rule in rules if rule.team_id}
    if team_ids:
        existing_team_ids = await access.lock_teams(connection, org_id, team_ids)
        if team_ids - existing_team_ids:
            raise BadRequest("team not found")


def _holder(rule: Rule) -> str:
    """Return the user, team or role of a rule, such as ``team:7``."""
    if rule.role is not None:
        return f"role:{rule.role}"
    return f"team:{rule.team_id}" if rule.team_id else f"user:{rule.user_id}"
