"""The jobs worker, composed: every part is made here, explicitly, and started and stopped in order."""

import asyncio
import sys
from collections.abc import Mapping
from datetime import timedelta

import structlog

from dashwright.common import process
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.models.provisioning import Action
from dashwright.common.observability.probes import Probes, ProbeServer
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings, listening_at, require
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.work.consumer import JobConsumer, Runner
from dashwright.common.work.execution import Execution
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.adapters.checkouts import Checkouts
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.adapters.store import StoredResources
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.maintenance.chore import Chore
from dashwright.jobs_worker.maintenance.cleaner import Cleaner
from dashwright.jobs_worker.maintenance.dead_letters import DeadLetters
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.repository_calls import RepositoryCalls
from dashwright.jobs_worker.maintenance.rescuer import Rescuer
from dashwright.jobs_worker.maintenance.scheduler import Scheduler
from dashwright.jobs_worker.maintenance.tidier import Tidier
from dashwright.jobs_worker.sync_runner import SyncRunner

log = structlog.get_logger()

SERVICE = "dashwright-jobs-worker"
_STALE = timedelta(minutes=5)
_CLEAN_SECONDS = 60.0
_TIDY_SECONDS = 600.0
_PROBE_SLOTS = 8
_CALL_SLOTS = 8


class JobsWorker:
    """The worker over a database and a broker that somebody else opened."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._drain = settings.shutdown_seconds
        lease = timedelta(seconds=settings.job_lease_seconds)
        self._relay = Relay(database, broker)
        checkouts = Checkouts(settings, SecretBox.of(require(settings.secret_key, "SECRET_KEY")))
        prober = Prober(database, clock, checkouts.look)
        runners: Mapping[str, Runner] = {Action.SYNC.value: _sync_runner(settings, database, prober, clock, checkouts)}
        queue = broker.topology.work
        self._consumer = JobConsumer(database, broker, self._relay, runners, clock, queue=queue, slots=settings.job_slots, lease=lease)
        self._dead_letters = DeadLetters(database, broker, self._relay, clock)
        self._probes = RpcServer(broker, broker.topology.probe, prober.answer, prefetch=_PROBE_SLOTS)
        calls = RepositoryCalls(database, checkouts)
        self._calls = RpcServer(broker, broker.topology.repositories, calls.answer, prefetch=_CALL_SLOTS)
        self._rescuer = Rescuer(database, self._relay, clock, attempts=settings.job_attempts, stale=_STALE)
        self._scheduler = Scheduler(database, self._relay, prober, clock, checkouts.head) if settings.scheduling else None
        cleaner = Cleaner(
            database,
            history=settings.job_history,
            versions=settings.versions_kept,
            changes=timedelta(seconds=settings.change_seconds),
            trash=timedelta(days=settings.trash_days),
        )
        self._chores = [
            Chore("rescuer", self._rescuer.rescue, seconds=lease.total_seconds() / 3),
            Chore("cleaner", cleaner.clean, seconds=_CLEAN_SECONDS),
            Chore("tidier", Tidier(database, checkouts.mirrors).tidy, seconds=_TIDY_SECONDS),
        ]

    async def start(self) -> None:
        self._relay.start()
        await self._probes.start()
        await self._calls.start()
        await self._consumer.start()
        await self._dead_letters.start()
        for chore in self._chores:
            chore.start()
        if self._scheduler is not None:
            self._scheduler.start()

    async def wake_pending(self) -> None:
        """Queues every pending job again: what a broker that keeps nothing needs at its start."""
        await self._rescuer.wake(older_than=timedelta(0))

    async def stop(self) -> None:
        """Takes no more jobs, finishes those at work or hands them back, closes."""
        if self._scheduler is not None:
            await self._scheduler.stop()
        for chore in self._chores:
            await chore.stop()
        parts = (self._dead_letters, self._consumer, self._probes, self._calls)
        await asyncio.gather(*(part.stop(drain=self._drain) for part in parts))
        await self._relay.stop()


def _sync_runner(settings: Settings, database: Database, prober: Prober, clock: Clock, checkouts: Checkouts) -> SyncRunner:
    permitted = tuple(str(path) for path in settings.local_paths)
    admission = AdmissionSettings(permitted_paths=permitted, min_refresh_seconds=settings.min_refresh)

    def open_resources(job: StoredJob, execution: Execution, repository: Repository) -> StoredResources:
        rules = settings.quota_rules
        return StoredResources(database, clock, rules, repository=repository, job=job.uid, owner=execution.owner)

    return SyncRunner(
        database,
        prober,
        clock,
        open_checkout=checkouts.open,
        open_resources=open_resources,
        open_spool=FileSpool,
        read_yaml=read_yaml,
        admission=admission,
        largest_file=settings.repository_file_bytes,
    )


async def serve(settings: Settings) -> None:
    """One worker process, until a signal stops it."""
    url = require(settings.database_url, "DATABASE_URL")
    require(settings.secret_key, "SECRET_KEY")
    stopped = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    database = await process.patiently(
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
        await process.patiently("schema", lambda: process.require_schema(url), stopped, seconds=settings.start_seconds)
        await process.patiently("broker", broker.start, stopped, seconds=settings.start_seconds)
        worker = JobsWorker(settings, database, broker, Clock())
        try:
            await worker.start()
            with listening_at("PROBE", settings.probe_host, settings.probe_port):
                await probe_server.start(settings.probe_host, settings.probe_port)
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
