"""Repositories of a namespace, and the objects that they manage."""

import asyncio
from collections.abc import Sequence
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.models.provisioning import RepositorySpec, ResourceCount
from dashwright.common.models.repository_views import ResourceListItem

_sql = load(__package__, "repositories.sql")


async def specs(connection: Connection, namespace: str) -> Sequence[tuple[str, RepositorySpec]]:
    """Return the name and spec of every repository, sorted by name."""
    return [(row["name"], RepositorySpec.model_validate_json(row["spec"])) for row in await connection.fetch(_sql.all, namespace)]


async def counts(connection: Connection, namespace: str) -> Sequence[ResourceCount]:
    """Return the number of objects for each repository and kind. Objects that no repository manages come first."""
    return [
        ResourceCount(repository=row["repository"], group=row["api_group"], resource=row["resource"], count=row["count"])
        for row in await connection.fetch(_sql.counts, namespace)
    ]


async def managed_objects(connection: Connection, namespace: str, repository: str) -> Sequence[ResourceListItem]:
    """Return the objects that a repository manages: one for each file and folder of the repository."""
    rows = await connection.fetch(_sql.managed, namespace, repository)
    return await asyncio.to_thread(lambda: [_item(row) for row in rows])


def _item(row: Any) -> ResourceListItem:
    return ResourceListItem(
        path=row["source_path"] or "",
        group=row["api_group"],
        resource=row["resource"],
        name=row["name"],
        hash=row["source_checksum"] or "",
        time=row["written"],
        title=row["title"],
        folder=row["folder"],
    )
