"""The database to import: its tables by name, and their rows in batches. It is only read."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from dashwright.common.errors import BadRequest
from dashwright.standalone.importing.fields import Row
from dashwright.standalone.importing.postgres import PostgresSource
from dashwright.standalone.importing.sqlite import SqliteSource


class Source(Protocol):
    """A database with Grafana's schema."""

    async def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; empty if there is no such table."""
        ...

    async def count(self, table: str) -> int:
        """Return the number of rows of an existing table."""
        ...

    def rows(self, table: str, order: Sequence[str], where_in: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of an existing table, sorted by the columns in ``order``.

        ``where_in`` is a column and its permitted values. Without it, all rows are yielded.
        """
        ...


@asynccontextmanager
async def open_source(database: str) -> AsyncIterator[Source]:
    """Open ``postgres://…`` or the path of an SQLite file. Raises BadRequest if it cannot be read."""
    if database.startswith(("postgres://", "postgresql://")):
        async with PostgresSource.open(database) as source:
            yield source
    elif "://" in database:
        raise BadRequest("give the database as the path of an SQLite file or as postgres://user:password@host/name")
    else:
        async with SqliteSource.open(database) as source:
            yield source
