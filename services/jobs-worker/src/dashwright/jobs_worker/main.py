"""The composition of the jobs worker: every part is constructed here explicitly, and started and stopped in order."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import structlog

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.chore import Chore
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.provisioning import Action
from dashwright.common.reach import Reach
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings, secret_keys
from dashwright.common.stores import jobs
from dashwright.common.work.consumer import JobConsumer, Runner
from dashwright.common.worker_process import run_worker
from dashwright.jobs_worker.actions.export import Bounds
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.exports import StoredExports
from dashwright.jobs_worker.adapters.git.budget import HostBudget
from dashwright.jobs_worker.adapters.host.authors import CommitAuthors
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.adapters.picture_renderer import PictureRenderer
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.adapters.store import Attempt, StoredResources
from dashwright.jobs_worker.calls.files import AdapterFactories, FileCalls
from dashwright.jobs_worker.calls.planner import Planner
from dashwright.jobs_worker.calls.repositories import CALLS_IN_HAND, RepositoryCalls
from dashwright.jobs_worker.domain.objects import ACTOR, Repository
from dashwright.jobs_worker.domain.resource import rules_fingerprint
from dashwright.jobs_worker.maintenance.cleaner import Cleaner, CopyCleaner
from dashwright.jobs_worker.maintenance.dead_letters import DeadLetters
from dashwright.jobs_worker.maintenance.hooks import Hooks, webhook_base_url
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.rescuer import Rescuer
from dashwright.jobs_worker.maintenance.scheduler import Scheduler
from dashwright.jobs_worker.ports import Checkout
from dashwright.jobs_worker.runners import pull_request, sync
from dashwright.jobs_worker.runners.export import ExportRunner
from dashwright.jobs_worker.runners.pull_request import PullRequestRunner
from dashwright.jobs_worker.runners.repository import RepositoryJob, RepositoryRunner
from dashwright.jobs_worker.runners.sync import SyncRunner

log = structlog.get_logger()

SERVICE = "dashwright-jobs-worker"
_STALE = timedelta(minutes=5)
_CLEAN_SECONDS = 60.0
_CLEAN_COPIES_SECONDS = 600.0
_HOOK_SECONDS = 5.0
_PROBE_SLOTS = 8


class JobsWorker:
    """The worker over a database and a broker that the caller opened."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._drain = settings.shutdown_seconds
        lease = timedelta(seconds=settings.job_lease_seconds)
        keys = secret_keys(settings)
        box, signer = SecretBox.of(*keys), Signer(*keys)
        self._relay = Relay(database, broker, signer)
        checkouts = RepositoryCheckouts(settings, box, HostBudget(database, settings.host_requests))
        background = RepositoryCheckouts(settings, box, HostBudget(database, settings.host_requests, yields=True))
        prober = Prober(database, clock, checkouts.check_readable)
        self.host_client = _host_client(settings, database)
        self._renderer = PictureRenderer(database, broker, signer, settings.public_address)
        host = RestHost(self.host_client, box, settings.git_host_apis)
        runners: Mapping[str, Runner] = {
            Action.SYNC.value: _sync_runner(settings, database, prober, clock, checkouts, background),
            Action.PR.value: _pull_request_runner(settings, database, clock, checkouts, host, self._renderer),
            Action.EXPORT.value: _export_runner(settings, database, checkouts),
        }
        queue = broker.topology.work
        self._consumer = JobConsumer(database, broker, self._relay, runners, clock, queue=queue, slots=settings.job_slots, lease=lease)
        self._dead_letters = DeadLetters(database, broker, self._relay, signer, clock)
        self._probes = RpcServer(broker, broker.topology.probe, prober.handle, signer, prefetch=_PROBE_SLOTS)
        planner, files = _planner(settings, database, clock, checkouts), _file_calls(settings, database, clock, checkouts)
        calls = RepositoryCalls(database, checkouts, CommitAuthors(host), planner, files)
        self._calls = RpcServer(broker, broker.topology.repositories, calls.handle, signer, prefetch=CALLS_IN_HAND)
        self._rescuer = Rescuer(database, self._relay, clock, max_attempts=settings.job_attempts, stale_after=_STALE)
        by_itself = Prober(database, clock, background.check_readable)
        judged_by = rules_fingerprint(_admission(settings), settings.repository_file_bytes, settings.folder_depth)
        self._scheduler = (
            Scheduler(database, self._relay, by_itself, clock, background.head, rules=judged_by) if settings.scheduling else None
        )
        cleaner = Cleaner(
            database,
            history=settings.job_history,
            versions=settings.versions_kept,
            results=timedelta(seconds=settings.evaluation_result_seconds),
            changes=timedelta(seconds=settings.change_seconds),
            trash=timedelta(days=settings.trash_days),
        )
        public = webhook_base_url(settings.public_url, AllowedHosts.of(settings.allowed_hosts))
        self.hooks = Hooks(database, host, box, public)
        self._chores = [
            Chore("hook_removals", self.hooks.remove, seconds=_HOOK_SECONDS),
            Chore("rescuer", self._rescuer.rescue, seconds=lease.total_seconds() / 3),
            Chore("cleaner", cleaner.clean, seconds=_CLEAN_SECONDS),
            Chore("copy_cleaner", CopyCleaner(database, checkouts.mirrors).clean, seconds=_CLEAN_COPIES_SECONDS),
            *([Chore("hooks", self.hooks.refresh, seconds=_HOOK_SECONDS)] if settings.scheduling else []),
        ]

    async def start(self) -> None:
        """Start all parts."""
        self._relay.start()
        await self._probes.start()
        await self._calls.start()
        await self._renderer.start()
        await self._consumer.start()
        await self._dead_letters.start()
        for chore in self._chores:
            chore.start()
        if self._scheduler is not None:
            self._scheduler.start()

    async def wake_pending(self) -> None:
        """Wake every pending job, as a broker without persistence needs at its start."""
        await self._rescuer.wake(older_than=timedelta(0))

    async def stop(self) -> None:
        """Take no more jobs, finish or return those at work, and stop all parts."""
        if self._scheduler is not None:
            await self._scheduler.stop()
        for chore in self._chores:
            await chore.stop()
        parts = (self._dead_letters, self._consumer, self._probes, self._calls)
        await asyncio.gather(*(part.stop(drain=self._drain) for part in parts))
        await self._renderer.stop()
        await self.host_client.close()
        await self._relay.stop()


def _file_calls(settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts) -> FileCalls:
    def open_objects(repository: Repository, edition: int, actor: str, message: str) -> StoredResources:
        rules_fingerprint = settings.quota_rules
        return StoredResources(
            database, clock, rules_fingerprint, repository=repository, edition=edition, actor=actor or ACTOR, message=message
        )

    factories = AdapterFactories(open_objects, partial(_open_tools, settings))
    return FileCalls(database, clock, checkouts, factories)


def _planner(settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts) -> Planner:
    open_stored, open_tools = _opening_stored(settings, database, clock), partial(_open_tools, settings)
    return Planner(database, checkouts=checkouts, commits=checkouts, open_stored=open_stored, open_tools=open_tools)


def _opening_stored(settings: Settings, database: Database, clock: Clock) -> Callable[[Repository], StoredResources]:
    """Return a constructor of stores that only read."""
    return lambda repository: StoredResources(database, clock, settings.quota_rules, repository=repository, edition=0)


@contextmanager
def _open_tools(settings: Settings) -> Iterator[SyncTools]:
    with FileSpool() as spool:
        yield SyncTools(spool, _admission(settings), settings.repository_file_bytes, settings.folder_depth)


def _admission(settings: Settings) -> AdmissionSettings:
    return AdmissionSettings(permitted_paths=tuple(str(path) for path in settings.local_paths), min_refresh_seconds=settings.min_refresh)


def _sync_runner(
    settings: Settings, database: Database, prober: Prober, clock: Clock, checkouts: RepositoryCheckouts, background: RepositoryCheckouts
) -> RepositoryRunner:
    async def open_checkout(work: RepositoryJob) -> Checkout | None:
        # Syncs that no caller waits for leave a share of the host's budget to the others.
        return await (background if jobs.is_scheduled(work.job) else checkouts).open(work.repository)

    def open_resources(work: RepositoryJob, edition: int) -> StoredResources:
        attempt = Attempt(work.job.uid, work.execution.owner)
        return StoredResources(database, clock, settings.quota_rules, repository=work.repository, edition=edition, attempt=attempt)

    runner = SyncRunner(
        database,
        prober,
        clock,
        open_checkout=open_checkout,
        commits=checkouts,
        open_resources=open_resources,
        open_tools=partial(_open_tools, settings),
        most_entries=settings.repository_files,
    )
    return RepositoryRunner(database, runner.run, attempts=sync.ATTEMPTS)


def _host_client(settings: Settings, database: Database) -> HostClient:
    authorities = settings.git_authorities
    reach = Reach(AllowedHosts.of(settings.allowed_hosts), "the repository's")
    return HostClient(reach, HostBudget(database, settings.host_requests), authorities.absolute() if authorities else None)


def _pull_request_runner(
    settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts, host: RestHost, renderer: PictureRenderer
) -> RepositoryRunner:
    runner = PullRequestRunner(
        host=host,
        proposals=checkouts,
        open_stored=_opening_stored(settings, database, clock),
        open_tools=partial(_open_tools, settings),
        renderer=renderer,
        address=settings.public_address,
    )
    return RepositoryRunner(database, runner.run, attempts=pull_request.ATTEMPTS)


def _export_runner(settings: Settings, database: Database, checkouts: RepositoryCheckouts) -> RepositoryRunner:
    def open_exports(work: RepositoryJob) -> StoredExports:
        return StoredExports(database, work.repository, Attempt(work.job.uid, work.execution.owner))

    bounds = Bounds(settings.repository_files, settings.repository_file_bytes, settings.repository_bytes, settings.folder_depth)
    return RepositoryRunner(database, ExportRunner(checkouts=checkouts, open_exports=open_exports, open_spool=FileSpool, bounds=bounds).run)


def main() -> None:
    """Run the jobs worker until a signal stops it."""
    sys.exit(run_worker(SERVICE, JobsWorker))
