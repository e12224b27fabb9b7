"""The composition of the jobs worker: every part is constructed here explicitly, and started and stopped in order."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

import structlog

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.batch_results.reader import BatchResultReader
from dashwright.common.chore import Chore
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.host_resolver import HostResolver
from dashwright.common.jobs import routing
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.provisioning import Action
from dashwright.common.object_storage import ObjectStorage
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings, secret_keys
from dashwright.common.stores import jobs
from dashwright.common.work.consumer import JobConsumer, Runner
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.common.worker_process import run_worker
from dashwright.jobs_worker.actions.export import ExportLimits
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.exports import DatabaseExports
from dashwright.jobs_worker.adapters.git.budget import HostBudget
from dashwright.jobs_worker.adapters.git.references import ReferenceReader
from dashwright.jobs_worker.adapters.host.authors import CommitAuthors
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.adapters.picture_renderer import PictureRenderer
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.adapters.store import Attempt, DatabaseObjectStore
from dashwright.jobs_worker.adapters.webhooks import WebhookClient
from dashwright.jobs_worker.batches.archiver import BatchArchiver
from dashwright.jobs_worker.batches.controller import BatchController
from dashwright.jobs_worker.batches.item_replies import ItemReplySender
from dashwright.jobs_worker.calls.files import AdapterFactories, FileCalls
from dashwright.jobs_worker.calls.planner import SyncPlanner
from dashwright.jobs_worker.calls.repositories import MAX_CALLS, RepositoryCalls
from dashwright.jobs_worker.domain.objects import PROVISIONING_ACTOR, Repository
from dashwright.jobs_worker.domain.resource import rules_fingerprint
from dashwright.jobs_worker.maintenance.cleaner import Cleaner, CopyCleaner
from dashwright.jobs_worker.maintenance.hooks import Hooks, webhook_base_url
from dashwright.jobs_worker.maintenance.job_recovery import JobRecovery
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.scheduler import Scheduler
from dashwright.jobs_worker.notifications.channels import channels
from dashwright.jobs_worker.notifications.outcomes import NotificationBacklog, NotificationBound, NotificationOutcomes
from dashwright.jobs_worker.notifications.sender import NotificationSender
from dashwright.jobs_worker.ports import Checkout
from dashwright.jobs_worker.runners import pull_request, sync
from dashwright.jobs_worker.runners.export import ExportRunner
from dashwright.jobs_worker.runners.pull_request import PullRequestRunner
from dashwright.jobs_worker.runners.repository import RepositoryJob, RepositoryRunner
from dashwright.jobs_worker.runners.sync import SyncRunner

log = structlog.get_logger()

SERVICE = "dashwright-jobs-worker"
_CLEAN_INTERVAL_SECONDS = 60.0
_CLEAN_COPIES_INTERVAL_SECONDS = 600.0
_HOOK_INTERVAL_SECONDS = 5.0
_ARCHIVE_INTERVAL_SECONDS = 1.0
_REPLY_INTERVAL_SECONDS = 0.25
_OUTCOME_INTERVAL_SECONDS = 0.5
_BACKLOG_INTERVAL_SECONDS = 10.0
_PROBE_SLOTS = 8
"""Probes that one worker runs concurrently at the request of other processes."""


class JobsWorker:
    """The worker over a database and a broker that the caller opened."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._drain_seconds = settings.shutdown_seconds
        lease = timedelta(seconds=settings.job_lease_seconds)
        keys = secret_keys(settings)
        cipher, signer = SecretCipher.from_keys(*keys), Signer(*keys)
        self._wakeups = WakeupPublisher(broker)
        self._references = ReferenceReader(settings.git_authorities)
        budget = HostBudget(database, settings.host_requests)
        background_budget = HostBudget(database, settings.host_requests, leaves_reserve=True)
        checkouts = RepositoryCheckouts(settings, cipher, budget, self._references)
        background_checkouts = RepositoryCheckouts(settings, cipher, background_budget, self._references)
        prober = Prober(database, clock, checkouts.check_readable)
        self.host_client = _host_client(settings, database)
        self._renderer = PictureRenderer(database, broker, signer, settings.public_address)
        host = RestHost(self.host_client, cipher, settings.git_host_apis)
        runners: Mapping[str, Runner] = {
            Action.SYNC.value: _sync_runner(settings, database, prober, clock, checkouts, background_checkouts),
            Action.PR.value: _pull_request_runner(settings, database, clock, checkouts, host, self._renderer),
            Action.EXPORT.value: _export_runner(settings, database, checkouts),
        }
        pool, queue = routing.WORK, broker.topology.work
        self._consumer = JobConsumer(
            database, broker, self._wakeups, runners, clock, pool=pool, queue=queue, slots=settings.job_slots, lease=lease
        )
        self._webhooks = WebhookClient(HostResolver(AllowedHosts.parse(settings.allowed_hosts), "the webhook's"))
        notification_channels = channels(broker, self._webhooks, cipher, clock)
        self._notifications = NotificationSender(
            database, notification_channels, clock, period=timedelta(seconds=settings.notification_seconds)
        )
        self._batches = BatchController(database, self._wakeups, clock, self._notifications.wake)
        self._probes = RpcServer(broker, broker.topology.probe, prober.handle, signer, prefetch=_PROBE_SLOTS)
        planner, files = _planner(settings, database, clock, checkouts), _file_calls(settings, database, clock, checkouts)
        calls = RepositoryCalls(database, checkouts, CommitAuthors(host), planner, files)
        self._calls = RpcServer(broker, broker.topology.repositories, calls.handle, signer, prefetch=MAX_CALLS)
        recovery = JobRecovery(database, self._wakeups, clock, max_attempts=settings.job_attempts)
        scheduled_prober = Prober(database, clock, background_checkouts.check_readable)
        fingerprint = rules_fingerprint(_admission(settings), settings.repository_file_bytes, settings.folder_depth)
        self._scheduler = (
            Scheduler(
                database,
                self._wakeups,
                scheduled_prober,
                clock,
                background_checkouts.head,
                rules_fingerprint=fingerprint,
                max_waiting_jobs=settings.waiting_jobs,
            )
            if settings.scheduling
            else None
        )
        cleaner = Cleaner(
            database,
            history=settings.job_history,
            versions=settings.versions_kept,
            results=timedelta(seconds=settings.evaluation_result_seconds),
            changes=timedelta(seconds=settings.change_seconds),
            trash=timedelta(days=settings.trash_days),
        )
        result_storage = ObjectStorage.at(settings.results_location)
        archiver = BatchArchiver(database, result_storage, clock)
        replies = ItemReplySender(database, broker, BatchResultReader(database, result_storage))
        notification_bound = NotificationBound(database, keep=settings.notifications_kept)
        webhook_url = webhook_base_url(settings.public_url, AllowedHosts.parse(settings.allowed_hosts))
        self.hooks = Hooks(database, host, cipher, webhook_url)
        self._chores = [
            Chore("hook_removals", self.hooks.remove, seconds=_HOOK_INTERVAL_SECONDS),
            # A job waits at most a third of the lease longer than necessary.
            Chore("job_recovery", recovery.run_once, seconds=lease.total_seconds() / 3),
            Chore("batch_archiver", archiver.run_once, seconds=_ARCHIVE_INTERVAL_SECONDS),
            Chore("item_replies", replies.run_once, seconds=_REPLY_INTERVAL_SECONDS),
            Chore("notification_outcomes", NotificationOutcomes(database).run_once, seconds=_OUTCOME_INTERVAL_SECONDS),
            Chore("notification_bound", notification_bound.run_once, seconds=_BACKLOG_INTERVAL_SECONDS),
            Chore("notification_backlog", NotificationBacklog(database).run_once, seconds=_BACKLOG_INTERVAL_SECONDS),
            Chore("cleaner", cleaner.clean, seconds=_CLEAN_INTERVAL_SECONDS),
            Chore("copy_cleaner", CopyCleaner(database, checkouts.mirrors).clean, seconds=_CLEAN_COPIES_INTERVAL_SECONDS),
            *([Chore("hooks", self.hooks.refresh, seconds=_HOOK_INTERVAL_SECONDS)] if settings.scheduling else []),
        ]

    async def start(self) -> None:
        """Start all parts."""
        await self._probes.start()
        await self._calls.start()
        await self._renderer.start()
        await self._consumer.start()
        self._batches.start()
        self._notifications.start()
        for chore in self._chores:
            chore.start()
        if self._scheduler is not None:
            self._scheduler.start()

    async def stop(self) -> None:
        """Claim no more jobs, finish or requeue the running ones, and stop all parts."""
        if self._scheduler is not None:
            await self._scheduler.stop()
        await self._batches.stop()
        for chore in self._chores:
            await chore.stop()
        parts = (self._consumer, self._probes, self._calls, self._notifications)
        await asyncio.gather(*(part.stop(drain=self._drain_seconds) for part in parts))
        await self._renderer.stop()
        await self.host_client.close()
        await self._references.close()
        await self._webhooks.close()
        await self._wakeups.stop()


def _file_calls(settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts) -> FileCalls:
    quota_rules = settings.quota_rules

    def open_dry_run_store(repository: Repository, edition: int, actor: str, message: str) -> DatabaseObjectStore:
        return DatabaseObjectStore(
            database, clock, quota_rules, repository=repository, edition=edition, actor=actor or PROVISIONING_ACTOR, message=message
        )

    factories = AdapterFactories(open_dry_run_store, _tools_opener(settings))
    return FileCalls(database, clock, checkouts, factories)


def _planner(settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts) -> SyncPlanner:
    open_document_store, open_tools = _store_opener(settings, database, clock), _tools_opener(settings)
    return SyncPlanner(
        database, checkouts=checkouts, synced_commits=checkouts, open_document_store=open_document_store, open_tools=open_tools
    )


def _store_opener(settings: Settings, database: Database, clock: Clock) -> Callable[[Repository], DatabaseObjectStore]:
    """Return a function that opens the objects of a repository for reading."""
    quota_rules = settings.quota_rules
    # Only a write compares the edition, so a store for reading may have any.
    return lambda repository: DatabaseObjectStore(database, clock, quota_rules, repository=repository, edition=0)


def _tools_opener(settings: Settings) -> Callable[[], AbstractContextManager[SyncTools]]:
    """Return a function that opens the tools of one sync."""
    admission = _admission(settings)

    @contextmanager
    def open_tools() -> Iterator[SyncTools]:
        with FileSpool() as spool:
            yield SyncTools(spool, admission, settings.repository_file_bytes, settings.folder_depth)

    return open_tools


def _admission(settings: Settings) -> AdmissionSettings:
    return AdmissionSettings(permitted_paths=tuple(str(path) for path in settings.local_paths), min_refresh_seconds=settings.min_refresh)


def _sync_runner(
    settings: Settings,
    database: Database,
    prober: Prober,
    clock: Clock,
    checkouts: RepositoryCheckouts,
    background_checkouts: RepositoryCheckouts,
) -> RepositoryRunner:
    quota_rules = settings.quota_rules

    async def open_checkout(repository_job: RepositoryJob) -> Checkout | None:
        # Syncs that no caller waits for leave a share of the host's budget to the others.
        return await (background_checkouts if jobs.is_automatic(repository_job.job) else checkouts).open(repository_job.repository)

    def open_object_store(repository_job: RepositoryJob, edition: int) -> DatabaseObjectStore:
        attempt = Attempt(repository_job.job.uid, repository_job.execution.owner)
        return DatabaseObjectStore(database, clock, quota_rules, repository=repository_job.repository, edition=edition, attempt=attempt)

    runner = SyncRunner(
        database,
        prober,
        clock,
        open_checkout=open_checkout,
        synced_commits=checkouts,
        open_object_store=open_object_store,
        open_tools=_tools_opener(settings),
        max_entries=settings.repository_files,
    )
    return RepositoryRunner(database, runner.run, attempts=sync.ATTEMPTS)


def _host_client(settings: Settings, database: Database) -> HostClient:
    authorities = settings.git_authorities
    resolver = HostResolver(AllowedHosts.parse(settings.allowed_hosts), "the repository's")
    return HostClient(resolver, HostBudget(database, settings.host_requests), authorities.absolute() if authorities else None)


def _pull_request_runner(
    settings: Settings, database: Database, clock: Clock, checkouts: RepositoryCheckouts, host: RestHost, renderer: PictureRenderer
) -> RepositoryRunner:
    runner = PullRequestRunner(
        clock,
        host=host,
        pull_request_checkouts=checkouts,
        open_document_store=_store_opener(settings, database, clock),
        open_tools=_tools_opener(settings),
        renderer=renderer,
        gateway_address=settings.public_address,
    )
    return RepositoryRunner(database, runner.run, attempts=pull_request.ATTEMPTS)


def _export_runner(settings: Settings, database: Database, checkouts: RepositoryCheckouts) -> RepositoryRunner:
    def open_exports(repository_job: RepositoryJob) -> DatabaseExports:
        return DatabaseExports(database, repository_job.repository, Attempt(repository_job.job.uid, repository_job.execution.owner))

    limits = ExportLimits(settings.repository_files, settings.repository_file_bytes, settings.repository_bytes, settings.folder_depth)
    return RepositoryRunner(database, ExportRunner(checkouts=checkouts, open_exports=open_exports, open_spool=FileSpool, limits=limits).run)


def main() -> None:
    """Run the jobs worker until a signal stops it."""
    sys.exit(run_worker(SERVICE, JobsWorker))
