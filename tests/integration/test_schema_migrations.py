"""The laws of migrating: in order, once, one migrator at a time, and never past a file that does not fit."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from tests.servers import databases

from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError, Unavailable


@pytest.fixture
async def empty_url(postgres_dsn: str) -> AsyncIterator[str]:
    """A database without any schema."""
    async with databases.fresh(postgres_dsn, "template0") as url:
        yield url


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of two migrations, the second of which needs the first."""
    (tmp_path / "0001_one.sql").write_text("create table one (x int);\ninsert into one values (1);\n")
    (tmp_path / "0002_two.sql").write_text("create table two as select x from one;\n")
    return tmp_path


async def fetch(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_each_file_runs_once_and_in_order(empty_url: str, source: Path) -> None:
    """What is pending is what is then applied; a second run finds nothing to do, and a new file only itself."""
    names = ["0001_one.sql", "0002_two.sql"]
    assert await schema.pending(empty_url, source) == names
    assert await schema.migrate(empty_url, source) == names
    assert await schema.migrate(empty_url, source) == []
    (source / "0003_three.sql").write_text("insert into two values (3);")
    assert await schema.pending(empty_url, source) == ["0003_three.sql"]
    assert await schema.migrate(empty_url, source) == ["0003_three.sql"]
    assert await fetch(empty_url, "select sum(x) from two") == 4


async def test_asking_changes_nothing(empty_url: str, source: Path) -> None:
    """``pending`` leaves an empty database empty."""
    await schema.pending(empty_url, source)
    assert await fetch(empty_url, "select count(*) from pg_tables where schemaname = 'public'") == 0


async def test_two_migrators_do_the_work_once(empty_url: str, source: Path) -> None:
    """Of migrators that start together one applies each file; the others wait and then have nothing to do."""
    done = await asyncio.gather(*(schema.migrate(empty_url, source) for _ in range(4)))
    assert sorted(done) == [[], [], [], ["0001_one.sql", "0002_two.sql"]]


async def test_a_migrator_that_hangs_is_not_waited_for_without_end(empty_url: str, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second migrator gives up after a while, and says why."""
    monkeypatch.setattr(schema, "_LOCK_WAIT", "100ms")
    holder = await asyncpg.connect(empty_url)
    await holder.execute("select pg_advisory_lock($1)", schema._LOCK)
    with pytest.raises(Unavailable, match="Another process has been migrating"):
        await schema.migrate(empty_url, source)
    await holder.close()


async def test_a_failing_file_leaves_nothing_of_itself(empty_url: str, source: Path) -> None:
    """The files before it stay applied, its own statements are rolled back, and the error names it."""
    (source / "0003_bad.sql").write_text("create table three ();\nselect nonsense;")
    with pytest.raises(DashwrightError, match=r'0003_bad\.sql failed and was rolled back: column "nonsense" does not exist'):
        await schema.migrate(empty_url, source)
    assert await schema.pending(empty_url, source) == ["0003_bad.sql"]
    assert await fetch(empty_url, "select to_regclass('three') is null and to_regclass('two') is not null")


async def test_a_file_and_its_record_are_one(empty_url: str, source: Path) -> None:
    """A file whose run cannot be recorded did not run."""
    (source / "0003_three.sql").write_text("create table three (); insert into schema_migrations values ('0003_three.sql', 'taken');")
    with pytest.raises(DashwrightError, match=r"0003_three\.sql failed and was rolled back"):
        await schema.migrate(empty_url, source)
    assert await fetch(empty_url, "select to_regclass('three') is null")


async def test_a_changed_file_refuses(empty_url: str, source: Path) -> None:
    """A file that ran and then changed stops everything; other ends of lines are no change."""
    await schema.migrate(empty_url, source)
    first = source / "0001_one.sql"
    first.write_bytes(first.read_bytes().replace(b"\n", b"\r\n"))
    assert await schema.migrate(empty_url, source) == []
    first.write_text("create table other ();")
    for verb in (schema.migrate, schema.pending):
        with pytest.raises(DashwrightError, match=r"0001_one\.sql was changed after it ran"):
            await verb(empty_url, source)


async def test_a_newer_database_refuses(empty_url: str, source: Path) -> None:
    """A program that does not know a file that ran there does not touch the database."""
    await schema.migrate(empty_url, source)
    (source / "0002_two.sql").rename(source / "0003_three.sql")
    with pytest.raises(DashwrightError, match=r"newer than this program: it has 0002_two\.sql"):
        await schema.migrate(empty_url, source)


async def test_a_file_from_the_past_refuses(empty_url: str, source: Path) -> None:
    """A new file with a number below one that ran would run in another order elsewhere."""
    (source / "0001_one.sql").rename(source / "0003_one.sql")
    (source / "0002_two.sql").unlink()
    await schema.migrate(empty_url, source)
    (source / "0002_late.sql").write_text("select 1;")
    with pytest.raises(DashwrightError, match=r"0002_late\.sql comes before 0003_one\.sql"):
        await schema.migrate(empty_url, source)


async def test_a_database_that_is_away_is_unavailable() -> None:
    """Migrating where nothing listens names the place without the password."""
    with pytest.raises(Unavailable, match=r"x at 127\.0\.0\.1:1 ") as caught:
        await schema.migrate("postgresql://me:hidden@127.0.0.1:1/x")
    assert "hidden" not in str(caught.value)


async def test_the_schema_of_this_program_is_whole(empty_url: str) -> None:
    """The files that ship apply to an empty database, and then none is pending."""
    assert await schema.migrate(empty_url) == [migration.name for migration in schema.read(schema.MIGRATIONS)]
    assert await schema.pending(empty_url) == []
