"""The shelf of stored objects: dashboards, folders, library panels, repositories."""

from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import resources


class StoredObjects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, kind: Kind, namespace: str, name: str) -> resources.Stored:
        async with self._database.connection() as connection:
            return await resources.get(connection, kind, namespace, name)
