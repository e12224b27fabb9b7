"""Connections to PostgreSQL: a small pool for each version of a record, created on first use and closed when unused.

Every connection is made to a checked address, as a checked role, and is reset before its next use.
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
from dashwright.expressions.sources.postgres.errors import CONNECTING, CONNECTION_ERRORS, refused
from dashwright.expressions.sources.postgres.guard import check_role
from dashwright.expressions.sources.postgres.meter import Meter, MeteredConnection, metered
from dashwright.expressions.sources.privacy import confidential_errors

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

#: Bytes that a server may send outside of statements with a limit of their own.
_IDLE_BYTES = 1 << 20


class Reach(Protocol):
    """Resolves hosts to addresses that may be connected to."""

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> Sequence[IPv4Address | IPv6Address]:
        """Return the allowed addresses of a host. Raises BadRequest or SourceFailed."""
        ...


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Limits of the pools. Times are in seconds."""

    connections: int = 4  #: To one data source.
    sources: int = 50  #: Data sources that have a pool at the same time.
    connect: float = 5.0
    idle: float = 60.0  #: After which an unused connection is closed.


class _Pool:
    """A pool and its use."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self.pool = pool
        self.users = 0  #: Callers that use it or wait for it.
        self.wanted = True  #: False once a newer version of the record was seen, or room was needed.


class Connections:
    """All connections of this process to PostgreSQL data sources."""

    def __init__(self, reach: Reach, sizes: PoolLimits | None = None) -> None:
        self._reach = reach
        self._sizes = sizes or PoolLimits()
        self._pools: OrderedDict[tuple[int, int, str], tuple[int, _Pool]] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lend(self, record: SourceRecord, limit: int, seconds: float) -> AsyncIterator[tuple[Connection, Meter]]:
        """Yield a connection on which the server may send ``limit`` bytes; wait for it up to ``seconds``.

        Raises BadRequest if the record or its role cannot be used, SourceFailed if the server cannot be reached,
        DeadlineExceeded if no connection became free, and Unavailable if all pools are in use. Errors of SQL pass as
        asyncpg's own.
        """
        with confidential_errors():
            entry = self._pool_of(record)
        entry.users += 1
        try:
            with confidential_errors():
                connection = await self._acquired(entry.pool, seconds)
            try:
                meter: Meter = connection.meter  # type: ignore[attr-defined]
                meter.start(limit)
                yield connection, meter
            finally:
                await self._returned(entry.pool, connection)
        finally:
            entry.users -= 1
            self._retire(entry)

    async def close(self) -> None:
        """Close all connections."""
        for _, entry in self._pools.values():
            entry.pool.terminate()
        self._pools.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)

    @property
    def pools(self) -> int:
        """The number of open pools."""
        return len(self._pools)

    async def _acquired(self, pool: "asyncpg.Pool[asyncpg.Record]", seconds: float) -> Connection:
        try:
            await pool  # opens it once; without connections that is free
            async with asyncio.timeout(seconds):
                return await pool.acquire()
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"none of the {self._sizes.connections} connections to the data source (setting DASHWRIGHT_SOURCE_CONNECTIONS) became free "
                f"within {seconds:.3g} s; send fewer queries at the same time"
            ) from error

    @staticmethod
    async def _returned(pool: "asyncpg.Pool[asyncpg.Record]", connection: Connection) -> None:
        # A connection that cannot be reset is closed by the pool; its user already has the result.
        with suppress(*CONNECTION_ERRORS):
            await pool.release(connection, timeout=5)

    def _pool_of(self, record: SourceRecord) -> _Pool:
        key = (record.org_id, record.id, record.uid)
        version, entry = self._pools.get(key, (record.version, None))
        if entry is not None and version == record.version:
            self._pools.move_to_end(key)
            return entry
        made = _Pool(self._new_pool(record))
        if entry is not None:
            self._drop(key)
        elif len(self._pools) >= self._sizes.sources:
            self._make_room()
        self._pools[key] = (record.version, made)
        return made

    def _make_room(self) -> None:
        for key, (_, entry) in self._pools.items():
            if not entry.users:
                self._drop(key)
                return
        raise Unavailable(
            f"{len(self._pools)} data sources are queried at the same time, the most that this process supports; try again in a moment"
        )

    def _drop(self, key: tuple[int, int, str]) -> None:
        _, entry = self._pools.pop(key)
        entry.wanted = False
        self._retire(entry)

    def _retire(self, entry: _Pool) -> None:
        if entry.wanted or entry.users:
            return
        task = asyncio.get_running_loop().create_task(_closed(entry.pool))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _new_pool(self, record: SourceRecord) -> "asyncpg.Pool[asyncpg.Record]":
        address = address_of(record)

        async def connect(*_: object, **options: Any) -> MeteredConnection:
            try:
                return await self._connected(address, options["loop"])
            except CONNECTING as error:
                raise refused(error, record, self._sizes.connect) from error

        return asyncpg.create_pool(
            min_size=0,
            max_size=self._sizes.connections,
            max_inactive_connection_lifetime=self._sizes.idle,
            connect=connect,
            connection_class=MeteredConnection,
            reset=_clear,
        )

    async def _connected(self, address: Address, loop: asyncio.AbstractEventLoop) -> MeteredConnection:
        """Return a connection to the first address of the host that responds.

        Raises what asyncpg raises, and BadRequest if the role may do too much.
        """
        async with asyncio.timeout(self._sizes.connect):
            places = await self._reach.resolve(address.host, address.port, encrypted=address.tls is not None)
            connection = metered(await _dialled(address, [str(place) for place in places], self._sizes.connect, loop))
            connection.meter.start(_IDLE_BYTES)
            try:
                await check_role(connection)
                await register_codecs(connection)
            except BaseException:
                connection.terminate()
                raise
            return connection


async def _dialled(address: Address, hosts: list[str], seconds: float, loop: asyncio.AbstractEventLoop) -> MeteredConnection:
    # Every parameter is given, so that asyncpg takes none from the environment: PGPASSWORD is not meant for data sources.
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
        statement_cache_size=0,  # statements differ by their times, and clearing a connection forgets them
        connection_class=MeteredConnection,
        loop=loop,
    )
    return connection


async def _clear(connection: "asyncpg.Connection[Any]") -> None:
    # A rollback does not undo everything that a statement may leave: advisory locks, settings, temporary tables.
    meter: Meter = connection.meter  # type: ignore[attr-defined]
    meter.start(_IDLE_BYTES)
    await connection.execute("discard all")


async def _closed(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    try:
        async with asyncio.timeout(5):
            await pool.close()
    except (TimeoutError, *CONNECTION_ERRORS):
        pool.terminate()
