"""The database that is read: tables by their names, rows in batches, nothing ever written."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from dashwright.common.errors import BadRequest
from dashwright.standalone.importing.fields import Row
from dashwright.standalone.importing.postgres import PostgresSource
from dashwright.standalone.importing.sqlite import SqliteSource


class Source(Protocol):
    """A database laid out like Grafana's."""

    async def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no such table."""
        ...

    async def count(self, table: str) -> int:
        """The rows of a table that exists."""
        ...

    def rows(self, table: str, order: Sequence[str], among: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """The rows of a table that exists, in the order of these columns; those only where a column has one of some values."""
        ...


@asynccontextmanager
async def open_source(database: str) -> AsyncIterator[Source]:
    """Opens ``postgres://…`` or the path of an SQLite file. Raises BadRequest where neither can be read."""
    if database.startswith(("postgres://", "postgresql://")):
        async with PostgresSource.opened(database) as source:
            yield source
    elif "://" in database:
        raise BadRequest("the database is named by the path of an SQLite file or by postgres://user:password@host/name")
    else:
        async with SqliteSource.opened(database) as source:
            yield source
