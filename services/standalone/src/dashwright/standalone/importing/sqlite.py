"""An SQLite file as the source of an import."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from dashwright.common.errors import BadRequest
from dashwright.standalone.importing.fields import Row

#: Rows that are read in one call of a thread.
_BATCH_SIZE: Final = 200


class SqliteSource:
    """A file opened read-only; a server may continue to write to it. Statements run in threads, one at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def open(cls, path: str) -> AsyncIterator[Self]:
        """Open a file. Raises BadRequest if it is not a readable SQLite file."""
        if not await asyncio.to_thread(Path(path).is_file):
            raise BadRequest(f"file not found: {path}")
        connection = await asyncio.to_thread(_connect, path)
        try:
            yield cls(connection)
        except sqlite3.Error as error:
            raise BadRequest(f"{path} cannot be read: {error}") from error
        finally:
            connection.close()

    async def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; empty if there is no such table."""
        column_rows = await asyncio.to_thread(self._fetch_all, f"pragma table_info({_quote_identifier(table)})", ())
        return frozenset(row["name"] for row in column_rows)

    async def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        (row,) = await asyncio.to_thread(self._fetch_all, f"select count(*) as count from {_quote_identifier(table)}", ())  # noqa: S608 - quoted
        return int(row["count"])

    async def rows(self, table: str, order: Sequence[str], where_in: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of a table, sorted by the columns in ``order``; see ``Source.rows``."""
        where_clause, values = "", ()
        if where_in is not None:
            column, permitted_values = where_in
            where_clause = f"where {_quote_identifier(column)} in ({', '.join('?' * len(permitted_values))})"
            values = tuple(permitted_values)
        order_by = ", ".join(map(_quote_identifier, order))
        cursor = await asyncio.to_thread(
            self._connection.execute,
            f"select * from {_quote_identifier(table)} {where_clause} order by {order_by}",  # noqa: S608 - names are quoted, values bound
            values,
        )
        while batch := await asyncio.to_thread(cursor.fetchmany, _BATCH_SIZE):
            for row in batch:
                yield dict(row)

    def _fetch_all(self, statement: str, values: tuple[Any, ...]) -> list[sqlite3.Row]:
        return self._connection.execute(statement, values).fetchall()


def _connect(path: str) -> sqlite3.Connection:
    """Return a connection in a read transaction. Raises BadRequest if the file is not a readable SQLite database."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(Path(path).absolute()))}?mode=ro", uri=True, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda text: text.decode(errors="replace")
        # The file is untrusted: its schema must not call functions.
        connection.execute("pragma trusted_schema = off")
        # SQLite reads the file only now, so an invalid file is reported by this statement.
        connection.execute("select count(*) from sqlite_master").fetchall()
        connection.execute("begin")  # One transaction, so that all reads see the same snapshot.
    except sqlite3.Error as error:
        raise BadRequest(f"{path} is not a readable SQLite database: {error}") from error
    return connection


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
