"""The process of a worker: it connects to the database and the broker, runs the worker until a signal, and serves probes."""

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
from dashwright.common.settings import Settings, reporting_listen_errors, require, secret_keys

log = structlog.get_logger()


class Worker(Protocol):
    """A worker that uses a database and a broker."""

    async def start(self) -> None:
        """Start all parts of the worker."""
        ...

    async def stop(self) -> None:
        """Finish the work in progress or return it to the queue, and stop all parts."""
        ...


def run_worker(service: str, build: Callable[[Settings, Database, Broker, Clock], Worker]) -> int:
    """Run the worker that ``build`` returns until SIGINT or SIGTERM, and return the exit status of the process."""
    return process.run(service, partial(_serve, service, build))


async def _serve(service: str, build: Callable[[Settings, Database, Broker, Clock], Worker], settings: Settings) -> None:
    """Connect, run the worker until a signal, and then stop all parts."""
    url = require(settings.database_url, "DATABASE_URL")
    # Check all required settings before waiting for the database, so that a missing one ends the process immediately.
    secret_keys(settings)
    stop_requested = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    database = await process.start_with_retries(
        "database",
        lambda: Database.open(url, application_name=service, max_size=settings.database_pool_size),
        stop_requested,
        timeout_seconds=settings.start_seconds,
    )
    probes = Probes()
    probes.add("database", database.check)
    probes.add("broker", broker.check)
    probe_server = ProbeServer(probes)
    try:
        await process.start_with_retries(
            "schema", lambda: process.require_schema(url), stop_requested, timeout_seconds=settings.start_seconds
        )
        await process.start_with_retries("broker", broker.start, stop_requested, timeout_seconds=settings.start_seconds)
        worker = build(settings, database, broker, Clock())
        try:
            await worker.start()
            with reporting_listen_errors("PROBE", settings.probe_host, settings.probe_port):
                await probe_server.start(settings.probe_host, settings.probe_port)
            # All current Python objects live as long as the process. Garbage collections stall requests for less time if they skip them.
            gc.freeze()
            log.info("serving")
            await stop_requested.wait()
        finally:
            await worker.stop()
            await probe_server.stop()
    finally:
        await broker.close()
        await database.close()
