"""The whole system in one process: the same services over an embedded database and an in-memory broker, or external ones."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from pydantic import SecretStr

from dashwright.api.main import Gateway
from dashwright.common import process
from dashwright.common.allowed_hosts import LOOPBACK
from dashwright.common.clock import Clock
from dashwright.common.database import schema
from dashwright.common.database.pool import Database
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import Settings
from dashwright.common.stores.changes import READS_BY_SNAPSHOT
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.main import JobsWorker
from dashwright.standalone import secret_key
from dashwright.standalone.postgres import open_database

log = structlog.get_logger()

SERVICE = "dashwright"


async def serve(settings: Settings) -> None:
    """Run all services until a signal stops them. When they are ready, print a line with the gateway's address."""
    process.raise_open_file_limit(settings.watches)
    stop_event = process.stop_signal()
    settings = allow_local_data_sources(settings)
    async with open_database(settings) as (url, folder):
        if not settings.secret_key:
            settings = settings.model_copy(update={"secret_key": SecretStr(secret_key.read_or_create(folder))})
        await schema.migrate(url)
        database = await Database.open(url, application_name=SERVICE + READS_BY_SNAPSHOT, max_size=settings.gateway_connections)
        broker: Broker = MemoryBroker() if settings.amqp_url is None else AmqpBroker(settings.amqp_url.get_secret_value())
        try:
            await broker.start()
            async with _services(settings, database, broker) as address:
                sys.stdout.write(f"Dashwright serves at {address}  (Ctrl-C stops it)\n")
                sys.stdout.flush()
                await stop_event.wait()
        finally:
            await broker.close()
            await database.close()


def allow_local_data_sources(settings: Settings) -> Settings:
    """Return settings that allow data sources on this machine, unless allowed hosts are configured."""
    return settings if "allowed_hosts" in settings.model_fields_set else settings.model_copy(update={"allowed_hosts": LOOPBACK})


@asynccontextmanager
async def _services(settings: Settings, database: Database, broker: Broker) -> AsyncIterator[str]:
    """Start the workers, then the gateway, and yield its address. Stop them in reverse order."""
    for path in settings.local_paths:
        path.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    expressions_worker = ExpressionsWorker(settings, database, broker, clock)
    jobs_worker = JobsWorker(settings, database, broker, clock)
    gateway = Gateway(settings, database, broker, clock)
    try:
        await expressions_worker.start()
        await jobs_worker.start()
        yield await gateway.start()
    finally:
        # The gateway first: requests in progress still need the workers.
        try:
            await gateway.stop()
        finally:
            await asyncio.gather(jobs_worker.stop(), expressions_worker.stop())
