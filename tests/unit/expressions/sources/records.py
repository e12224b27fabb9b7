"""Records of data sources, in memory."""

from collections.abc import Iterable
from typing import Any

from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.sources.catalog import CatalogEntry


class MemoryRecords:
    """Records in memory instead of a database. ``lookups`` has the organization and uid of every look-up."""

    def __init__(self, records: Iterable[SourceRecord] = ()) -> None:
        self.records = list(records)
        self.lookups: list[tuple[int, str]] = []

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        """Return the record with a uid, or None."""
        self.lookups.append((org_id, uid))
        return next((record for record in self.records if (record.org_id, record.uid) == (org_id, uid)), None)

    async def uid_of(self, org_id: int, name: str) -> str | None:
        """Return the uid of the data source with a name, or None."""
        return next((record.uid for record in self.records if (record.org_id, record.name) == (org_id, name)), None)

    async def entries(self, org_id: int) -> list[CatalogEntry]:
        """Return an entry for each data source of an organization."""
        return [CatalogEntry(record.uid, record.name, record.type) for record in self.records if record.org_id == org_id]


def source_record(url: str, uid: str = "prom", **fields: Any) -> SourceRecord:
    """Return the record of a data source, by default a Prometheus of organization 1."""
    return SourceRecord(**{"id": 1, "org_id": 1, "uid": uid, "name": f"name of {uid}", "type": "prometheus", "url": url, **fields})
