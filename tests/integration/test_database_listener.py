"""The laws of listening: what is sent is heard, and what may have been missed is said."""

import asyncio

from tests.servers import postgres

from dashwright.common.database.pool import Database


class Ears:
    """Counts and collects what the two call-backs are told."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.missed: asyncio.Queue[None] = asyncio.Queue()

    def hear(self, payload: str) -> None:
        self.heard.put_nowait(payload)

    def miss(self) -> None:
        self.missed.put_nowait(None)


async def notify(database: Database, payload: str) -> None:
    async with database.connection() as connection:
        await connection.execute("select pg_notify('jobs', $1)", payload)


async def test_listening_begins_with_a_gap_and_then_hears_all(database: Database) -> None:
    """The first word is that something may have been missed; after it every payload arrives once, in order."""
    ears = Ears()
    async with database.listen("jobs", ears.hear, ears.miss):
        await ears.missed.get()
        for number in range(5):
            await notify(database, str(number))
        assert [await ears.heard.get() for _ in range(5)] == ["0", "1", "2", "3", "4"]
    assert ears.missed.empty()


async def test_a_lost_listener_listens_again_and_says_so(database: Database) -> None:
    """After its connection was ended it says that something may have been missed, and hears what comes then."""
    ears = Ears()
    async with database.listen("jobs", ears.hear, ears.miss):
        await ears.missed.get()
        async with database.connection() as connection:
            ended = await connection.fetch(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'"
            )
        assert len(ended) == 1
        await ears.missed.get()
        await notify(database, "after")
        assert await ears.heard.get() == "after"


async def test_listening_survives_a_restart_of_the_server(private_postgres: postgres.Private) -> None:
    """While the server is away nothing is raised; when it is back listening goes on."""
    database = await Database.open(private_postgres.dsn, application_name="test")
    ears = Ears()
    async with database.listen("jobs", ears.hear, ears.miss):
        await ears.missed.get()
        await private_postgres.stop()
        await private_postgres.start()
        await ears.missed.get()
        await notify(database, "after")
        assert await ears.heard.get() == "after"
    await database.close()


async def test_listening_ends_with_its_block(database: Database) -> None:
    """After the block no connection of the listener is left, also when the block ends before the first connection stood."""
    ears = Ears()
    async with database.listen("jobs", ears.hear, ears.miss):
        pass
    async with database.listen("jobs", ears.hear, ears.miss):
        await ears.missed.get()
    for _ in range(100):
        async with database.connection() as connection:
            left = await connection.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'"
            )
        if left == 0:
            return
    raise AssertionError("the listener's connection goes on")
