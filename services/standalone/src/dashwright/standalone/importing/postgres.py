"""A PostgreSQL database as the source of an import."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import asyncpg

from dashwright.common.database.losses import CONNECTING, place_of
from dashwright.common.errors import BadRequest
from dashwright.standalone.importing.fields import Row

_BATCH: Final = 200


class PostgresSource:
    """A read-only connection that sees everything as of one moment."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Self]:
        """Connect to a database. Raises BadRequest, naming host and database, if it cannot be read."""
        try:
            connection = await asyncpg.connect(url, timeout=10)
        except (*CONNECTING, ValueError) as error:
            raise BadRequest(f"the database at {place_of(url)} cannot be reached: {error}") from error
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield cls(connection)
        except asyncpg.InsufficientPrivilegeError as error:
            raise BadRequest(f"the database at {place_of(url)} may not be read: {error}") from error
        finally:
            await connection.close()

    async def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; empty if there is no such table."""
        found = await self._connection.fetch(
            "select attname from pg_attribute where attrelid = to_regclass(quote_ident($1)) and attnum > 0 and not attisdropped", table
        )
        return frozenset(row["attname"] for row in found)

    async def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(await self._connection.fetchval(f"select count(*) from {_named(table)}"))  # noqa: S608 - quoted

    async def rows(self, table: str, order: Sequence[str], among: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of a table."""
        where, values = ("", []) if among is None else (f"where {_named(among[0])} = any($1)", [list(among[1])])
        statement = f"select * from {_named(table)} {where} order by {', '.join(map(_named, order))}"  # noqa: S608 - quoted, bound
        async for row in self._connection.cursor(statement, *values, prefetch=_BATCH):
            yield dict(row)


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
