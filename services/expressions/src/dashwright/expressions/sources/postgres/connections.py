"""Connections to PostgreSQL: a small pool for each data source, created on first use.

A new version of the data source's record replaces its pool. The address and the role of each connection are checked,
and a connection is reset before its next use.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Protocol, TypeAlias

import asyncpg
import asyncpg.pool

from dashwright.common.errors import DeadlineExceeded, Unavailable
from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.sources.postgres.address import Address, address_of
from dashwright.expressions.sources.postgres.columns import register_codecs
from dashwright.expressions.sources.postgres.errors import CONNECT_ERRORS, STATEMENT_ERRORS, connection_error
from dashwright.expressions.sources.postgres.guard import check_role
from dashwright.expressions.sources.postgres.meter import Meter, MeteredConnection, metered
from dashwright.expressions.sources.privacy import confidential_errors

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

#: The number of bytes that a server may send while no statement with its own limit runs.
_IDLE_BYTES = 1 << 20
#: The timeout of a reset of a connection, and of closing a pool.
_CLEANUP_TIMEOUT_SECONDS = 5


class Resolver(Protocol):
    """Resolver of hosts to addresses that may be connected to."""

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> Sequence[IPv4Address | IPv6Address]:
        """Return the allowed addresses of a host. Without encryption, fewer are allowed. Raises BadRequest or SourceFailed."""
        ...


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Limits of the pools. Times are in seconds."""

    connections: int = 4  #: The maximum number of connections to one data source.
    pools: int = 50  #: The maximum number of pools, that is, of data sources with connections.
    connect_timeout: float = 5.0
    idle_timeout: float = 60.0  #: The time after which an unused connection is closed.


class _PoolEntry:
    """A pool for one version of a data source's record, and whether the pool is still needed."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", record_version: int) -> None:
        self.pool = pool
        self.record_version = record_version
        self.user_count = 0  #: The number of callers that use a connection or wait for one.
        self.is_current = True  #: False after the pool was replaced or evicted. Such a pool is closed when it has no users.


class Connections:
    """All connections of this process to PostgreSQL data sources."""

    def __init__(self, resolver: Resolver, limits: PoolLimits | None = None) -> None:
        self._resolver = resolver
        self._limits = limits or PoolLimits()
        # By organization, id and uid of the record; the least recently used is first.
        self._entries: OrderedDict[tuple[int, int, str], _PoolEntry] = OrderedDict()
        self._closing_tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def acquire(self, record: SourceRecord, max_bytes: int, seconds: float) -> AsyncIterator[tuple[Connection, Meter]]:
        """Yield a connection on which the server may send ``max_bytes``. Waits for it up to ``seconds``.

        Raises BadRequest if the record or its role cannot be used, SourceFailed if the server cannot be reached,
        DeadlineExceeded if no connection becomes free, and Unavailable if all pools are in use. Errors of statements
        are those of asyncpg.
        """
        # Errors before the ``yield`` may reveal the settings of the data source. Errors of statements are for all callers.
        with confidential_errors():
            entry = self._entry_of(record)
        entry.user_count += 1
        try:
            with confidential_errors():
                connection = await self._acquire(entry.pool, seconds)
            try:
                meter: Meter = connection.meter  # type: ignore[attr-defined]
                meter.start(max_bytes)
                yield connection, meter
            finally:
                await self._release(entry.pool, connection)
        finally:
            entry.user_count -= 1
            self._close_if_unused(entry)

    async def close(self) -> None:
        """Close all connections."""
        for entry in self._entries.values():
            entry.pool.terminate()
        self._entries.clear()
        await asyncio.gather(*self._closing_tasks, return_exceptions=True)

    @property
    def pool_count(self) -> int:
        """The number of open pools."""
        return len(self._entries)

    async def _acquire(self, pool: "asyncpg.Pool[asyncpg.Record]", seconds: float) -> Connection:
        try:
            # Initializes the pool on first use, without opening a connection.
            await pool
            async with asyncio.timeout(seconds):
                return await pool.acquire()
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"none of the {self._limits.connections} connections to the data source (setting DASHWRIGHT_SOURCE_CONNECTIONS) became "
                f"free within {seconds:.3g} s; send fewer queries at the same time"
            ) from error

    @staticmethod
    async def _release(pool: "asyncpg.Pool[asyncpg.Record]", connection: Connection) -> None:
        # The pool closes a connection that cannot be reset. The error is ignored, because the user already has the result.
        with suppress(*STATEMENT_ERRORS):
            await pool.release(connection, timeout=_CLEANUP_TIMEOUT_SECONDS)

    def _entry_of(self, record: SourceRecord) -> _PoolEntry:
        """Return the pool of a record. It is created if it does not exist or belongs to another version of the record."""
        key = (record.org_id, record.id, record.uid)
        entry = self._entries.get(key)
        if entry is not None and entry.record_version == record.version:
            self._entries.move_to_end(key)
            return entry
        new_entry = _PoolEntry(self._new_pool(record), record.version)
        if entry is not None:
            self._remove(key)
        elif len(self._entries) >= self._limits.pools:
            self._evict_unused()
        self._entries[key] = new_entry
        return new_entry

    def _evict_unused(self) -> None:
        """Evict the least recently used pool without users. Raises Unavailable if all pools have users."""
        for key, entry in self._entries.items():
            if not entry.user_count:
                self._remove(key)
                return
        raise Unavailable(
            f"{len(self._entries)} data sources are queried at the same time, the most that this process supports; try again in a moment"
        )

    def _remove(self, key: tuple[int, int, str]) -> None:
        entry = self._entries.pop(key)
        entry.is_current = False
        self._close_if_unused(entry)

    def _close_if_unused(self, entry: _PoolEntry) -> None:
        if entry.is_current or entry.user_count:
            return
        task = asyncio.get_running_loop().create_task(_close(entry.pool))
        self._closing_tasks.add(task)
        task.add_done_callback(self._closing_tasks.discard)

    def _new_pool(self, record: SourceRecord) -> "asyncpg.Pool[asyncpg.Record]":
        address = address_of(record)

        # asyncpg passes the connection parameters of the pool, too. ``address`` has them all, except the loop.
        async def connect(*_: object, **options: Any) -> MeteredConnection:
            try:
                return await self._connect(address, options["loop"])
            except CONNECT_ERRORS as error:
                raise connection_error(error, record, self._limits.connect_timeout) from error

        return asyncpg.create_pool(
            min_size=0,
            max_size=self._limits.connections,
            max_inactive_connection_lifetime=self._limits.idle_timeout,
            connect=connect,
            connection_class=MeteredConnection,
            reset=_reset,
        )

    async def _connect(self, address: Address, loop: asyncio.AbstractEventLoop) -> MeteredConnection:
        """Return a connection to the first address of the host that responds.

        Raises the errors of asyncpg, and BadRequest if the role may do more than read.
        """
        async with asyncio.timeout(self._limits.connect_timeout):
            ip_addresses = await self._resolver.resolve(address.host, address.port, encrypted=address.tls is not None)
            connection = metered(
                await _open_connection(address, [str(ip_address) for ip_address in ip_addresses], self._limits.connect_timeout, loop)
            )
            connection.meter.start(_IDLE_BYTES)
            try:
                await check_role(connection)
                await register_codecs(connection)
            except BaseException:
                connection.terminate()
                raise
            return connection


async def _open_connection(address: Address, hosts: list[str], seconds: float, loop: asyncio.AbstractEventLoop) -> MeteredConnection:
    # All parameters are set, so that asyncpg reads none from the environment, such as PGPASSWORD.
    connection: MeteredConnection = await asyncpg.connect(
        host=hosts,
        port=[address.port] * len(hosts),
        user=address.user,
        password=address.password,
        database=address.database,
        ssl=address.tls or False,
        direct_tls=False,
        target_session_attrs=asyncpg.connect_utils.SessionAttribute.any,
        server_settings={"application_name": "dashwright"},
        timeout=seconds,
        statement_cache_size=0,  # The text of a statement contains its time range, and a reset deletes prepared statements.
        connection_class=MeteredConnection,
        loop=loop,
    )
    return connection


async def _reset(connection: "asyncpg.Connection[Any]") -> None:
    # A rollback does not undo advisory locks, settings and temporary tables.
    meter: Meter = connection.meter  # type: ignore[attr-defined]
    meter.start(_IDLE_BYTES)
    await connection.execute("discard all")


async def _close(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    """Close a pool and its connections, by force if that takes too long."""
    try:
        async with asyncio.timeout(_CLEANUP_TIMEOUT_SECONDS):
            await pool.close()
    except (TimeoutError, *STATEMENT_ERRORS):
        pool.terminate()
