"""Requests over HTTP while many submissions wait in the queue, as after an outage."""

import asyncpg
from tests.acceptance.polling import wait_until
from tests.contract.api.conftest import Api
from tests.contract.api.dead_letters import SYNC, submit

from dashwright.common.messaging.memory import MemoryBroker

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"


async def test_a_backlog_of_messages_leaves_connections_to_requests(api: Api, broker: MemoryBroker, database_url: str) -> None:
    """While more messages than there are connections wait for the database, a request over HTTP is completed."""
    connection = await asyncpg.connect(database_url)
    waiting_locks = "select count(*) from pg_locks where relation = 'submission'::regclass and not granted"
    async with connection.transaction():
        # The gateway looks up each message with an id in this table, so that the lock stops all messages.
        await connection.execute("lock table submission in access exclusive mode")
        for number in range(20):
            await submit(broker, SYNC, message_id=str(number))
        await wait_until(lambda: connection.fetchval(f"{waiting_locks} having count(*) >= 2"))
        status, _ = await api("GET", DASHBOARDS)
        waiting_count = await connection.fetchval(waiting_locks)
    await connection.close()
    # The gateway has five connections: one is reserved for probes and logins, and half of the others for requests over HTTP.
    assert (status, waiting_count) == (200, 2)
