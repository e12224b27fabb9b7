"""Migrations run in order, once, and by one migrator at a time. A file that does not match the database stops them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import structlog
from tests.servers import databases

from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError, Unavailable


@pytest.fixture
async def empty_url(postgres_dsn: str) -> AsyncIterator[str]:
    """Return the URL of a database without a schema."""
    async with databases.temporary_database(postgres_dsn, "template0") as url:
        yield url


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    """Return a folder of two migrations, the second of which needs the first."""
    (tmp_path / "0001_one.sql").write_text("create table one (x int);\ninsert into one values (1);\n")
    (tmp_path / "0002_two.sql").write_text("create table two as select x from one;\n")
    return tmp_path


async def fetch_value(url: str, query: str) -> object:
    """Execute a statement on a connection of its own, and return the first value of its first row."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_each_file_runs_once_and_in_order(empty_url: str, migrations: Path) -> None:
    """Pending files are applied; a second run applies nothing, and a new file alone."""
    names = ["0001_one.sql", "0002_two.sql"]
    assert await schema.pending_migrations(empty_url, migrations) == names
    assert await schema.migrate(empty_url, migrations) == names
    assert await schema.migrate(empty_url, migrations) == []
    (migrations / "0003_three.sql").write_text("insert into two values (3);")
    assert await schema.pending_migrations(empty_url, migrations) == ["0003_three.sql"]
    assert await schema.migrate(empty_url, migrations) == ["0003_three.sql"]
    assert await fetch_value(empty_url, "select sum(x) from two") == 4


async def test_listing_pending_files_changes_nothing(empty_url: str, migrations: Path) -> None:
    """Listing the pending files leaves an empty database empty."""
    await schema.pending_migrations(empty_url, migrations)
    assert await fetch_value(empty_url, "select count(*) from pg_tables where schemaname = 'public'") == 0


async def test_concurrent_migrators_apply_each_file_once(empty_url: str, migrations: Path) -> None:
    """The second of two concurrent migrators waits and then finds nothing to do."""
    applied_files = await asyncio.gather(*(schema.migrate(empty_url, migrations) for _ in range(4)))
    assert sorted(applied_files) == [[], [], [], ["0001_one.sql", "0002_two.sql"]]


async def test_the_wait_for_another_migrator_is_limited(empty_url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second migrator gives up after its limit with the reason."""
    monkeypatch.setattr(schema, "_LOCK_TIMEOUT", "100ms")
    holder = await asyncpg.connect(empty_url)
    await holder.execute("select pg_advisory_lock($1)", schema._LOCK_ID)
    with pytest.raises(Unavailable, match="Another process has been migrating"):
        await schema.migrate(empty_url, migrations)
    await holder.close()


async def test_a_failing_file_is_rolled_back(empty_url: str, migrations: Path) -> None:
    """The statements of a failing file are rolled back, and the error names the file. The files before it remain applied."""
    (migrations / "0003_bad.sql").write_text("create table three ();\nselect nonsense;")
    with pytest.raises(DashwrightError, match=r'0003_bad\.sql failed and was rolled back: column "nonsense" does not exist'):
        await schema.migrate(empty_url, migrations)
    assert await schema.pending_migrations(empty_url, migrations) == ["0003_bad.sql"]
    assert await fetch_value(empty_url, "select to_regclass('three') is null and to_regclass('two') is not null")


async def test_a_migration_waits_for_services_that_use_a_table(empty_url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that cannot lock a table soon is rolled back and tried again, so that no service waits long for it."""
    monkeypatch.setattr(schema, "_APPLY_LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(schema, "_APPLY_PAUSE_SECONDS", 0.01)
    await schema.migrate(empty_url, migrations)
    (migrations / "0003_three.sql").write_text("alter table two add column y int;")
    service = await asyncpg.connect(empty_url)
    transaction = service.transaction()
    await transaction.start()
    await service.execute("select * from two")
    with structlog.testing.capture_logs() as logs:
        migration = asyncio.create_task(schema.migrate(empty_url, migrations))
        async with asyncio.timeout(20):
            while len(logs) < 2:  # noqa: ASYNC110 (a log has no event)
                await asyncio.sleep(0.01)
        # A transaction that waits for a lock would make this statement wait behind it.
        await fetch_value(empty_url, "select count(*) from two")
        await transaction.commit()
        assert await migration == ["0003_three.sql"]
    assert {entry["event"] for entry in logs[:2]} == {"migration_delayed"}
    await service.close()


async def test_a_file_and_its_record_are_one_transaction(empty_url: str, migrations: Path) -> None:
    """A file whose run cannot be recorded is rolled back."""
    (migrations / "0003_three.sql").write_text("create table three (); insert into schema_migrations values ('0003_three.sql', 'taken');")
    with pytest.raises(DashwrightError, match=r"0003_three\.sql failed and was rolled back"):
        await schema.migrate(empty_url, migrations)
    assert await fetch_value(empty_url, "select to_regclass('three') is null")


async def test_a_changed_file_is_refused(empty_url: str, migrations: Path) -> None:
    """A file that changed after it ran stops the migration; other line endings do not count."""
    await schema.migrate(empty_url, migrations)
    first_file = migrations / "0001_one.sql"
    first_file.write_bytes(first_file.read_bytes().replace(b"\n", b"\r\n"))
    assert await schema.migrate(empty_url, migrations) == []
    first_file.write_text("create table other ();")
    for operation in (schema.migrate, schema.pending_migrations):
        with pytest.raises(DashwrightError, match=r"0001_one\.sql was changed after it ran"):
            await operation(empty_url, migrations)


async def test_a_newer_database_is_refused(empty_url: str, migrations: Path) -> None:
    """A program that does not know an applied file does not change the database."""
    await schema.migrate(empty_url, migrations)
    (migrations / "0002_two.sql").rename(migrations / "0003_three.sql")
    with pytest.raises(DashwrightError, match=r"newer than this program: it has 0002_two\.sql"):
        await schema.migrate(empty_url, migrations)


@pytest.mark.parametrize(("line", "may_run"), [("", True), ("-- oldest program: 0001\n", True), ("-- oldest program: 0002\n", False)])
async def test_a_program_runs_on_a_newer_schema_that_keeps_what_it_uses(empty_url: str, migrations: Path, line: str, may_run: bool) -> None:
    """A service starts on a newer schema unless a migration names a newer program; ``migrate`` of the older program is refused."""
    newer_file = migrations / "0002_two.sql"
    newer_file.write_text(line + newer_file.read_text())
    await schema.migrate(empty_url, migrations)
    newer_file.unlink()
    if may_run:
        assert await schema.pending_migrations(empty_url, migrations) == []
    else:
        with pytest.raises(DashwrightError, match=r"newer than this program: it has 0002_two\.sql"):
            await schema.pending_migrations(empty_url, migrations)
    with pytest.raises(DashwrightError, match="newer than this program"):
        await schema.migrate(empty_url, migrations)


async def test_a_table_of_migrations_without_the_newest_column_is_read(empty_url: str, migrations: Path) -> None:
    """The table of migrations of the previous version lacks the column ``oldest_program``, and is read nevertheless."""
    await schema.migrate(empty_url, migrations)
    await fetch_value(empty_url, "alter table schema_migrations drop column oldest_program")
    assert await schema.pending_migrations(empty_url, migrations) == []
    assert await schema.migrate(empty_url, migrations) == []


async def test_a_file_before_applied_ones_is_refused(empty_url: str, migrations: Path) -> None:
    """A new file with a lower number than an applied one would run in another order elsewhere."""
    (migrations / "0001_one.sql").rename(migrations / "0003_one.sql")
    (migrations / "0002_two.sql").unlink()
    await schema.migrate(empty_url, migrations)
    (migrations / "0002_late.sql").write_text("select 1;")
    with pytest.raises(DashwrightError, match=r"0002_late\.sql comes before 0003_one\.sql"):
        await schema.migrate(empty_url, migrations)


async def test_an_unreachable_database_is_unavailable() -> None:
    """Migrating an unreachable database raises an error with its address but not its password."""
    with pytest.raises(Unavailable, match=r"x at 127\.0\.0\.1:1 ") as caught:
        await schema.migrate("postgresql://me:hidden@127.0.0.1:1/x")
    assert "hidden" not in str(caught.value)


async def test_the_shipped_schema_is_complete(empty_url: str) -> None:
    """The shipped files apply to an empty database, and none is pending afterwards."""
    assert await schema.migrate(empty_url) == [migration.name for migration in schema.read_migrations(schema.MIGRATIONS)]
    assert await schema.pending_migrations(empty_url) == []
