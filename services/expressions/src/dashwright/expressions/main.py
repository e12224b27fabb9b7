"""Composition of the expressions worker: queries and pictures by RPC, evaluations as jobs."""

import asyncio
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import structlog

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.host_resolver import HostResolver
from dashwright.common.jobs.routing import EVALUATE
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.signing import Signer
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings, secret_keys
from dashwright.common.work.consumer import JobConsumer
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.common.worker_process import run_worker
from dashwright.expressions.consumer import QueryConsumer, query_settings
from dashwright.expressions.heap_trimmer import map_large_blocks
from dashwright.expressions.jobs import EvaluationRunner
from dashwright.expressions.pictures.consumer import PictureConsumer
from dashwright.expressions.sources.http_client import HttpClient
from dashwright.expressions.sources.postgres import source as postgres
from dashwright.expressions.sources.postgres.connections import Connections, PoolLimits
from dashwright.expressions.sources.postgres.source import Postgres
from dashwright.expressions.sources.prometheus import source as prometheus
from dashwright.expressions.sources.prometheus.source import Prometheus
from dashwright.expressions.sources.registry import SourceFactories, SourceRegistry, StoredRecords

log = structlog.get_logger()

SERVICE = "dashwright-expressions"

#: The time after which a thread that evaluates lets the event loop run. The default of 5 ms adds up to a noticeable delay for small
#: requests, since each of them waits several times.
_SWITCH_SECONDS = 0.0001

#: Threads that parse large responses. Threads share the interpreter lock, so more threads would take memory and not be faster.
_PARSING_THREADS = 2


class ExpressionsWorker:
    """The worker. Its caller opens and closes the database and the broker."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._drain = settings.shutdown_seconds
        keys = secret_keys(settings)
        signer = Signer(*keys)
        self._wakeups = WakeupPublisher(broker)
        self._start_seconds = settings.start_seconds
        resolver = HostResolver(AllowedHosts.parse(settings.allowed_hosts))
        self._http = HttpClient(resolver, connections=settings.source_connections)
        self._parsing_threads = ThreadPoolExecutor(_PARSING_THREADS, thread_name_prefix="parsing")
        self._connections = Connections(resolver, PoolLimits(connections=settings.source_connections))
        factories: SourceFactories = {
            prometheus.TYPE: partial(Prometheus, http=self._http, threads=self._parsing_threads),
            **dict.fromkeys(postgres.TYPES, partial(Postgres, connections=self._connections)),
        }
        records = StoredRecords(database, SecretCipher.from_keys(*keys))
        sources = SourceRegistry(factories, records, seconds=settings.source_seconds, testdata=settings.testdata)
        self._settings = query_settings(settings, sources)
        self._warm_up_task: asyncio.Task[None] | None = None
        self._queries = QueryConsumer(broker, signer, slots=settings.query_slots, waiting=settings.query_waiting, settings=self._settings)
        self._pictures = PictureConsumer(broker, signer, self._settings, seconds=settings.evaluation_seconds)
        retention = timedelta(seconds=settings.evaluation_result_seconds)
        self._jobs = JobConsumer(
            database,
            broker,
            self._wakeups,
            {EVALUATE: EvaluationRunner(database, self._settings, retention=retention)},
            clock,
            pool=EVALUATE,
            queue=broker.topology.evaluate,
            slots=settings.evaluation_slots,
            lease=timedelta(seconds=settings.job_lease_seconds),
        )

    async def start(self) -> None:
        """Start to consume requests of queries and pictures, and jobs."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        map_large_blocks()
        # Not awaited, because only SQL statements need the child processes; the first statement waits for one.
        self._warm_up_task = asyncio.create_task(self._warm_up(), name="sql-warm-up")
        await self._queries.start()
        await self._pictures.start()
        await self._jobs.start()

    async def stop(self) -> None:
        """Stop consuming work, finish or return the running work, and close the connections to data sources."""
        consumers = (self._queries, self._pictures, self._jobs)
        await asyncio.gather(*(consumer.stop(drain=self._drain) for consumer in consumers))
        await self._wakeups.stop()
        await self._http.close()
        await self._connections.close()
        await asyncio.to_thread(self._settings.close)
        await asyncio.to_thread(self._parsing_threads.shutdown)
        if self._warm_up_task is not None:
            await self._warm_up_task

    async def _warm_up(self) -> None:
        """Start the child processes of SQL, if the feature is on."""
        if self._settings.sql is None:
            return
        try:
            await asyncio.to_thread(self._settings.sql.warm, self._start_seconds)
            # The SQL parser, which was just imported, is never freed, so garbage collections can skip it.
            gc.freeze()
        except Unavailable as error:
            # A failure is not an error of the service: each statement tries to start a child process again.
            log.warning("sql_not_ready", reason=error.message)


def main() -> None:
    """Run the worker and exit with its status."""
    sys.exit(run_worker(SERVICE, ExpressionsWorker))
