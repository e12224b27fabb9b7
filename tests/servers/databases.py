"""A clean database for each test, copied from a template with the whole schema."""

import hashlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Self
from urllib.parse import urlsplit

import asyncpg

from dashwright.common.database import schema

_LOCK = 0x74657374  # one worker makes the template, the others wait

_OTHERS = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"

#: Digest of a schema, by which a change of it by a test is detected.
_STRUCTURE = """
with own as (select oid from pg_namespace where nspname not in ('pg_catalog', 'information_schema', 'pg_toast')),
parts (part) as (
    select format('%s %s %s %s', relname, relkind, relacl, reloptions) from pg_class where relnamespace in (table own)
    union all select format('%s %s %s %s', attrelid::regclass, attname, atttypid, attnotnull)
        from pg_attribute a join pg_class c on c.oid = attrelid where relnamespace in (table own) and attnum > 0
    union all select format('%s %s', tgname, tgenabled) from pg_trigger
    union all select format('%s %s', conname, convalidated) from pg_constraint where connamespace in (table own)
    union all select format('%s %s', proname, md5(prosrc)) from pg_proc where pronamespace in (table own)
    union all select setconfig::text from pg_db_role_setting
)
select md5(string_agg(part, ';' order by part)) from parts
"""

_TABLES = "select oid::regclass::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
_SEQUENCES = "select format('%I', sequencename) as name, start_value, last_value from pg_sequences where schemaname = 'public'"


@asynccontextmanager
async def at_migration_before(server_url: str, migration: str, folder: Path) -> AsyncIterator[str]:
    """Yield the URL of a database without ``migration`` and later ones; copy the earlier ones to ``folder``."""
    with as_file(schema.MIGRATIONS) as all_of_them:
        for file in all_of_them.iterdir():
            if file.suffix == ".sql" and file.name < migration:
                shutil.copy(file, folder)
    async with fresh(server_url, "template0") as url:
        await schema.migrate(url, folder)
        yield url


async def make_template(server_url: str) -> str:
    """Return the name of the template database, which is created unless one of the same schema exists."""
    digest = hashlib.sha256("".join(migration.checksum for migration in schema.read(schema.MIGRATIONS)).encode()).hexdigest()
    name, unfinished = f"dashwright_template_{digest[:16]}", f"dashwright_unfinished_{digest[:16]}"
    async with _connected(server_url) as connection:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
        if not await connection.fetchval("select exists (select from pg_database where datname = $1)", name):
            await connection.execute(f"drop database if exists {unfinished} with (force)")
            await connection.execute(f"create database {unfinished}")
            await schema.migrate(with_database(server_url, unfinished))
            await connection.execute(f"alter database {unfinished} rename to {name}")
    return name


@dataclass(frozen=True)
class _Pristine:
    """A database as copied from the template."""

    structure: str
    rows: dict[str, bytes]
    emptying: str

    @classmethod
    async def of(cls, connection: "asyncpg.Connection[asyncpg.Record]") -> Self:
        tables = [row[0] for row in await connection.fetch(_TABLES)]
        rows = {}
        for table in tables:
            if await connection.fetchval(f"select exists (select from {table})"):
                held = BytesIO()
                await connection.copy_from_query(f"table {table}", output=held, format="binary")
                rows[table] = held.getvalue()
        sequences = await connection.fetch(_SEQUENCES)
        restarts = [f"perform setval('{name}', {start if last is None else last}, {last is not None})" for name, start, last in sequences]
        # In the replica role no trigger runs, neither those that refuse a deletion nor those that record one.
        statements = ["set local session_replication_role = replica", *(f"delete from {table}" for table in tables), *restarts]
        emptying = f"do $$ begin {'; '.join(statements)}; end $$"
        return cls(await connection.fetchval(_STRUCTURE), rows, emptying)

    async def restore(self, connection: "asyncpg.Connection[asyncpg.Record]") -> bool:
        """Restore the rows of the template. Returns False if a test changed the schema itself."""
        await connection.execute(_OTHERS)
        if await connection.fetchval(_STRUCTURE) != self.structure:
            return False
        await connection.execute(self.emptying)
        for table, rows in self.rows.items():
            await connection.copy_to_table(table.strip('"'), source=BytesIO(rows), format="binary")
        return True


class Databases:
    """Copies of ``template``, used by one test at a time and cleaned in between, since a new copy takes ten times as long."""

    def __init__(self, server_url: str, template: str) -> None:
        self._server_url = server_url
        self._template = template
        self._clean: list[str] = []
        self._pristine: _Pristine | None = None

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[str]:
        """Yield the URL of a database with the whole schema and no rows; close all other connections to it afterwards."""
        name = self._clean.pop() if self._clean else await self._make()
        url = with_database(self._server_url, name)
        try:
            yield url
        finally:
            if await self._cleaned(url):
                self._clean.append(name)
            else:
                await self._drop(name)

    async def close(self) -> None:
        for name in self._clean:
            await self._drop(name)

    async def _make(self) -> str:
        name = f"dashwright_test_{token_hex(8)}"
        async with _connected(self._server_url) as connection:
            await connection.execute(f"create database {name} template {self._template} strategy wal_log")
        if self._pristine is None:
            async with _connected(with_database(self._server_url, name)) as connection:
                self._pristine = await _Pristine.of(connection)
        return name

    async def _cleaned(self, url: str) -> bool:
        assert self._pristine is not None
        async with _connected(url) as connection:
            return await self._pristine.restore(connection)

    async def _drop(self, name: str) -> None:
        async with _connected(self._server_url) as connection:
            await connection.execute(f"drop database {name} with (force)")


@asynccontextmanager
async def fresh(server_url: str, template: str) -> AsyncIterator[str]:
    """Yield the URL of a copy of ``template`` and drop it afterwards, closing all connections."""
    name = f"dashwright_test_{token_hex(8)}"
    async with _connected(server_url) as connection:
        await connection.execute(f"create database {name} template {template} strategy wal_log")
    try:
        yield with_database(server_url, name)
    finally:
        async with _connected(server_url) as connection:
            await connection.execute(f"drop database {name} with (force)")


def with_database(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
