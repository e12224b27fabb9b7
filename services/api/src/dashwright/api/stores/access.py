"""Rules of access as they are stored: each object may have a list of them, which goes with the object."""

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
    """An object that rules are set on; ``folder`` is None at the root."""

    uid: uuid.UUID
    name: str
    folder: str | None
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule, and how those are called whom it is about."""

    rule: Rule
    user_uid: str
    login: str
    email: str
    is_service_account: bool
    team_uid: str
    team: str
    created: datetime


async def tree(connection: Connection, namespace: str) -> Tree:
    """The folders of a namespace and every rule in it."""
    parents: dict[str, str | None] = {}
    lists: dict[ObjectKey, Rules] = {}
    for row in await connection.fetch(_sql.tree, namespace):
        if row["resource"] == FOLDER.plural:
            parents[row["name"]] = row["folder"]
        if row["users"] is not None:
            lists[row["resource"], row["name"]] = _rules(row)
    return Tree(parents, lists)


async def find(connection: Connection, kind: Kind, namespace: str, name: str, number: int | None = None) -> ProtectedObject | None:
    """An object by its name, or by the number that older clients know it by."""
    row = await connection.fetchrow(_sql.find, namespace, kind.group, kind.plural, name, number)
    return None if row is None else ProtectedObject(**row)


async def rules(connection: Connection, namespace: str, wanted: Collection[ObjectKey]) -> dict[ObjectKey, Sequence[StoredRule]]:
    """The rules of those of the objects that have a list of their own, the highest level first."""
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
    """Return those of the objects that have a list of their own, even an empty one."""
    return frozenset(row["uid"] for row in await connection.fetch(_sql.uids_with_rules, list(uids)))


async def names_team(connection: Connection, team_id: int) -> bool:
    """Return whether rules of access name a team."""
    is_named: bool = await connection.fetchval(_sql.names_team, team_id)
    return is_named


async def namespaces_of(connection: Connection, account_id: int) -> Sequence[str]:
    """Where a user or service account is named in rules, itself or by a team."""
    return [row["namespace"] for row in await connection.fetch(_sql.namespaces_of, account_id)]


async def hold_members(connection: Connection, org_id: int, numbers: Collection[int]) -> set[int]:
    """Those of the users and service accounts that are in an organization. They stay in it until the transaction ends."""
    return {row["user_id"] for row in await connection.fetch(_sql.hold_members, org_id, list(numbers))}


async def hold_teams(connection: Connection, org_id: int, numbers: Collection[int]) -> set[int]:
    """Those of the teams that are an organization's. They stay until the transaction ends."""
    return {row["id"] for row in await connection.fetch(_sql.hold_teams, org_id, list(numbers))}


async def replace(connection: Connection, kind: Kind, namespace: str, guarded: ProtectedObject, wanted: Rules) -> None:
    """Makes these the object's own list, and puts a mark into the change feed. Under the lock of objects."""
    columns = (
        [rule.user_id for rule in wanted],
        [rule.team_id for rule in wanted],
        [None if rule.role is None else rule.role.value for rule in wanted],
        [int(rule.level) for rule in wanted],
    )
    await connection.execute(_sql.put_list, guarded.uid, namespace, kind.plural, guarded.name)
    await connection.execute(_sql.retire, guarded.uid, *columns)
    await connection.execute(_sql.insert, guarded.uid, *columns)
    await connection.execute(_sql.note_change, namespace, guarded.name, guarded.uid)
    await connection.execute(_sql.notify_change)


def _rules(row: Any) -> Rules:
    return [_rule(*columns) for columns in zip(row["permissions"], row["users"], row["teams"], row["roles"], strict=True)]


def _rule(level: int, user_id: int | None, team_id: int | None, role: str | None) -> Rule:
    return Rule(Level(level), user_id or 0, team_id or 0, None if role is None else Role(role))
