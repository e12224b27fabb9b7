"""Registry of data sources: finds the data source of a query, and creates the object that queries it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, SourceFailed
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores import data_sources
from dashwright.expressions.sources.catalog import PLACEHOLDER, Catalog, CatalogEntry
from dashwright.expressions.sources.source import Source
from dashwright.expressions.sources.testdata import source as testdata

#: Sources without a stored record, by type. A query may name the type only, without a uid.
BUILT_IN: Final[dict[str, Source]] = {testdata.TYPE: testdata.TestData()}

#: Functions that create the source of a record, by the record's type.
SourceFactories = Mapping[str, Callable[[SourceRecord], Source]]

#: The default timeout of a query.
TIMEOUT_SECONDS: Final = 20.0


class SourceRecords(Protocol):
    """The stored data sources of organizations. The methods raise SourceFailed if secrets cannot be decrypted."""

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        """Return the data source with that uid, or None."""
        ...

    async def uid_of(self, org_id: int, name: str) -> str | None:
        """Return the uid of the data source with that name, or None."""
        ...

    async def entries(self, org_id: int) -> Sequence[CatalogEntry]:
        """Return all data sources of an organization, by name."""
        ...


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data source that a query resolves to."""

    type: str
    source: Source
    timeout_seconds: float = math.inf  #: The timeout of a query.
    record: SourceRecord | None = None  #: None for a built-in source.

    @property
    def asyncio_timeout(self) -> float | None:
        """The timeout of a query as asyncio takes it: None if there is no limit."""
        return None if math.isinf(self.timeout_seconds) else self.timeout_seconds


class SourceResolver(Protocol):
    """An object that finds the data sources of queries."""

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> Sequence[DataSource | DashwrightError]:
        """Return the data source of each query, or the error if it cannot be found."""
        ...

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return the data sources of the caller's organization."""
        ...


class SourceRegistry:
    """The built-in sources, and the data sources that are stored for the caller's organization.

    ``seconds`` is the timeout of queries to data sources whose record has none. ``testdata`` enables the built-in test source.
    """

    def __init__(
        self,
        factories: SourceFactories | None = None,
        records: SourceRecords | None = None,
        *,
        seconds: float = TIMEOUT_SECONDS,
        testdata: bool = True,
    ) -> None:
        self._has_testdata = testdata
        self._factories = factories or {}
        self._records = records
        self._seconds = seconds

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the data source of each query. A data source that several queries name is looked up once."""
        references = [_reference(query) for query in queries]
        by_reference = {reference: await self._find(*reference, context) for reference in dict.fromkeys(references)}
        return [by_reference[reference] for reference in references]

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return the data sources of the caller's organization. ``can_query`` of each is True if the caller may query it."""
        if self._records is None:
            return Catalog()
        entries = await self._records.entries(context.org_id)
        return Catalog([replace(entry, can_query=context.may_query(entry.uid)) for entry in entries])

    async def _find(self, source_type: str, uid: str, context: QueryContext) -> DataSource | DashwrightError:
        """Return the data source of a reference (see ``_reference``), or the error if it cannot be found."""
        if source_type in BUILT_IN:
            return self._built_in(source_type)
        if not uid:
            return BadRequest(
                f"the query names the type {source_type!r:.80} but no data source; name its uid as datasource.uid "
                "(GET /api/datasources lists them)"
            )
        try:
            record = await self._record(uid, context)
        except SourceFailed as error:
            return error
        if record is None:
            return self._not_found(uid, context)
        if record.type in BUILT_IN:
            return self._built_in(record.type)
        create = self._factories.get(record.type)
        if create is None:
            supported = ", ".join([*BUILT_IN, *self._factories])
            return BadRequest(
                f"the data source {uid!r:.80} has the type {record.type!r:.80}, which is not supported; supported types are {supported}"
            )
        return DataSource(record.type, create(record), _timeout_seconds(record, self._seconds), record)

    def _built_in(self, source_type: str) -> DataSource | DashwrightError:
        if not self._has_testdata:
            return BadRequest(f"{source_type} is switched off on this server (setting DASHWRIGHT_TESTDATA); query another data source")
        return DataSource(source_type, BUILT_IN[source_type])

    async def _record(self, uid: str, context: QueryContext) -> SourceRecord | None:
        """Return the record with this uid, else the record with this name, because older panels contain names.

        Return None if the record is missing or the caller may not query it. Only the secrets of a returned record are decrypted.
        """
        if self._records is None:
            return None
        if context.may_query(uid) and (record := await self._records.find(context.org_id, uid)):
            return record
        uid_by_name = await self._records.uid_of(context.org_id, uid)
        if uid_by_name is None or not context.may_query(uid_by_name):
            return None
        return await self._records.find(context.org_id, uid_by_name)

    @staticmethod
    def _not_found(uid: str, context: QueryContext) -> DashwrightError:
        """Return the error of a uid that no data source has, or whose data source the caller may not query."""
        if PLACEHOLDER.search(uid):
            return BadRequest(
                f"the data source is the variable {uid!r:.80}, which has no value here; write the uid of a data source in its place "
                "(GET /api/datasources lists them)"
            )
        if uid == "default":
            return BadRequest(
                "'default' names no data source here; write the uid of the default data source (isDefault in GET /api/datasources)"
            )
        # Without ``uids``, the caller may query all data sources.
        if context.uids is None:
            return BadRequest(
                f"there is no data source with the uid (or name) {uid!r:.80} in this organization; "
                "GET /api/datasources lists them, POST /api/datasources adds one"
            )
        return Forbidden(
            f"the data source {uid!r:.80} is not among those that you may query (permission datasources:query on datasources:uid:…); "
            "ask an administrator of the organization"
        )


def _reference(query: SourceQuery) -> tuple[str, str]:
    """Return the type of a query's data source if it is built-in or the query has no uid, else the uid. The other item is empty."""
    source_type, uid = query.datasource.type, query.datasource.uid
    return (source_type, "") if source_type in BUILT_IN or not uid else ("", uid)


def _timeout_seconds(record: SourceRecord, default: float) -> float:
    """Return ``jsonData.timeout``, which clients write as a number or as a string; the default if it is missing or invalid."""
    try:
        seconds = float(record.json_data.get("timeout") or default)
    except (TypeError, ValueError):
        return default
    return seconds if 0 < seconds < math.inf else default


class StoredRecords:
    """The data sources in the database, with their secrets decrypted."""

    def __init__(self, database: Database, cipher: SecretCipher) -> None:
        self._database = database
        self._cipher = cipher

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        """Return the data source with that uid, or None."""
        async with self._database.connection() as connection:
            return await data_sources.find(connection, self._cipher, org_id, uid)

    async def uid_of(self, org_id: int, name: str) -> str | None:
        """Return the uid of the data source with that name, or None."""
        async with self._database.connection() as connection:
            record = await data_sources.get(connection, org_id, name=name)
        return None if record is None else record.uid

    async def entries(self, org_id: int) -> Sequence[CatalogEntry]:
        """Return all data sources of an organization, by name."""
        async with self._database.connection() as connection:
            stored = await data_sources.list_all(connection, org_id)
        return [
            CatalogEntry(
                source.uid,
                source.name,
                source.fields.type,
                is_default=source.fields.is_default,
                scrape_interval=str(source.fields.json_data.get("timeInterval") or ""),
            )
            for source in stored
        ]
