"""A PostgreSQL database as the source of an import."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import asyncpg

from dashwright.common.database.errors import CONNECT_ERRORS, database_label
from dashwright.common.errors import BadRequest
from dashwright.standalone.importing.fields import Row

#: Rows that are read in one round trip.
_BATCH_SIZE: Final = 200


class PostgresSource:
    """A read-only connection whose reads all see the same snapshot."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Self]:
        """Connect to a database. Raises BadRequest with the host and the name of the database if it cannot be read."""
        try:
            connection = await asyncpg.connect(url, timeout=10)
        except (*CONNECT_ERRORS, ValueError) as error:
            raise BadRequest(f"the database at {database_label(url)} cannot be reached: {error}") from error
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield cls(connection)
        except asyncpg.InsufficientPrivilegeError as error:
            raise BadRequest(f"the database at {database_label(url)} may not be read: {error}") from error
        finally:
            await connection.close()

    async def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; empty if there is no such table."""
        column_rows = await self._connection.fetch(
            "select attname from pg_attribute where attrelid = to_regclass(quote_ident($1)) and attnum > 0 and not attisdropped", table
        )
        return frozenset(row["attname"] for row in column_rows)

    async def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(await self._connection.fetchval(f"select count(*) from {_quote_identifier(table)}"))  # noqa: S608 - quoted

    async def rows(self, table: str, order: Sequence[str], where_in: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of a table, sorted by the columns in ``order``; see ``Source.rows``."""
        where_clause, values = ("", []) if where_in is None else (f"where {_quote_identifier(where_in[0])} = any($1)", [list(where_in[1])])
        statement = f"select * from {_quote_identifier(table)} {where_clause} order by {', '.join(map(_quote_identifier, order))}"  # noqa: S608 - quoted, bound
        async for row in self._connection.cursor(statement, *values, prefetch=_BATCH_SIZE):
            yield dict(row)


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
