"""The process of a worker: it opens database and broker, runs the worker until a signal stops it, and serves its probes."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Protocol

import structlog

from dashwright.common import process
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.observability.probes import Probes, ProbeServer
from dashwright.common.settings import Settings, listening_at, require, secret_keys

log = structlog.get_logger()


class Worker(Protocol):
    """A worker over a database and a broker."""

    async def start(self) -> None:
        """Start all parts."""
        ...

    async def stop(self) -> None:
        """Finish or return the work under way and stop all parts."""
        ...


def run_worker(service: str, build: Callable[[Settings, Database, Broker, Clock], Worker]) -> int:
    """Run the worker that ``build`` returns until SIGINT or SIGTERM, and return the exit status of the process."""
    return process.run(service, partial(_serve, service, build))


async def _serve(service: str, build: Callable[[Settings, Database, Broker, Clock], Worker], settings: Settings) -> None:
    url = require(settings.database_url, "DATABASE_URL")
    # Checked before anything is opened, so that a missing setting ends the process immediately.
    secret_keys(settings)
    stopped = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    database = await process.start_with_retries(
        "database",
        lambda: Database.open(url, application_name=service, max_size=settings.database_pool_size),
        stopped,
        seconds=settings.start_seconds,
    )
    probes = Probes()
    probes.add("database", database.check)
    probes.add("broker", broker.check)
    probe_server = ProbeServer(probes)
    try:
        await process.start_with_retries("schema", lambda: process.require_schema(url), stopped, seconds=settings.start_seconds)
        await process.start_with_retries("broker", broker.start, stopped, seconds=settings.start_seconds)
        worker = build(settings, database, broker, Clock())
        try:
            await worker.start()
            with listening_at("PROBE", settings.probe_host, settings.probe_port):
                await probe_server.start(settings.probe_host, settings.probe_port)
            # All objects that exist now live as long as the process: full collections skip them and stall no request.
            gc.freeze()
            log.info("serving")
            await stopped.wait()
        finally:
            await worker.stop()
            await probe_server.stop()
    finally:
        await broker.close()
        await database.close()
