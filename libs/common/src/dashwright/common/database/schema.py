"""Migration of a database to the schema of this program: SQL files in order, forward only, in one process at a time.

``docs/decisions/0001-migrations.md`` explains why no library is used. Services of the previous version run while and after the schema
is migrated, so most migrations only add to the schema. A migration that removes what older programs use begins with a line such as
``-- oldest program: 0044``. Programs that do not contain migration 0044 cannot run on the new schema.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.abc import Traversable
from importlib.resources import files
from itertools import pairwise

import asyncpg
import structlog

from dashwright.common.database import grants
from dashwright.common.database.errors import CONNECT_ERRORS, QUERY_ERRORS, database_label, is_connection_loss, unreachable_error
from dashwright.common.errors import DashwrightError, Unavailable

log = structlog.get_logger()

MIGRATIONS: Traversable = files("dashwright.common.database.migrations")

_FILE_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_OLDEST_PROGRAM = re.compile(r"-- oldest program: (\d{4})\n")
_LOCK_ID = 0x6461736877  # An arbitrary id that no other program locks in the same database.
_LOCK_TIMEOUT = "60s"
_CONNECT_TIMEOUT_SECONDS = 10
#: Time for which a migration waits for a lock of a table. While it waits, statements of services on the table wait, too.
_APPLY_LOCK_TIMEOUT = "2s"
_APPLY_PAUSE_SECONDS = 0.5
#: Statement that waits for running writers, and makes new writers wait. Services write these tables before all others, in this order. A
#: migration that locked another table first could deadlock with a service, and PostgreSQL might cancel the transaction of the service.
_LOCK_WRITTEN_TABLES = """
do $$
begin
    if to_regclass('resource') is not null and to_regclass('job') is not null then
        lock table resource, job in share row exclusive mode;
    end if;
end $$
"""
_APPLY_TIMEOUT_SECONDS = 120.0
_CREATE_TABLE = """
create table if not exists schema_migrations (
    name text primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
);
-- Number of the migration that a program must contain to run on the schema. Empty: every program runs on it.
alter table schema_migrations add column if not exists oldest_program text not null default '';
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """Migration file: its name, such as ``0001_resources.sql``, and its SQL."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the SQL, in hexadecimal."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def oldest_program(self) -> str:
        """Number of the migration that a program must contain to run on the new schema. Empty if every program runs on it."""
        match = _OLDEST_PROGRAM.match(self.sql)
        return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class _AppliedMigration:
    """Migration as the database has recorded it."""

    checksum: str
    oldest_program: str


async def migrate(url: str, source: Traversable = MIGRATIONS) -> list[str]:
    """Apply pending migrations and return their names in order. Concurrent calls wait for each other.

    Raises Unavailable if the database is unreachable. Raises DashwrightError if the schema is newer than this program, if
    an applied file was changed, or if a file fails. A failed file is rolled back; files before it remain applied.
    """
    async with _connected(url) as connection:
        await _lock(connection, database_label(url))
        await connection.execute(_CREATE_TABLE)
        pending = _pending_migrations(read_migrations(source), await _applied_migrations(connection), allows_newer=False)
        for migration in pending:
            await _apply(connection, migration)
        if pending:
            log.info("schema_migrated", migrations=len(pending), to=pending[-1].name)
        # The databases of tests with other migrations lack the tables of the services.
        if source is MIGRATIONS:
            async with connection.transaction():
                await grants.grant(connection)
        return [migration.name for migration in pending]


async def pending_migrations(url: str, source: Traversable = MIGRATIONS) -> list[str]:
    """Return the names of the migrations that ``migrate`` would apply, and change nothing.

    A schema that is newer than this program is permitted, unless its ``oldest_program`` excludes this program. Raises Unavailable if the
    database is unreachable. Raises DashwrightError if the schema is too new for this program, or if an applied file was changed.
    """
    async with _connected(url) as connection:
        has_no_table = await connection.fetchval("select to_regclass('schema_migrations') is null")
        applied = {} if has_no_table else await _applied_migrations(connection)
        return [migration.name for migration in _pending_migrations(read_migrations(source), applied, allows_newer=True)]


def read_migrations(source: Traversable) -> list[Migration]:
    """Return the migrations in the directory ``source``, in order. Raises DashwrightError for an invalid name or a duplicate number."""
    names = sorted(entry.name for entry in source.iterdir() if entry.name.endswith(".sql"))
    for earlier, name in pairwise(["", *names]):
        if not _FILE_NAME.fullmatch(name):
            raise DashwrightError(f"The migration {name} must be named like 0001_resources.sql.")
        if earlier[:4] == name[:4]:
            raise DashwrightError(f"The migrations {earlier} and {name} have the same number. Give the newer one the next free number.")
    return [Migration(name, (source / name).read_text(encoding="utf-8")) for name in names]


def _pending_migrations(migrations: list[Migration], applied: Mapping[str, _AppliedMigration], *, allows_newer: bool) -> list[Migration]:
    """Return the migrations that are not applied, in order.

    With ``allows_newer``, the database may have migrations that this program does not contain, if they permit programs this old. Raises
    DashwrightError if the schema is too new, if an applied file was changed, or if a pending file comes before an applied one.
    """
    newest_number = max((migration.name[:4] for migration in migrations), default="")
    unknown_names = applied.keys() - {migration.name for migration in migrations}
    if excluding_names := [name for name in unknown_names if not allows_newer or applied[name].oldest_program > newest_number]:
        raise DashwrightError(
            f"The database is newer than this program: it has {max(excluding_names)}. Start a newer version of the program."
        )
    for migration in migrations:
        if migration.name in applied and migration.checksum != applied[migration.name].checksum:
            raise DashwrightError(f"The migration {migration.name} was changed after it ran. Restore the file; put changes in a new one.")
    pending = [migration for migration in migrations if migration.name not in applied]
    if pending and applied and pending[0].name < max(applied):
        raise DashwrightError(
            f"The migration {pending[0].name} comes before {max(applied)}, which ran already. Give it the next free number."
        )
    return pending


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    """Apply a migration. While services hold locks that it needs, roll it back and try again, so that they do not wait for long."""
    deadline = asyncio.get_running_loop().time() + _APPLY_TIMEOUT_SECONDS
    while True:
        try:
            return await _apply_once(connection, migration)
        except (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError) as error:
            if asyncio.get_running_loop().time() > deadline:
                raise DashwrightError(f"The migration {migration.name} failed and was rolled back: {error}") from error
            log.info("migration_delayed", name=migration.name, error=str(error))
        await asyncio.sleep(_APPLY_PAUSE_SECONDS)


async def _apply_once(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    """Apply and record a migration in one transaction. Raises asyncpg's errors of locks, and DashwrightError for a fault of the SQL."""
    try:
        async with connection.transaction():
            await connection.execute(f"set local lock_timeout = '{_APPLY_LOCK_TIMEOUT}'")
            await connection.execute(_LOCK_WRITTEN_TABLES)
            await connection.execute(migration.sql)
            await connection.execute(
                "insert into schema_migrations (name, checksum, oldest_program) values ($1, $2, $3)",
                migration.name,
                migration.checksum,
                migration.oldest_program,
            )
    except (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError):
        raise
    except asyncpg.PostgresError as error:
        if is_connection_loss(error, closed=connection.is_closed()):
            raise
        raise DashwrightError(f"The migration {migration.name} failed and was rolled back: {error}") from error
    log.debug("migration_applied", name=migration.name)


async def _applied_migrations(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[str, _AppliedMigration]:
    """Return the applied migrations by name."""
    # A database that older programs migrated has no column oldest_program until ``migrate`` adds it.
    rows = await connection.fetch("select * from schema_migrations")
    return {row["name"]: _AppliedMigration(row["checksum"], row.get("oldest_program", "")) for row in rows}


async def _lock(connection: "asyncpg.Connection[asyncpg.Record]", database_name: str) -> None:
    """Lock migrations until the connection ends. Raises Unavailable if another process keeps the lock for too long."""
    await connection.execute(f"set lock_timeout = '{_LOCK_TIMEOUT}'")
    try:
        await connection.execute("select pg_advisory_lock($1)", _LOCK_ID)
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(
            f"Another process has been migrating {database_name} for over {_LOCK_TIMEOUT}. Wait for it to end, or end it."
        ) from error


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Yield a connection, which is closed after the block. Raises Unavailable if the server is unreachable or is lost in the block."""
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_TIMEOUT_SECONDS)
    except CONNECT_ERRORS as error:
        raise unreachable_error(database_label(url), error) from error
    try:
        yield connection
    except QUERY_ERRORS as error:
        if not is_connection_loss(error, closed=connection.is_closed()):
            raise
        raise unreachable_error(database_label(url), error) from error
    finally:
        # Not ``close``, which would wait for a server that does not respond.
        connection.terminate()
