"""Lookup of the data sources that queries name, and creation of the sources that query them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, SourceFailed
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.common.secrets import SecretBox
from dashwright.common.stores import data_sources
from dashwright.expressions.sources.source import Source
from dashwright.expressions.sources.testdata import source as testdata

#: Sources that need no record, by their type; the uid does not matter.
BUILT_IN: Final[dict[str, Source]] = {testdata.TYPE: testdata.TestData()}

#: Creates the source of a record, by the record's type.
Kinds = Mapping[str, Callable[[SourceRecord], Source]]

SECONDS: Final = 20.0

#: A variable of a dashboard: ``${name}``, ``$name`` or ``[[name]]``.
_VARIABLE: Final = re.compile(r"\$\{?\w|\[\[\w")


class Records(Protocol):
    """The data sources of organizations with readable secrets. Methods raise SourceFailed if secrets cannot be read."""

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        """Return the data source with that uid, or None."""
        ...

    async def uid_of(self, org_id: int, name: str) -> str | None:
        """Return the uid of the data source with that name, or None."""
        ...


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data source that a query resolves to."""

    type: str
    source: Source
    seconds: float = math.inf  #: Longest duration of a query.
    record: SourceRecord | None = None  #: None for a built-in source.

    @property
    def wait(self) -> float | None:
        """The number of ``seconds``, or None if there is no limit."""
        return None if math.isinf(self.seconds) else self.seconds


class Sources(Protocol):
    """Resolves the data sources of a request."""

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> Sequence[DataSource | DashwrightError]:
        """Return, for each query, its data source or the error why it has none."""
        ...


class Directory:
    """The built-in sources, and those on record for the caller's organization.

    ``seconds`` is the longest duration of a query if its record names none. Without ``testdata`` that source is
    refused.
    """

    def __init__(
        self, kinds: Kinds | None = None, records: Records | None = None, *, seconds: float = SECONDS, testdata: bool = True
    ) -> None:
        self._has_testdata = testdata
        self._kinds = kinds or {}
        self._records = records
        self._seconds = seconds

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the data source of each query. Each is looked up once, however many queries name it."""
        references = [_reference(query) for query in queries]
        found = {reference: await self._find(*reference, context) for reference in dict.fromkeys(references)}
        return [found[reference] for reference in references]

    async def _find(self, kind: str, uid: str, context: QueryContext) -> DataSource | DashwrightError:
        if kind in BUILT_IN:
            return self._built_in(kind)
        if not uid:
            return BadRequest(
                f"the query names the type {kind!r:.80} but no data source; name its uid as datasource.uid "
                "(GET /api/datasources lists them)"
            )
        try:
            record = await self._record(uid, context)
        except SourceFailed as error:
            return error
        if record is None:
            return self._unknown(uid, context)
        if record.type in BUILT_IN:
            return self._built_in(record.type)
        make = self._kinds.get(record.type)
        if make is None:
            served = ", ".join([*BUILT_IN, *self._kinds])
            return BadRequest(f"the data source {uid!r:.80} has the type {record.type!r:.80}, which is not served; served are {served}")
        return DataSource(record.type, make(record), _seconds(record, self._seconds), record)

    def _built_in(self, kind: str) -> DataSource | DashwrightError:
        if not self._has_testdata:
            return BadRequest(f"{kind} is switched off on this server (setting DASHWRIGHT_TESTDATA); query another data source")
        return DataSource(kind, BUILT_IN[kind])

    async def _record(self, uid: str, context: QueryContext) -> SourceRecord | None:
        """Return the record by uid, or by name as older panels have it.

        A record that the caller may not query is treated as missing, and its secrets stay sealed.
        """
        if self._records is None:
            return None
        if context.may_query(uid) and (record := await self._records.find(context.org_id, uid)):
            return record
        named = await self._records.uid_of(context.org_id, uid)
        return await self._records.find(context.org_id, named) if named is not None and context.may_query(named) else None

    @staticmethod
    def _unknown(uid: str, context: QueryContext) -> DashwrightError:
        if _VARIABLE.search(uid):
            return BadRequest(
                f"the data source is the variable {uid!r:.80}, which has no value here; write the uid of a data source in its place "
                "(GET /api/datasources lists them)"
            )
        if uid == "default":
            return BadRequest(
                "'default' names no data source here; write the uid of the one that is the default (isDefault in GET /api/datasources)"
            )
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
    """Return what a data source is found by: its uid, unless its type needs none."""
    kind, uid = query.datasource.type, query.datasource.uid
    return (kind, "") if kind in BUILT_IN or not uid else ("", uid)


def _seconds(record: SourceRecord, default: float) -> float:
    """Return ``jsonData.timeout``, which clients write as a number or as text, else the default."""
    try:
        chosen = float(record.json_data.get("timeout") or default)
    except (TypeError, ValueError):
        return default
    return chosen if 0 < chosen < math.inf else default


class StoredRecords:
    """The data sources in the database, with their secrets decrypted."""

    def __init__(self, database: Database, box: SecretBox) -> None:
        self._database = database
        self._box = box

    async def find(self, org_id: int, uid: str) -> SourceRecord | None:
        """Return the data source with that uid, or None."""
        async with self._database.connection() as connection:
            return await data_sources.find(connection, self._box, org_id, uid)

    async def uid_of(self, org_id: int, name: str) -> str | None:
        """Return the uid of the data source with that name, or None."""
        async with self._database.connection() as connection:
            found = await data_sources.get(connection, org_id, name=name)
        return None if found is None else found.uid
