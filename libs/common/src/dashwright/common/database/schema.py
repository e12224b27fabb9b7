"""Migration of a database to the schema of this program: plain SQL files in order, forward only, one migrator at a time.

Why this is not a library: ``docs/decisions/0001-migrations.md``.
"""

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.abc import Traversable
from importlib.resources import files

import asyncpg
import structlog

from dashwright.common.database import grants
from dashwright.common.database.losses import CONNECTING, QUERYING, is_loss, place_of, unavailable
from dashwright.common.errors import DashwrightError, Unavailable

log = structlog.get_logger()

MIGRATIONS: Traversable = files("dashwright.common.database.migrations")

_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_LOCK = 0x6461736877  # any number, as long as no other program locks it in the same database
_LOCK_WAIT = "60s"
_TABLE = """
create table if not exists schema_migrations (
    name text primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """Migration file with its name (``0001_resources.sql``) and text."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


async def migrate(url: str, source: Traversable = MIGRATIONS) -> list[str]:
    """Apply pending migrations and return their names in order. A concurrent migrator waits, then finds nothing to do.

    Raises Unavailable if the database is unreachable. Raises DashwrightError if it is newer than this program, if an
    applied file was changed, or if a file fails: then nothing of that file is applied, but everything before it.
    """
    async with _connected(url) as connection:
        await _lock(connection, place_of(url))
        await connection.execute(_TABLE)
        todo = _pending(read(source), await _applied(connection))
        for migration in todo:
            await _apply(connection, migration)
        if todo:
            log.info("schema_migrated", migrations=len(todo), to=todo[-1].name)
        if source is MIGRATIONS:
            async with connection.transaction():
                await grants.grant(connection)
        return [migration.name for migration in todo]


async def pending(url: str, source: Traversable = MIGRATIONS) -> list[str]:
    """Return the names that ``migrate`` would apply.

    Changes nothing; raises what ``migrate`` raises before it applies anything.
    """
    async with _connected(url) as connection:
        fresh = await connection.fetchval("select to_regclass('schema_migrations') is null")
        return [migration.name for migration in _pending(read(source), {} if fresh else await _applied(connection))]


def read(source: Traversable) -> list[Migration]:
    """Return the migrations of a folder in order. Raises DashwrightError for an invalid name or a duplicate number."""
    names = sorted(entry.name for entry in source.iterdir() if entry.name.endswith(".sql"))
    for earlier, name in zip(["", *names], names, strict=False):
        if not _NAME.fullmatch(name):
            raise DashwrightError(f"The migration {name} must be named like 0001_resources.sql.")
        if earlier[:4] == name[:4]:
            raise DashwrightError(f"The migrations {earlier} and {name} have the same number. Give the newer one the next free number.")
    return [Migration(name, (source / name).read_text(encoding="utf-8")) for name in names]


def _pending(known: list[Migration], applied: dict[str, str]) -> list[Migration]:
    unknown = applied.keys() - {migration.name for migration in known}
    if unknown:
        raise DashwrightError(f"The database is newer than this program: it has {max(unknown)}. Start a newer version of the program.")
    for migration in known:
        if migration.checksum != applied.get(migration.name, migration.checksum):
            raise DashwrightError(f"The migration {migration.name} was changed after it ran. Restore the file; put changes in a new one.")
    todo = [migration for migration in known if migration.name not in applied]
    if todo and applied and todo[0].name < max(applied):
        raise DashwrightError(f"The migration {todo[0].name} comes before {max(applied)}, which ran already. Give it the next free number.")
    return todo


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute("insert into schema_migrations (name, checksum) values ($1, $2)", migration.name, migration.checksum)
    except asyncpg.PostgresError as error:
        if is_loss(error, closed=connection.is_closed()):
            raise
        raise DashwrightError(f"The migration {migration.name} failed and was rolled back: {error}") from error
    log.debug("migration_applied", name=migration.name)


async def _applied(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[str, str]:
    return {row["name"]: row["checksum"] for row in await connection.fetch("select name, checksum from schema_migrations")}


async def _lock(connection: "asyncpg.Connection[asyncpg.Record]", place: str) -> None:
    """Take the lock of migrations, which is held until the connection ends."""
    await connection.execute(f"set lock_timeout = '{_LOCK_WAIT}'")
    try:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(f"Another process has been migrating {place} for over {_LOCK_WAIT}. Wait for it to end, or end it.") from error


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except CONNECTING as error:
        raise unavailable(place_of(url), error) from error
    try:
        yield connection
    except QUERYING as error:
        if not is_loss(error, closed=connection.is_closed()):
            raise
        raise unavailable(place_of(url), error) from error
    finally:
        connection.terminate()
