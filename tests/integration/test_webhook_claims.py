"""Repositories that a worker claims to maintain their hooks, over a real database."""

import asyncio
from datetime import timedelta

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.stores import hooks, resources

SPEC = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'
LEASE = timedelta(minutes=1)


async def test_a_repository_being_deleted_is_skipped(database: Database) -> None:
    """A repository that is being deleted delays neither other repositories nor the worker, and fails no claim afterwards."""
    async with database.transaction() as connection:
        for name in ("deleted", "kept"):
            write = resources.Write(REPOSITORY, name, SPEC, REPOSITORY.version, extract=Extract("R"))
            await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now())
    async with asyncio.timeout(10), database.transaction() as deleting:
        await resources.delete(deleting, REPOSITORY, "default", ["deleted"], actor="user:1")
        async with database.connection() as connection:
            claimed = await hooks.claim(connection, limit=10, lease=LEASE)
    assert [item.name for item in claimed] == ["kept"]
    # The other repository is still leased.
    async with database.connection() as connection:
        assert await hooks.claim(connection, limit=10, lease=LEASE) == []
