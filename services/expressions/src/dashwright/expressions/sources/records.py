"""The data sources of organizations as they are stored, their secrets opened."""

from dashwright.common.database.pool import Database
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.secrets import SecretBox
from dashwright.common.stores import data_sources


class StoredRecords:
    def __init__(self, database: Database, box: SecretBox) -> None:
        self._database = database
        self._box = box

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        async with self._database.connection() as connection:
            return await data_sources.find(connection, self._box, org_id, uid)

    async def uid_of(self, org_id: int, name: str) -> str | None:
        async with self._database.connection() as connection:
            found = await data_sources.get(connection, org_id, name=name)
        return None if found is None else found.uid
