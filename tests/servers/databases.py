"""A clean database for each test, copied from a template with the whole schema."""

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Self, TypeAlias
from urllib.parse import urlsplit

import asyncpg

from dashwright.common.database import schema

#: Advisory lock, as the letters ``test``: one worker makes the template, the others wait.
_LOCK = 0x74657374

#: Counts of the objects of a schema and their newest transactions, from which a change by a test is detected. PostgreSQL's own
#: objects have ids below 16384.
_STRUCTURE = " union all ".join(
    f"select count(*), max(xmin::text::bigint) from {objects}"
    for objects in (
        *(f"{catalog} where oid >= 16384" for catalog in ("pg_class", "pg_trigger", "pg_constraint", "pg_proc")),
        "pg_attribute where attrelid >= 16384",
        "pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())",
    )
)

_TABLES = "select oid::regclass::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
_SEQUENCES = "select format('%I', sequencename) as name, start_value, last_value from pg_sequences where schemaname = 'public'"
#: Settings of a session in which no trigger runs, neither those that refuse a deletion nor those that record one. To set the role for
#: a transaction only would discard the plans of the session, so that each inspection would be planned again.
_WITHOUT_TRIGGERS = {"session_replication_role": "replica"}
#: Application name of sessions that may outlive a test (``tests/servers/warm_pools.py``), unless they still hold a lock.
WARM_SESSIONS = "warm"
_END_OTHERS = f"""select pg_terminate_backend(pid) from pg_stat_activity session
    where datname = current_database() and pid <> pg_backend_pid()
        and (application_name <> '{WARM_SESSIONS}' or exists (select from pg_locks where pid = session.pid))"""


@asynccontextmanager
async def at_migration_before(server_url: str, migration: str, folder: Path) -> AsyncIterator[str]:
    """Yield the URL of a database without ``migration`` and later ones; copy the earlier ones to ``folder``."""
    with as_file(schema.MIGRATIONS) as all_migrations:
        for file in all_migrations.iterdir():
            if file.suffix == ".sql" and file.name < migration:
                shutil.copy(file, folder)
    async with temporary_database(server_url, "template0") as url:
        await schema.migrate(url, folder)
        yield url


async def create_migrated(server_url: str) -> str:
    """Create a database of a private server, and return its URL."""
    async with _connection(server_url) as connection:
        await connection.execute("create database dashwright")
    url = with_database(server_url, "dashwright")
    await schema.migrate(url)
    return url


async def make_template(server_url: str) -> str:
    """Return the name of the template database, which is created unless one of the same schema exists."""
    digest = hashlib.sha256("".join(migration.checksum for migration in schema.read_migrations(schema.MIGRATIONS)).encode()).hexdigest()
    name, unfinished = f"dashwright_template_{digest[:16]}", f"dashwright_unfinished_{digest[:16]}"
    async with _connection(server_url) as connection:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
        if not await connection.fetchval("select exists (select from pg_database where datname = $1)", name):
            await connection.execute(f"drop database if exists {unfinished} with (force)")
            await connection.execute(f"create database {unfinished}")
            await schema.migrate(with_database(server_url, unfinished))
            await connection.execute(f"alter database {unfinished} rename to {name}")
    return name


_Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True)
class _TemplateContent:
    """Schema and rows of a database that was just copied from the template."""

    structure: list[asyncpg.Record]
    rows: dict[str, bytes]
    #: Statement that selects the names of the tables whose rows differ, and resets the sequences.
    inspection: str

    @classmethod
    async def of(cls, connection: _Connection) -> Self:
        """Return the content of the database of a connection."""
        rows, differences = {}, []
        for (table,) in await connection.fetch(_TABLES):
            digest = f"(select md5(string_agg(t::text, ',' order by t::text)) from {table} t)"
            expected = await connection.fetchval(f"select {digest}")
            differences.append(f"case when {digest} is distinct from '{expected}' then '{table}' end")
            if expected is None:
                differences[-1] = f"case when exists (select from {table}) then '{table}' end"
                continue
            buffer = BytesIO()
            await connection.copy_from_query(f"table {table}", output=buffer, format="binary")
            rows[table] = buffer.getvalue()
        resets = [
            f"setval('{name}', {start if last is None else last}, {last is not None})"
            for name, start, last in await connection.fetch(_SEQUENCES)
        ]
        inspection = f"select array_remove(array[{', '.join(differences)}], null), {', '.join(resets)}"
        return cls(await connection.fetch(_STRUCTURE), rows, inspection)

    async def restore(self, connection: _Connection) -> bool:
        """Restore the rows of the template. Returns False if a test changed the schema itself."""
        await connection.fetch(_END_OTHERS)
        if await connection.fetch(_STRUCTURE) != self.structure:
            return False
        changed = await connection.fetchval(self.inspection)
        if not changed:
            return True
        async with connection.transaction():
            await connection.execute("; ".join(f"delete from {table}" for table in changed))
            for table in self.rows.keys() & set(changed):
                await connection.copy_to_table(table.strip('"'), source=BytesIO(self.rows[table]), format="binary")
        return True


@dataclass(frozen=True)
class _Copy:
    """A database, and the connection that restores it: a new connection would load the catalogs of the database at each use."""

    name: str
    connection: _Connection


class Databases:
    """Copies of ``template``, used by one test at a time and restored in between, since a new copy takes ten times as long.

    The connections that restore the copies belong to an event loop of their own, which runs between tests only.
    """

    def __init__(self, server_url: str, template: str) -> None:
        self._server_url = server_url
        self._template = template
        self._available: list[_Copy] = []
        self._template_content: _TemplateContent | None = None
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Yield the URL of a database with the whole schema and no rows; close all other connections to it afterwards."""
        copy = self._available.pop() if self._available else self._runner.run(self._make())
        try:
            yield with_database(self._server_url, copy.name)
        finally:
            self._runner.run(self._return(copy))

    def close(self) -> None:
        """Drop the databases."""
        for copy in self._available:
            self._runner.run(self._drop(copy))
        self._runner.close()

    async def _make(self) -> _Copy:
        """Create a copy. The first one shows what a restored copy must contain."""
        name = f"dashwright_test_{token_hex(8)}"
        async with _connection(self._server_url) as connection:
            await connection.execute(f"create database {name} template {self._template} strategy wal_log")
        copy = _Copy(name, await asyncpg.connect(with_database(self._server_url, name), server_settings=_WITHOUT_TRIGGERS))
        if self._template_content is None:
            self._template_content = await _TemplateContent.of(copy.connection)
        return copy

    async def _return(self, copy: _Copy) -> None:
        """Restore a copy for the next test, or drop it if that is impossible."""
        assert self._template_content is not None
        try:
            is_restored = await self._template_content.restore(copy.connection)
        except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError):  # a test ended all connections to its database
            is_restored = False
        if is_restored:
            self._available.append(copy)
        else:
            await self._drop(copy)

    async def _drop(self, copy: _Copy) -> None:
        """Drop the database of a copy."""
        await copy.connection.close()
        async with _connection(self._server_url) as connection:
            await connection.execute(f"drop database {copy.name} with (force)")


@asynccontextmanager
async def temporary_database(server_url: str, template: str) -> AsyncIterator[str]:
    """Yield the URL of a new copy of ``template``. Drop it afterwards, and close all connections to it."""
    name = f"dashwright_test_{token_hex(8)}"
    async with _connection(server_url) as connection:
        await connection.execute(f"create database {name} template {template} strategy wal_log")
    try:
        yield with_database(server_url, name)
    finally:
        async with _connection(server_url) as connection:
            await connection.execute(f"drop database {name} with (force)")


def with_database(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[_Connection]:
    """Connect to a database while the block runs."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
