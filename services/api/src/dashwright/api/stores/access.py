"""Stored access rules. Each object may have a list of rules, which is deleted with the object."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashwright.api.domain.access.tree import AccessTree, Level, ObjectKey, Rule, Rules
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER

_sql = load(__package__, "access.sql")


@dataclass(frozen=True, slots=True)
class ProtectedObject:
    """A folder or dashboard that access rules can be set on."""

    uid: uuid.UUID
    name: str
    #: None at the root.
    folder: str | None
    #: The numeric id of the object in the classic API.
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class StoredRule:
    """An access rule, with the names of its user or team. The names that a rule does not have are empty."""

    rule: Rule
    user_uid: str
    login: str
    email: str
    is_service_account: bool
    team_uid: str
    team: str
    created: datetime


async def tree(connection: Connection, namespace: str) -> AccessTree:
    """Return the folders of a namespace and every access rule in it."""
    parents: dict[str, str | None] = {}
    rules_by_object: dict[ObjectKey, Rules] = {}
    for row in await connection.fetch(_sql.tree, namespace):
        if row["resource"] == FOLDER.plural:
            parents[row["name"]] = row["folder"]
        # Null: the folder has no list of rules.
        if row["users"] is not None:
            rules_by_object[row["resource"], row["name"]] = _rules_of_row(row)
    return AccessTree(parents, rules_by_object)


async def find(connection: Connection, kind: Kind, namespace: str, name: str, numeric_id: int | None = None) -> ProtectedObject | None:
    """Return the object with the numeric id, or with the name if ``numeric_id`` is None. Returns None for an unknown object."""
    row = await connection.fetchrow(_sql.find, namespace, kind.group, kind.plural, name, numeric_id)
    return None if row is None else ProtectedObject(**row)


async def rules(connection: Connection, namespace: str, objects: Collection[ObjectKey]) -> dict[ObjectKey, Sequence[StoredRule]]:
    """Return the rules of ``objects`` by object, the highest level first. Objects without a list of rules are left out."""
    rules_by_object: dict[ObjectKey, list[StoredRule]] = {}
    rows = await connection.fetch(_sql.rules, namespace, [plural for plural, _ in objects], [name for _, name in objects])
    for row in rows:
        rule_list = rules_by_object.setdefault((row["resource"], row["name"]), [])
        # An empty list of rules has one row without a permission.
        if row["permission"] is not None:
            rule = _rule_of_columns(row["permission"], row["user_id"], row["team_id"], row["role"])
            account = row["user_uid"] or "", row["login"] or "", row["email"] or "", row["is_service_account"]
            rule_list.append(StoredRule(rule, *account, row["team_uid"] or "", row["team"] or "", row["created"]))
    return dict(rules_by_object)


async def uids_with_rules(connection: Connection, uids: Collection[uuid.UUID]) -> frozenset[uuid.UUID]:
    """Return the uids in ``uids`` whose objects have a list of rules, even an empty list."""
    return frozenset(row["uid"] for row in await connection.fetch(_sql.uids_with_rules, list(uids)))


async def is_team_referenced(connection: Connection, team_id: int) -> bool:
    """Return whether any access rule names a team."""
    is_referenced: bool = await connection.fetchval(_sql.is_team_referenced, team_id)
    return is_referenced


async def namespaces_of(connection: Connection, account_id: int) -> Sequence[str]:
    """Return the namespaces with a rule for a user or service account, or for one of its teams."""
    return [row["namespace"] for row in await connection.fetch(_sql.namespaces_of, account_id)]


async def lock_members(connection: Connection, org_id: int, ids: Collection[int]) -> set[int]:
    """Lock the memberships of accounts in an organization, and return the ids of the accounts that are members.

    The memberships cannot be deleted before the transaction ends.
    """
    return {row["user_id"] for row in await connection.fetch(_sql.lock_members, org_id, list(ids))}


async def lock_teams(connection: Connection, org_id: int, ids: Collection[int]) -> set[int]:
    """Lock teams against deletion until the transaction ends, and return the ids of those that belong to the organization."""
    return {row["id"] for row in await connection.fetch(_sql.lock_teams, org_id, list(ids))}


async def replace(connection: Connection, kind: Kind, namespace: str, target: ProtectedObject, new_rules: Rules) -> None:
    """Replace the own list of rules of ``target``, and write a change into the change feed.

    Call this under the lock of objects.
    """
    columns: dict[str, Any] = {
        "user_ids": [rule.user_id for rule in new_rules],
        "team_ids": [rule.team_id for rule in new_rules],
        "roles": [None if rule.role is None else rule.role.value for rule in new_rules],
        "levels": [int(rule.level) for rule in new_rules],
    }
    # The list has a row of its own, because an object with an empty list differs from an object without a list.
    await connection.execute(_sql.put_list, target.uid, namespace, kind.plural, target.name)
    await connection.execute(*_sql.bind("delete_all_except", uid=target.uid, **columns))
    await connection.execute(*_sql.bind("insert", uid=target.uid, **columns))
    await connection.execute(_sql.note_change, namespace, target.name, target.uid)


def _rules_of_row(row: Any) -> Rules:
    return [_rule_of_columns(*columns) for columns in zip(row["permissions"], row["users"], row["teams"], row["roles"], strict=True)]


def _rule_of_columns(level: int, user_id: int | None, team_id: int | None, role: str | None) -> Rule:
    return Rule(Level(level), user_id or 0, team_id or 0, None if role is None else Role(role))
