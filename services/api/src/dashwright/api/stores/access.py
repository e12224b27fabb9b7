"""Rules of access as they are stored: each object may have a list of them, which goes with the object."""

from typing import Any

from dashwright.api.domain.access.tree import Level, Listed, Rule, Rules, Tree
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import Role
from dashwright.common.kinds.registry import FOLDER

_sql = load(__package__, "access.sql")


async def tree(connection: Connection, namespace: str) -> Tree:
    """The folders of a namespace and every rule in it."""
    parents: dict[str, str | None] = {}
    lists: dict[Listed, Rules] = {}
    for row in await connection.fetch(_sql.tree, namespace):
        if row["resource"] == FOLDER.plural:
            parents[row["name"]] = row["folder"]
        if row["users"] is not None:
            lists[row["resource"], row["name"]] = _rules(row)
    return Tree(parents, lists)


def _rules(row: Any) -> Rules:
    columns = zip(row["permissions"], row["users"], row["teams"], row["roles"], strict=True)
    return [Rule(Level(level), user or 0, team or 0, None if role is None else Role(role)) for level, user, team, role in columns]
