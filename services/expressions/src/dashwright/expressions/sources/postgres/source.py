"""The PostgreSQL data source: ``rawSql`` with macros, run in a read-only transaction, as one frame."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil, isfinite
from typing import Any, Final

import asyncpg

from dashwright.common.errors import BadRequest, DeadlineExceeded
from dashwright.common.models.data_source_types import POSTGRESQL
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Field, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.postgres import series
from dashwright.expressions.sources.postgres.columns import ColumnBuilder, is_native
from dashwright.expressions.sources.postgres.connections import Connection, Connections
from dashwright.expressions.sources.postgres.errors import STATEMENT_ERRORS, statement_error
from dashwright.expressions.sources.postgres.guard import check_statement
from dashwright.expressions.sources.postgres.lexing import without_trailing_comments
from dashwright.expressions.sources.postgres.macros import Fill, MacroContext, expand
from dashwright.expressions.sources.postgres.variable_options import options_of
from dashwright.expressions.sources.source import PreparedQuery, Source

TYPES: Final = POSTGRESQL.names

HEALTHY: Final = "Database Connection OK"

_TIME_SERIES: Final = "time_series"
_FORMATS: Final = (_TIME_SERIES, "table")
_DEFAULT_INTERVAL_MS: Final = 1000
#: The limits of the statement that checks the health.
_MAX_HEALTH_BYTES: Final = 1 << 20
_HEALTH_TIMEOUT_SECONDS: Final = 10.0
#: The number of values that are read in one step, which takes a few milliseconds. Their Python objects are spread over the heap
#: of a worker that has run for some time. With 30,000 values, they need more of the processor's cache, and a sixth more time.
_BATCH_VALUES: Final = 10_000

#: The maximum duration of a statement if the deadline is later.
_MAX_STATEMENT_SECONDS: Final = 3600
#: PostgreSQL's settings ``lock_timeout`` and ``idle_in_transaction_session_timeout``.
_LOCK_TIMEOUT_SECONDS: Final = 5
_IDLE_TIMEOUT_SECONDS: Final = 30
#: The time that the server has to report a timeout, before this process gives up.
_TIMEOUT_MARGIN_SECONDS: Final = 0.5
_REDUCE_HINT: Final = "select fewer rows or columns, or group them"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _PostgresQuery:
    """A statement without macros, and the format of its result."""

    sql: str
    is_time_series: bool  #: Whether the rows become series; otherwise they are a table.
    fill: tuple[Fill, TimeRange] | None  #: The filling of gaps, and the range to fill; None for no filling.


class Postgres(Source):
    """One configured PostgreSQL data source. All data sources share ``connections``, which outlive this object."""

    def __init__(self, record: SourceRecord, connections: Connections) -> None:
        self._record = record
        self._connections = connections

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the result of the statement as one frame."""
        return await self._run(self._read(query, time_range), limits)

    def prepare(self, query: SourceQuery, time_range: TimeRange) -> PreparedQuery:
        """Return the query with the expanded statement as its key: queries whose macros yield the same SQL share a result."""
        postgres_query = self._read(query, time_range)
        return PreparedQuery(postgres_query, partial(self._run, postgres_query))

    async def _run(self, query: _PostgresQuery, limits: Limits) -> Sequence[Frame]:
        seconds = min(limits.deadline.remaining_seconds, _MAX_STATEMENT_SECONDS)
        try:
            async with asyncio.timeout(seconds + _TIMEOUT_MARGIN_SECONDS) as scope:
                columns, notices = await self._run_statement(query.sql, limits, seconds)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise DeadlineExceeded(
                f"the PostgreSQL server did not respond within {seconds:.3g} s; ask for a shorter time range, or make the statement faster"
            ) from error
        return await asyncio.to_thread(_frames, columns, query, limits, notices)

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Return the rows of a statement: the columns ``__value`` and ``__text``, or the values of all columns."""
        reference = {"type": POSTGRESQL.id, "uid": self._record.uid}
        query = SourceQuery.model_validate({"refId": "A", "datasource": reference, "rawSql": text, "format": "table"})
        frames = await self.query(query, time_range, limits)
        return options_of(frames[0]) if frames else []

    async def health(self) -> str:
        """Return a success message if the connection works. Raises the same errors as ``query``."""
        async with self._connections.acquire(self._record, _MAX_HEALTH_BYTES, _HEALTH_TIMEOUT_SECONDS) as (connection, _):
            try:
                await connection.fetchval("select 1", timeout=_HEALTH_TIMEOUT_SECONDS)
            except STATEMENT_ERRORS as error:
                raise statement_error(error, "select 1") from error
        return HEALTHY

    def _read(self, query: SourceQuery, time_range: TimeRange) -> _PostgresQuery:
        """Return the statement of a query with its macros replaced. Raises BadRequest if it is invalid."""
        properties = query.model_extra or {}
        raw_sql, result_format = properties.get("rawSql"), properties.get("format") or _TIME_SERIES
        if not isinstance(raw_sql, str) or not raw_sql.strip():
            raise BadRequest("the query has no statement; give it as a string in rawSql")
        if result_format not in _FORMATS:
            raise BadRequest(f"format {str(result_format)[:40]!r} is not supported; use {' or '.join(_FORMATS)}")
        interval_ms = query.interval_ms
        interval = int(interval_ms) if interval_ms is not None and isfinite(interval_ms) and interval_ms >= 1 else _DEFAULT_INTERVAL_MS
        has_timescaledb = self._record.json_data.get("timescaledb") is True
        expanded = expand(raw_sql, MacroContext(time_range, interval, has_timescaledb))
        check_statement(expanded.sql)
        fill = (expanded.fill, time_range) if expanded.fill and result_format == _TIME_SERIES else None
        return _PostgresQuery(expanded.sql, result_format == _TIME_SERIES, fill)

    async def _run_statement(self, sql: str, limits: Limits, seconds: float) -> tuple[list[ColumnBuilder], list[str]]:
        """Return the columns of the result, and notices for the user. Waits up to ``seconds`` for a connection."""
        async with self._connections.acquire(self._record, limits.source_bytes, seconds) as (connection, meter):
            statement = _Statement(connection, sql, limits)
            try:
                return await statement.run()
            except STATEMENT_ERRORS as error:
                if meter.is_exceeded:
                    raise limits.refusal("source_bytes", "the result has too many bytes", _REDUCE_HINT) from error
                raise statement_error(error, statement.original_sql) from error


class _Statement:
    """One run of one statement."""

    def __init__(self, connection: Connection, sql: str, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        #: The statement to which positions in errors refer, or empty after the statement was wrapped, which changes positions.
        self.original_sql = sql

    async def run(self) -> tuple[list[ColumnBuilder], list[str]]:
        """Return the columns, and notices for the user."""
        transaction = self._connection.transaction(readonly=True)
        await transaction.start()
        try:
            await self._connection.execute(self._settings())
            return await self._fetch()
        finally:
            # The transaction is never committed, so that no change persists. If the connection is lost, the server rolls back.
            with suppress(*STATEMENT_ERRORS):
                await transaction.rollback()

    def _settings(self) -> str:
        """Return the SQL that sets the timeouts of the transaction."""
        # Settings of the transaction rather than of the session also work with a connection pooler.
        remaining_seconds = self._limits.deadline.remaining_seconds
        # PostgreSQL takes 0 as no timeout.
        timeout_milliseconds = 0
        if isfinite(remaining_seconds):
            min_seconds = 0.001
            timeout_milliseconds = min(ceil(max(remaining_seconds, min_seconds) * 1000), _MAX_STATEMENT_SECONDS * 1000)
        return (
            f"set local statement_timeout = {timeout_milliseconds}; "
            f"set local lock_timeout = {_LOCK_TIMEOUT_SECONDS * 1000}; "
            f"set local idle_in_transaction_session_timeout = {_IDLE_TIMEOUT_SECONDS * 1000}"
        )

    async def _fetch(self) -> tuple[list[ColumnBuilder], list[str]]:
        """Return the columns, and notices for the user. Raises BadRequest for a statement with parameters or without columns, TooLarge."""
        # PostgreSQL prepares single statements only, so it refuses a second statement after a semicolon.
        prepared = await self._connection.prepare(self.original_sql)
        attributes = prepared.get_attributes()
        if prepared.get_parameters():
            raise BadRequest("the statement has a parameter such as $1, for which there is no value; write the value, or a macro")
        if not attributes:
            raise BadRequest("the statement returns no columns; begin it with SELECT, and give it something to select")
        if not all(map(is_native, attributes)):
            wrapped_sql = _with_casts(self.original_sql, attributes)
            self.original_sql = ""
            prepared = await self._connection.prepare(wrapped_sql)
        columns = [ColumnBuilder(item.name, item.type.name if is_native(item) else "text") for item in attributes]
        limits, row_count = self._limits, 0
        cursor = await prepared.cursor()
        max_batch_rows = max(1, _BATCH_VALUES // len(columns))
        has_more = True
        while has_more:
            # One row more than the limit is fetched, to see whether the limit is exceeded.
            batch_rows = min(max_batch_rows, limits.source_rows + 1 - row_count)
            batch = await cursor.fetch(batch_rows)
            has_more = len(batch) == batch_rows
            row_count += len(batch)
            allowed_rows = batch[: len(batch) - max(0, row_count - limits.source_rows)]
            if allowed_rows:
                for column, values in zip(columns, zip(*allowed_rows, strict=True), strict=True):
                    column.add(values)
            if row_count * len(columns) > limits.query_points:
                raise limits.refusal("query_points", f"the result has {row_count * len(columns)} values or more", _REDUCE_HINT)
            if row_count > limits.source_rows:
                limit = f"the {limits.source_rows} allowed (setting DASHWRIGHT_SOURCE_ROWS)"
                return columns, [f"the statement returned more rows than {limit}; the rest was omitted"]
        return columns, []


def _with_casts(sql: str, attributes: Sequence[asyncpg.Attribute]) -> str:
    """Return the statement wrapped in one that casts columns without a native type to text."""
    names = [f"c{index}" for index in range(len(attributes))]
    values = [name if is_native(item) else f"{name}::text" for name, item in zip(names, attributes, strict=True)]
    return f"select {', '.join(values)} from (\n{without_trailing_comments(sql)}\n) as answer({', '.join(names)})"  # noqa: S608 (the names are generated)


def _frames(columns: Sequence[ColumnBuilder], query: _PostgresQuery, limits: Limits, notices: list[str]) -> Sequence[Frame]:
    """Return the columns as one frame in the format of the query, with the notices and the query in its meta."""
    fields: list[Field] = [column.field() for column in columns]
    range_notices = [
        f"{column.out_of_range_count} timestamps in column {column.name} are outside the years 1677 to 2262 and became null"
        for column in columns
        if column.out_of_range_count
    ]
    meta: dict[str, Any] = {"executedQueryString": query.sql}
    if fields and not len(fields[0]):
        return [Frame(fields, meta=meta)]
    frame: Frame | FrameSet
    if query.is_time_series:
        frame = series.as_series(fields, query.fill[0] if query.fill else None, limits)
        meta |= series.WIDE_META if isinstance(frame, FrameSet) else {}
        if query.fill:
            frame, notices = _with_filled_gaps(frame, *query.fill, limits, notices)
    else:
        frame = Frame([_table_field(field) for field in fields])
    if warnings := [*notices, *range_notices]:
        meta["notices"] = [{"severity": "warning", "text": warning} for warning in warnings]
    return replace(frame, meta=meta) if isinstance(frame, FrameSet) else [replace(frame, meta=meta)]


def _with_filled_gaps(
    frame: Frame | FrameSet, fill: Fill, time_range: TimeRange, limits: Limits, notices: list[str]
) -> tuple[Frame | FrameSet, list[str]]:
    """Return the frame with filled gaps, and the notices. If that would take too many rows, the gaps remain, with a notice."""
    start, end = ((instant - _EPOCH) // timedelta(microseconds=1) * 1000 for instant in (time_range.start, time_range.end))
    row_count = series.filled_row_count(fill, start, end)
    if row_count > limits.source_rows:
        limit = f"the {limits.source_rows} allowed (setting DASHWRIGHT_SOURCE_ROWS)"
        notice = f"gaps were not filled: that would take {row_count} rows, more than {limit}"
        return frame, [*notices, notice]
    value_count = row_count * (len(frame.values) if isinstance(frame, FrameSet) else len(frame.fields))
    if value_count > limits.query_points:
        raise limits.refusal("query_points", f"after filling gaps, the result has {value_count} values", "choose a larger interval")
    return series.with_filled_gaps(frame, fill, start, end), notices


def _table_field(field: Field) -> Field:
    """Return a column of a table. Numbers in columns named ``time`` or ``timeend`` become times."""
    has_times = field.name == "time" or field.name.lower() == "timeend"
    return series.as_time(field) if has_times and field.type.is_numeric else field
