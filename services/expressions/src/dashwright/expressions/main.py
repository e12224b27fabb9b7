"""The expressions worker, composed: queries and pictures by RPC, evaluations as jobs."""

import asyncio
import gc
import sys
from datetime import timedelta
from functools import partial

import structlog

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.jobs.routing import EVALUATE
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.signing import Signer
from dashwright.common.reach import Reach
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings, secret_keys
from dashwright.common.work.consumer import JobConsumer
from dashwright.common.worker_process import run_worker
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
    """The worker over a database and a broker that its caller opens and closes."""

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
        """Start to take queries, pictures and jobs."""
        # Not awaited: everything but statements is served at this point, and the first statement waits for its child.
        self._warming = asyncio.create_task(self._warm(), name="sql-warm-up")
        self._relay.start()
        await self._queries.start()
        await self._pictures.start()
        await self._jobs.start()

    async def stop(self) -> None:
        """Stop taking work, finish what is running or hand it back, and close the sources."""
        consumers = (self._queries, self._pictures, self._jobs)
        await asyncio.gather(*(consumer.stop(drain=self._drain) for consumer in consumers))
        await self._relay.stop()
        await self._http.close()
        await self._connections.close()
        await asyncio.to_thread(self._settings.close)
        if self._warming is not None:
            await self._warming

    async def _warm(self) -> None:
        if self._settings.sql is None:
            return
        try:
            await asyncio.to_thread(self._settings.sql.warm, self._start_seconds)
            # The parser, which was just imported, lives as long as the process: full collections can skip it.
            gc.freeze()
        except Unavailable as error:
            # Statements still try to start a child of their own, and everything else is served.
            log.warning("sql_not_ready", reason=error.message)


def main() -> None:
    """Run the worker and exit with its status."""
    sys.exit(run_worker(SERVICE, ExpressionsWorker))
