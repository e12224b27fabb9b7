"""Finds the data sources that the queries of a request name, and makes what asks them."""

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

BUILT_IN: Final[dict[str, Source]] = {testdata.TYPE: testdata.TestData()}
"""Sources that need no record, by their type, whatever the uid."""

Kinds = Mapping[str, Callable[[SourceRecord], Source]]
"""What makes the source of a record, by the record's type."""

SECONDS: Final = 20.0

_VARIABLE: Final = re.compile(r"\$\{?\w|\[\[\w")
"""How dashboards write a variable: ``${name}``, ``$name`` or ``[[name]]``."""


class Records(Protocol):
    """The data sources of organizations, with readable secrets. Raises SourceFailed for one whose secrets cannot be read."""

    async def find(self, org_id: int, uid: str) -> SourceRecord | None: ...

    async def uid_of(self, org_id: int, name: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class DataSource:
    """What answers a query, and within how many ``seconds``. ``record`` is None where the source is built in."""

    type: str
    source: Source
    seconds: float = math.inf
    record: SourceRecord | None = None

    @property
    def wait(self) -> float | None:
        """``seconds``, None where there is no end."""
        return None if math.isinf(self.seconds) else self.seconds


class Sources(Protocol):
    """Where the sources of a request are found."""

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> Sequence[DataSource | DashwrightError]:
        """For each query what answers it, or why nothing does."""
        ...


class Directory:
    """The sources that are built in, and those that the caller's organization has on record.

    ``seconds``: how long a source may take where its record does not say. Without ``testdata`` that source is refused.
    """

    def __init__(
        self, kinds: Kinds | None = None, records: Records | None = None, *, seconds: float = SECONDS, testdata: bool = True
    ) -> None:
        self._has_testdata = testdata
        self._kinds = kinds or {}
        self._records = records
        self._seconds = seconds

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Each data source is looked up once, however many of the queries name it."""
        references = [_reference(query) for query in queries]
        found = {reference: await self._find(*reference, context) for reference in dict.fromkeys(references)}
        return [found[reference] for reference in references]

    async def _find(self, kind: str, uid: str, context: QueryContext) -> DataSource | DashwrightError:
        if kind in BUILT_IN:
            return self._built_in(kind)
        if not uid:
            return BadRequest(
                f"the query names no data source but the type {kind!r:.80}; name its uid as datasource.uid "
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
        """By uid; saved panels of old name it by its name. What the caller may not query is not there, its secrets stay sealed."""
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
                "GET /api/datasources lists those there are, POST /api/datasources adds one"
            )
        return Forbidden(
            f"the data source {uid!r:.80} is not among those that you may query (permission datasources:query on datasources:uid:…); "
            "ask an administrator of the organization"
        )


def _reference(query: SourceQuery) -> tuple[str, str]:
    """What a data source is found by: its uid, unless its type needs none; saved panels hold types of old."""
    kind, uid = query.datasource.type, query.datasource.uid
    return (kind, "") if kind in BUILT_IN or not uid else ("", uid)


def _seconds(record: SourceRecord, default: float) -> float:
    """``jsonData.timeout``, which clients write as a number or as text."""
    try:
        chosen = float(record.json_data.get("timeout") or default)
    except (TypeError, ValueError):
        return default
    return chosen if 0 < chosen < math.inf else default


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
