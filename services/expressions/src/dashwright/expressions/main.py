"""The expressions worker, composed: queries and pictures by RPC, evaluations as jobs."""

import asyncio
import gc
import sys
from datetime import timedelta
from functools import partial

import structlog

from dashwright.common import process
from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.jobs.routing import EVALUATE
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.signing import Signer
from dashwright.common.observability.probes import Probes, ProbeServer
from dashwright.common.reach import Reach
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings, listening_at, require, secret_keys
from dashwright.common.work.consumer import JobConsumer
from dashwright.expressions.consumer import QueryConsumer, query_settings
from dashwright.expressions.jobs import EvaluationRunner
from dashwright.expressions.pictures.consumer import PictureConsumer
from dashwright.expressions.sources.directory import Directory, Kinds, StoredRecords
from dashwright.expressions.sources.http.client import HttpClient
from dashwright.expressions.sources.postgres import source as postgres
from dashwright.expressions.sources.postgres.connections import Connections, PoolLimits
from dashwright.expressions.sources.postgres.source import Postgres
from dashwright.expressions.sources.prometheus import source as prometheus
from dashwright.expressions.sources.prometheus.source import Prometheus

log = structlog.get_logger()

SERVICE = "dashwright-expressions"


class ExpressionsWorker:
    """The worker over a database and a broker that somebody else opened."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._drain = settings.shutdown_seconds
        keys = secret_keys(settings)
        signer = Signer(*keys)
        self._relay = Relay(database, broker, signer)
        self._start_seconds = settings.start_seconds
        reach = Reach(AllowedHosts.of(settings.allowed_hosts))
        self._http = HttpClient(reach, connections=settings.source_connections)
        self._connections = Connections(reach, PoolLimits(connections=settings.source_connections))
        kinds: Kinds = {
            prometheus.TYPE: partial(Prometheus, http=self._http),
            **dict.fromkeys(postgres.TYPES, partial(Postgres, connections=self._connections)),
        }
        records = StoredRecords(database, SecretBox.of(*keys))
        sources = Directory(kinds, records, seconds=settings.source_seconds, testdata=settings.testdata)
        self._settings = query_settings(settings, sources)
        self._warming: asyncio.Task[None] | None = None
        self._queries = QueryConsumer(broker, signer, slots=settings.query_slots, waiting=settings.query_waiting, settings=self._settings)
        self._pictures = PictureConsumer(broker, signer, self._settings, seconds=settings.evaluation_seconds)
        keep = timedelta(seconds=settings.evaluation_result_seconds)
        self._jobs = JobConsumer(
            database,
            broker,
            self._relay,
            {EVALUATE: EvaluationRunner(database, self._settings, keep=keep)},
            clock,
            queue=broker.topology.evaluate,
            slots=settings.job_slots,
            lease=timedelta(seconds=settings.job_lease_seconds),
        )

    async def start(self) -> None:
        # Not awaited: all else is served before statements are, and the first of those waits for its child.
        self._warming = asyncio.create_task(self._warm(), name="sql-warm-up")
        self._relay.start()
        await self._queries.start()
        await self._pictures.start()
        await self._jobs.start()

    async def stop(self) -> None:
        """Takes nothing more, finishes what it has or hands it back, closes."""
        doors = (self._queries, self._pictures, self._jobs)
        await asyncio.gather(*(door.stop(drain=self._drain) for door in doors))
        await self._relay.stop()
        await self._http.close()
        await self._connections.close()
        await asyncio.to_thread(self._settings.close)
        if self._warming is not None:
            await self._warming

    async def _warm(self) -> None:
        """Without a first child statements are tried all the same, and everything else is served."""
        if self._settings.sql is None:
            return
        try:
            await asyncio.to_thread(self._settings.sql.warm, self._start_seconds)
            # The parser, imported just now, stays as well: full collections need not look at it.
            gc.freeze()
        except Unavailable as error:
            log.warning("sql_not_ready", reason=error.message)


async def serve(settings: Settings) -> None:
    """One worker process, until a signal stops it."""
    url = require(settings.database_url, "DATABASE_URL")
    secret_keys(settings)
    stopped = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    database = await process.start_with_retries(
        "database",
        lambda: Database.open(url, application_name=SERVICE, max_size=settings.database_pool_size),
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
        worker = ExpressionsWorker(settings, database, broker, Clock())
        try:
            await worker.start()
            with listening_at("PROBE", settings.probe_host, settings.probe_port):
                await probe_server.start(settings.probe_host, settings.probe_port)
            # What is there now stays: full collections need not look at it, and so stall no query.
            gc.freeze()
            log.info("serving")
            await stopped.wait()
        finally:
            await worker.stop()
            await probe_server.stop()
    finally:
        await broker.close()
        await database.close()


def main() -> None:
    sys.exit(process.run(SERVICE, serve))
