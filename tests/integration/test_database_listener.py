"""Notifications: payloads arrive in order, and a possible gap is reported."""

import asyncio

from tests.servers import postgres

from dashwright.common.database.pool import Database


class Notifications:
    """The calls of the two callbacks of a listener."""

    def __init__(self) -> None:
        self.payloads: asyncio.Queue[str] = asyncio.Queue()
        self.gaps: asyncio.Queue[None] = asyncio.Queue()

    def on_payload(self, payload: str) -> None:
        """Record a payload."""
        self.payloads.put_nowait(payload)

    def on_gap(self) -> None:
        """Record a possible gap."""
        self.gaps.put_nowait(None)


async def notify(database: Database, payload: str) -> None:
    """Send a payload on the channel ``jobs``."""
    async with database.connection() as connection:
        await connection.execute("select pg_notify('jobs', $1)", payload)


async def test_listening_begins_with_a_gap(database: Database) -> None:
    """The first call reports a possible gap; afterwards every payload arrives once, in order."""
    notifications = Notifications()
    async with database.listen("jobs", notifications.on_payload, notifications.on_gap):
        await notifications.gaps.get()
        for index in range(5):
            await notify(database, str(index))
        assert [await notifications.payloads.get() for _ in range(5)] == ["0", "1", "2", "3", "4"]
    assert notifications.gaps.empty()


async def test_a_lost_listener_reconnects_and_reports_a_gap(database: Database) -> None:
    """A listener whose connection was closed reports a possible gap and receives later payloads."""
    notifications = Notifications()
    async with database.listen("jobs", notifications.on_payload, notifications.on_gap):
        await notifications.gaps.get()
        async with database.connection() as connection:
            terminated = await connection.fetch(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'"
            )
        assert len(terminated) == 1
        await notifications.gaps.get()
        await notify(database, "after")
        assert await notifications.payloads.get() == "after"


async def test_listening_survives_a_restart_of_the_server(private_postgres: postgres.PrivatePostgres) -> None:
    """A restart of the server raises nothing, and the listener receives later payloads."""
    database = await Database.open(private_postgres.dsn, application_name="test")
    notifications = Notifications()
    async with database.listen("jobs", notifications.on_payload, notifications.on_gap):
        await notifications.gaps.get()
        await private_postgres.stop()
        await private_postgres.start()
        await notifications.gaps.get()
        await notify(database, "after")
        assert await notifications.payloads.get() == "after"
    await database.close()


async def test_listening_ends_with_its_block(database: Database) -> None:
    """The listener's connection is closed after the block, even if the block ends before the connection is established."""
    notifications = Notifications()
    async with database.listen("jobs", notifications.on_payload, notifications.on_gap):
        pass
    async with database.listen("jobs", notifications.on_payload, notifications.on_gap):
        await notifications.gaps.get()
    for _ in range(100):  # the server ends the closed connection a moment later
        async with database.connection() as connection:
            remaining = await connection.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'"
            )
        if remaining == 0:
            return
    raise AssertionError("the listener's connection is still open")
