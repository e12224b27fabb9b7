"""Access rules as they are stored: each object may have a list of them, which is deleted with the object."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashwright.api.domain.access.tree import Level, ObjectKey, Rule, Rules, Tree
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
    #: The number that older clients know the object by.
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class StoredRule:
    """An access rule, with the names of the user or team that it grants access to."""

    rule: Rule
    user_uid: str
    login: str
    email: str
    is_service_account: bool
    team_uid: str
    team: str
    created: datetime


async def tree(connection: Connection, namespace: str) -> Tree:
    """Return the folders of a namespace and every access rule in it."""
    parents: dict[str, str | None] = {}
    lists: dict[ObjectKey, Rules] = {}
    for row in await connection.fetch(_sql.tree, namespace):
        if row["resource"] == FOLDER.plural:
            parents[row["name"]] = row["folder"]
        if row["users"] is not None:
            lists[row["resource"], row["name"]] = _rules(row)
    return Tree(parents, lists)


async def find(connection: Connection, kind: Kind, namespace: str, name: str, number: int | None = None) -> ProtectedObject | None:
    """Return an object by its name or number, or None."""
    row = await connection.fetchrow(_sql.find, namespace, kind.group, kind.plural, name, number)
    return None if row is None else ProtectedObject(**row)


async def rules(connection: Connection, namespace: str, wanted: Collection[ObjectKey]) -> dict[ObjectKey, Sequence[StoredRule]]:
    """Return the rules of those ``wanted`` objects that have a list of their own, the highest level first."""
    found: dict[ObjectKey, list[StoredRule]] = {}
    rows = await connection.fetch(_sql.rules, namespace, [plural for plural, _ in wanted], [name for _, name in wanted])
    for row in rows:
        listed = found.setdefault((row["resource"], row["name"]), [])
        if row["permission"] is not None:
            rule = _rule(row["permission"], row["user_id"], row["team_id"], row["role"])
            user = row["user_uid"] or "", row["login"] or "", row["email"] or "", row["is_service_account"]
            listed.append(StoredRule(rule, *user, row["team_uid"] or "", row["team"] or "", row["created"]))
    return dict(found)


async def uids_with_rules(connection: Connection, uids: Collection[uuid.UUID]) -> frozenset[uuid.UUID]:
    """Return the uids of those objects that have a list of rules of their own, even an empty one."""
    return frozenset(row["uid"] for row in await connection.fetch(_sql.uids_with_rules, list(uids)))


async def names_team(connection: Connection, team_id: int) -> bool:
    """Return whether any access rule names a team."""
    is_named: bool = await connection.fetchval(_sql.names_team, team_id)
    return is_named


async def namespaces_of(connection: Connection, account_id: int) -> Sequence[str]:
    """Return the namespaces whose rules name a user or service account, directly or by a team."""
    return [row["namespace"] for row in await connection.fetch(_sql.namespaces_of, account_id)]


async def hold_members(connection: Connection, org_id: int, numbers: Collection[int]) -> set[int]:
    """Return those users and service accounts that are members of an organization, and lock their memberships.

    The memberships cannot be deleted before the transaction ends.
    """
    return {row["user_id"] for row in await connection.fetch(_sql.hold_members, org_id, list(numbers))}


async def hold_teams(connection: Connection, org_id: int, numbers: Collection[int]) -> set[int]:
    """Return those teams that belong to an organization, and keep them from being deleted until the transaction ends."""
    return {row["id"] for row in await connection.fetch(_sql.hold_teams, org_id, list(numbers))}


async def replace(connection: Connection, kind: Kind, namespace: str, guarded: ProtectedObject, wanted: Rules) -> None:
    """Replace the object's own list of rules, and write an entry into the change feed.

    Call it under the lock of objects.
    """
    columns = {
        "user_ids": [rule.user_id for rule in wanted],
        "team_ids": [rule.team_id for rule in wanted],
        "roles": [None if rule.role is None else rule.role.value for rule in wanted],
        "levels": [int(rule.level) for rule in wanted],
    }
    # The list has a row of its own, because an empty list differs from none.
    await connection.execute(_sql.put_list, guarded.uid, namespace, kind.plural, guarded.name)
    await connection.execute(*_sql.bind("retire", uid=guarded.uid, **columns))
    await connection.execute(*_sql.bind("insert", uid=guarded.uid, **columns))
    await connection.execute(_sql.note_change, namespace, guarded.name, guarded.uid)
    await connection.execute(_sql.notify_change)


def _rules(row: Any) -> Rules:
    return [_rule(*columns) for columns in zip(row["permissions"], row["users"], row["teams"], row["roles"], strict=True)]


def _rule(level: int, user_id: int | None, team_id: int | None, role: str | None) -> Rule:
    return Rule(Level(level), user_id or 0, team_id or 0, None if role is None else Role(role))
