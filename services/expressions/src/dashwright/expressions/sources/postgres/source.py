"""The PostgreSQL data source: ``rawSql`` with macros, run in a read-only transaction, as one frame."""

import asyncio
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, isfinite
from typing import Any, Final

import asyncpg

from dashwright.common.errors import BadRequest, DeadlineExceeded
from dashwright.common.models.data_source_types import POSTGRESQL
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Field, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.postgres import series
from dashwright.expressions.sources.postgres.columns import ColumnBuilder, is_native
from dashwright.expressions.sources.postgres.connections import Connection, Connections
from dashwright.expressions.sources.postgres.errors import CONNECTION_ERRORS, statement_error
from dashwright.expressions.sources.postgres.guard import check_statement
from dashwright.expressions.sources.postgres.lexing import without_trailing_comments
from dashwright.expressions.sources.postgres.macros import Fill, MacroContext, expand
from dashwright.expressions.sources.source import Source

TYPES: Final = POSTGRESQL.names

HEALTHY: Final = "Database Connection OK"

_FORMATS: Final = ("time_series", "table")
_DEFAULT_INTERVAL_MS: Final = 1000
_HEALTH_BYTES: Final = 1 << 20
_HEALTH_SECONDS: Final = 10.0
#: Cells that are read in one step, which takes some milliseconds.
_BATCH: Final = 30_000

_LOCK_SECONDS: Final = 5
_IDLE_SECONDS: Final = 30
_TIMEOUT_MARGIN_SECONDS: Final = 0.5
_REDUCE_HINT: Final = "select fewer rows or columns, or group them"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _PreparedQuery:
    """A statement as it is sent, and the form of its result."""

    sql: str
    as_series: bool
    fill: tuple[Fill, TimeRange] | None  #: How gaps are filled, and the range to fill; None for no filling.


class Postgres(Source):
    """One configured PostgreSQL data source. Its ``connections`` are shared with others and outlive it."""

    def __init__(self, record: SourceRecord, connections: Connections) -> None:
        self._record = record
        self._connections = connections

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the result of the statement as one frame."""
        prepared = self._prepared(query, time_range)
        seconds = min(limits.deadline.left, 3600)
        try:
            async with asyncio.timeout(seconds + _TIMEOUT_MARGIN_SECONDS) as scope:
                columns, notices = await self._rows(prepared.sql, limits, seconds)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise DeadlineExceeded(
                f"the PostgreSQL server did not respond within {seconds:.3g} s; ask for a shorter time range, or make the statement faster"
            ) from error
        return [await asyncio.to_thread(_frame, columns, prepared, limits, notices)]

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        """Return the expanded statement, so that queries whose macros yield the same SQL share a result."""
        return self._prepared(query, time_range)

    async def health(self) -> str:
        """Return a success message if the connection works. Raises like ``query``."""
        async with self._connections.lend(self._record, _HEALTH_BYTES, _HEALTH_SECONDS) as (connection, _):
            try:
                await connection.fetchval("select 1", timeout=_HEALTH_SECONDS)
            except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
                raise statement_error(error, "select 1") from error
        return HEALTHY

    def _prepared(self, query: SourceQuery, time_range: TimeRange) -> _PreparedQuery:
        properties = query.model_extra or {}
        raw, form = properties.get("rawSql"), properties.get("format") or _FORMATS[0]
        if not isinstance(raw, str) or not raw.strip():
            raise BadRequest("the query has no statement; give it as a string in rawSql")
        if form not in _FORMATS:
            raise BadRequest(f"format {str(form)[:40]!r} is not served; use {' or '.join(_FORMATS)}")
        interval_ms = query.interval_ms
        interval = int(interval_ms) if interval_ms is not None and isfinite(interval_ms) and interval_ms >= 1 else _DEFAULT_INTERVAL_MS
        has_timescaledb = self._record.json_data.get("timescaledb") is True
        expanded = expand(raw, MacroContext(time_range, interval, has_timescaledb))
        check_statement(expanded.sql)
        fill = (expanded.fill, time_range) if expanded.fill and form == _FORMATS[0] else None
        return _PreparedQuery(expanded.sql, form == _FORMATS[0], fill)

    async def _rows(self, sql: str, limits: Limits, seconds: float) -> tuple[list[ColumnBuilder], list[str]]:
        async with self._connections.lend(self._record, limits.source_bytes, seconds) as (connection, meter):
            statement = _Statement(connection, sql, limits)
            try:
                return await statement.run()
            except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
                if meter.exceeded:
                    raise limits.refusal("source_bytes", "the result has too many bytes", _REDUCE_HINT) from error
                raise statement_error(error, statement.shown) from error


class _Statement:
    """One run of one statement."""

    def __init__(self, connection: Connection, sql: str, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        #: The statement to which positions in errors refer; empty if the sent one is wrapped, which shifts positions.
        self.shown = sql

    async def run(self) -> tuple[list[ColumnBuilder], list[str]]:
        """Return the columns, and notices about them."""
        transaction = self._connection.transaction(readonly=True)
        await transaction.start()
        try:
            await self._connection.execute(self._settings())
            return await self._read()
        finally:
            # Never committed: a change that was not forbidden must not persist. A lost connection rolls back by itself.
            with suppress(*CONNECTION_ERRORS):
                await transaction.rollback()

    def _settings(self) -> str:
        # Set within the transaction, which also works through a connection pooler.
        left = ceil(max(self._limits.deadline.left, 0.001) * 1000) if isfinite(self._limits.deadline.left) else 0
        return (
            f"set local statement_timeout = {min(left, 3_600_000)}; set local lock_timeout = {_LOCK_SECONDS * 1000}; "
            f"set local idle_in_transaction_session_timeout = {_IDLE_SECONDS * 1000}"
        )

    async def _read(self) -> tuple[list[ColumnBuilder], list[str]]:
        # The protocol prepares a single statement, so a second one after a semicolon is refused.
        prepared = await self._connection.prepare(self.shown)
        attributes = prepared.get_attributes()
        if prepared.get_parameters():
            raise BadRequest("the statement has a parameter such as $1, for which there is no value; write the value, or a macro")
        if not attributes:
            raise BadRequest("the statement returns no columns; begin it with SELECT, and give it something to select")
        if not all(map(is_native, attributes)):
            within = _with_casts(self.shown, attributes)
            self.shown = ""
            prepared = await self._connection.prepare(within)
        columns = [ColumnBuilder(item.name, item.type.name if is_native(item) else "text") for item in attributes]
        limits, rows = self._limits, 0
        cursor = await prepared.cursor()
        size = max(1, _BATCH // len(columns))
        more = True
        while more:
            count = min(size, limits.source_rows + 1 - rows)
            batch = await cursor.fetch(count)
            more = len(batch) == count
            rows += len(batch)
            kept = batch[: len(batch) - max(0, rows - limits.source_rows)]
            if kept:
                for column, values in zip(columns, zip(*kept, strict=True), strict=True):
                    column.add(values)
            if rows * len(columns) > limits.query_points:
                raise limits.refusal("query_points", f"the result has {rows * len(columns)} values or more", _REDUCE_HINT)
            if rows > limits.source_rows:
                limit = f"the {limits.source_rows} allowed (setting DASHWRIGHT_SOURCE_ROWS)"
                return columns, [f"the statement returned more rows than {limit}; the rest was omitted"]
        return columns, []


def _with_casts(sql: str, attributes: Sequence[asyncpg.Attribute]) -> str:
    """Return the statement wrapped in one that casts columns without a native type to text."""
    names = [f"c{number}" for number in range(len(attributes))]
    values = [name if is_native(item) else f"{name}::text" for name, item in zip(names, attributes, strict=True)]
    return f"select {', '.join(values)} from (\n{without_trailing_comments(sql)}\n) as answer({', '.join(names)})"  # noqa: S608 (the names are generated)


def _frame(columns: Sequence[ColumnBuilder], prepared: _PreparedQuery, limits: Limits, notices: list[str]) -> Frame:
    fields: list[Field] = [column.field() for column in columns]
    out_of_range = [
        f"{column.out_of_range} timestamps in column {column.name} are outside the years 1677 to 2262 and became null"
        for column in columns
        if column.out_of_range
    ]
    meta: dict[str, Any] = {"executedQueryString": prepared.sql}
    if fields and not len(fields[0]):
        return Frame(fields, meta=meta)
    if prepared.as_series:
        fields, labelled = series.as_series(fields, prepared.fill[0] if prepared.fill else None, limits)
        meta |= series.WIDE if labelled else {}
        if prepared.fill:
            fields, notices = _filled(fields, *prepared.fill, limits, notices)
    else:
        fields = [_table_time(item) for item in fields]
    if texts := [*notices, *out_of_range]:
        meta["notices"] = [{"severity": "warning", "text": text} for text in texts]
    return Frame(fields, meta=meta)


def _filled(fields: list[Field], fill: Fill, time_range: TimeRange, limits: Limits, notices: list[str]) -> tuple[list[Field], list[str]]:
    start, end = ((instant - _EPOCH) // timedelta(microseconds=1) * 1000 for instant in (time_range.start, time_range.end))
    rows = series.points(fill, start, end)
    if rows > limits.source_rows:
        limit = f"the {limits.source_rows} allowed (setting DASHWRIGHT_SOURCE_ROWS)"
        text = f"gaps were not filled: that would take {rows} rows, more than {limit}"
        return fields, [*notices, text]
    if rows * len(fields) > limits.query_points:
        raise limits.refusal("query_points", f"after filling gaps, the result has {rows * len(fields)} values", "choose a larger interval")
    return series.filled(fields, fill, start, end), notices


def _table_time(item: Field) -> Field:
    """Return the column of a table, as timestamps if it holds numbers and is named ``time`` or ``timeend``."""
    if item.name == "time" or item.name.lower() == "timeend":
        return series.as_time(item) if item.type.is_numeric else item
    return item
