"""The shelf of stored objects: dashboards, folders, library panels, repositories."""

from dashwright.api.resources.pages import ListedPage
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import resources


class StoredObjects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, kind: Kind, namespace: str, name: str) -> resources.Stored:
        async with self._database.connection() as connection:
            return await resources.get(connection, kind, namespace, name)

    async def list_page(self, kind: Kind, namespace: str, version: str, after: str, limit: int) -> ListedPage:
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            page = await resources.list_page(connection, kind, namespace, after=after, limit=limit)
        return ListedPage([item.encode(version) for item in page.items], page.position, page.after, page.remaining)
