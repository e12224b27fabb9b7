"""Composition root of the gateway: it creates every part, and starts and stops them in order."""

import asyncio
import sys

import structlog

from dashwright.api import tls
from dashwright.api.access.permissions import Permissions
from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts.grants import Grants
from dashwright.api.accounts.members import Members
from dashwright.api.accounts.organizations import Organizations
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.accounts.service_accounts import ServiceAccounts
from dashwright.api.accounts.users import Users
from dashwright.api.auth.authentication import Authentication
from dashwright.api.auth.token_life import LifeLimits
from dashwright.api.batches.group_additions import GroupAdditions
from dashwright.api.batches.open_batch import ItemLimits
from dashwright.api.changes.feed import Feed
from dashwright.api.classic import small_objects
from dashwright.api.classic.annotations import Annotations
from dashwright.api.classic.dashboards import Dashboards
from dashwright.api.classic.folders import Folders
from dashwright.api.classic.imports import Imports
from dashwright.api.classic.library_elements import LibraryElements
from dashwright.api.classic.routes import access_rules, annotations, dashboards, folders, home, imports, library_elements, search, versions
from dashwright.api.data_source_proxy.client import ProxyClient, proxy_client
from dashwright.api.data_sources import DataSources
from dashwright.api.dead_letters.parts import DeadLetterParts
from dashwright.api.housekeeping import CLEAN_INTERVAL_SECONDS, create_cleaner
from dashwright.api.http.addresses import TrustedProxies
from dashwright.api.http.origins import OriginPolicy
from dashwright.api.http.routing import Route
from dashwright.api.http.server import Limits, Server
from dashwright.api.job_repositories import JobRepositories
from dashwright.api.jobs import Jobs
from dashwright.api.pictures import dashboard_page, render
from dashwright.api.pictures.dashboard_pictures import DashboardPictures
from dashwright.api.refusals import RefusalBuffer
from dashwright.api.repositories.configuration_reader import ConfigurationReader
from dashwright.api.repositories.files import Files
from dashwright.api.repositories.provisioning.rounds import create_rounds
from dashwright.api.repositories.queue_batches import QueueBatches
from dashwright.api.repositories.queue_submissions import QueueSubmissions
from dashwright.api.repositories.routes import asyncapi, inspection, overview, preview, rollback, webhooks
from dashwright.api.repositories.routes import files as repository_files
from dashwright.api.repositories.routes import jobs as repository_jobs
from dashwright.api.repositories.routes import pictures as repository_pictures
from dashwright.api.repositories.routes.versions import in_each_version
from dashwright.api.repositories.webhooks import DeliveryTimes, Webhooks
from dashwright.api.resources.discovery import prefer_version
from dashwright.api.resources.services import Services, create_services
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.api.retained_memory import limit_retained_memory
from dashwright.api.routes import (
    access_control,
    access_review,
    admin_server,
    admin_users,
    alerting,
    audit,
    auth_keys,
    data_source_health,
    data_source_proxy,
    description,
    discovery,
    frontend,
    health,
    org_users,
    orgs,
    panels,
    plugins,
    preferences,
    query,
    quotas,
    resource_search,
    service_account_tokens,
    service_accounts,
    start_page,
    teams,
    user,
    users,
)
from dashwright.api.routes import data_sources as data_source_routes
from dashwright.api.routes import evaluations as evaluation_routes
from dashwright.api.routes import resources as resource_routes
from dashwright.api.stores.users import StoredPassword, ensure_first_user, has_no_users, server_admins
from dashwright.api.workers.panel_validation import PanelValidationClient
from dashwright.api.workers.picture_client import PictureClient
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.api.workers.sync_status import SyncStatusWriter
from dashwright.common import process
from dashwright.common.chore import Chore
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database, set_connection_holder
from dashwright.common.kinds.registry import DASHBOARD, KINDS
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.messaging.signing import Signer
from dashwright.common.observability.probes import Probes
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings, SettingsError, reporting_listen_errors, require, secret_keys
from dashwright.common.settings_fields import DEFAULT_PASSWORD
from dashwright.common.stores import data_sources
from dashwright.common.stores.changes import READS_BY_SNAPSHOT
from dashwright.common.work.wakeups import WakeupPublisher

log = structlog.get_logger()

SERVICE = "dashwright-api"

_MAX_CHECKED_ADMINS = 5
"""Limit on the server admins whose passwords are checked at startup, which takes about 100 ms for each."""


class Gateway:
    """A gateway over an open database and broker, which it does not close."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        keys = secret_keys(settings)
        self._cipher, signer = SecretCipher.from_keys(*keys), Signer(*keys)
        refusals = RefusalBuffer(database)
        self.authentication = Authentication(settings, database, clock, refusals.record_failed_login)
        self._rpc = RpcClient(broker, signer)
        self._wakeups = WakeupPublisher(broker)
        health_client = RepositoryHealthClient(broker, self._rpc, clock)
        cleaner = create_cleaner(settings, database, clock)
        delivery_times = DeliveryTimes(database)
        flushes = {"last_used": self.authentication.last_use_times.flush, "refusals": refusals.flush, "last_events": delivery_times.flush}
        self._chores = [
            *(Chore(name, flush, seconds=settings.last_used_seconds, final_round=True) for name, flush in flushes.items()),
            Chore("clean", cleaner.clean, seconds=CLEAN_INTERVAL_SECONDS),
        ]
        self._feed = Feed(database)
        policy = AccessPolicy(database, self._feed)
        self._sync_status = SyncStatusWriter(database)
        job_repositories = JobRepositories(database, policy)
        jobs = Jobs(
            database,
            self._wakeups,
            health_client,
            PanelValidationClient(broker, self._rpc),
            clock,
            job_repositories,
            self._sync_status,
            max_evaluations=settings.evaluations_kept,
            max_waiting_jobs=settings.waiting_jobs,
        )
        self._dead_letters = DeadLetterParts(settings, database, broker, clock)
        limits = Limits(
            request_seconds=settings.query_seconds + 5,  # Queries report their own timeout, so the request must outlast them.
            drain_seconds=settings.shutdown_seconds,
            write_seconds=settings.write_seconds,
            response_bytes=settings.response_bytes,
            address_connections=settings.address_connections,
        )
        self.authentication.identity_cache.on_invalidation(self._feed.end_watches)
        jobs_worker = RepositoryClient(database, broker, self._rpc, health_client)
        dead_letters = self._dead_letters.use_cases
        item_limits = ItemLimits(max_items=settings.batch_items, max_waiting_jobs=settings.waiting_jobs)
        services = create_services(
            settings, database, jobs, job_repositories, item_limits, dead_letters, self._feed, clock, self._cipher, jobs_worker, policy
        )
        queue_batches = QueueBatches(database, services.writer, job_repositories, GroupAdditions(database, item_limits))
        self._queue_submissions = QueueSubmissions(
            broker, jobs, queue_batches, self.authentication.authenticator, allows_anonymous=settings.queue_identity
        )
        self._provisioning = create_rounds(settings, database, services.writer)
        pictures = DashboardPictures(PictureClient(broker, self._rpc), database, services.policy)
        webhook_receiver = Webhooks(database, jobs, self._cipher, clock, delivery_times)
        repository_routes = _repository_routes(services, jobs_worker, health_client, TokenSealer(self._cipher), pictures, webhook_receiver)
        probes = Probes()
        self._proxy = proxy_client(settings)
        self.routes = _routes(
            services, self.authentication, broker, self._rpc, self._cipher, pictures, self._proxy, repository_routes, probes
        )
        proxies, origins = TrustedProxies(settings.trusted_proxies), OriginPolicy.from_settings(settings)
        self._server = Server(
            self.routes,
            self.authentication.authenticator,
            limits,
            refusals,
            proxies,
            services.policy,
            origins=origins,
            headers=tls.response_headers(settings),
            # The database connections of a request count towards the share of its caller.
            on_identified=set_connection_holder,
        )
        probes.add("serving", self._server.check)
        self._tls = tls.server_context(settings, clock.now())

    async def start(self) -> str:
        """Start serving, and return the address. Raises SettingsError for an exposed server with a default password."""
        settings = self._settings
        async with self._database.connection() as connection:
            # The check comes before the hash, since hashing is slow by design and only the first start needs it.
            if await has_no_users(connection):
                password_hash = await self.authentication.passwords.hash(settings.admin_password.get_secret_value())
                if await ensure_first_user(connection, settings.admin_user, password_hash):
                    log.info("first_user_created", login=settings.admin_user)
            admins = await server_admins(connection, limit=_MAX_CHECKED_ADMINS) if settings.refuses_weak_passwords else ()
            if undecryptable_count := await data_sources.count_foreign(connection, self._cipher):
                log.warning(
                    "secrets_of_another_key",
                    count=undecryptable_count,
                    advice="restore the former DASHWRIGHT_SECRET_KEY, or enter these secrets again",
                )
        for admin in admins:
            await self._require_unguessable_password(admin)
        # The identity cache and the change feed listen before the first request, since nothing is cached until they listen.
        await self.authentication.start()
        await self._feed.start()
        for chore in self._chores:
            chore.start()
        self._provisioning.start()
        await self._rpc.start()
        # Submissions need RPC to check the health of repositories.
        await self._queue_submissions.start()
        await self._dead_letters.start()
        with reporting_listen_errors("HTTP", settings.http_host, settings.http_port):
            port = await self._server.start(settings.http_host, settings.http_port, self._tls)
        host = f"[{settings.http_host}]" if ":" in settings.http_host else settings.http_host
        return f"{'https' if self._tls else 'http'}://{host}:{port}"

    async def _require_unguessable_password(self, admin: StoredPassword) -> None:
        """Raise SettingsError if a server admin has an empty or default password, or the login as password."""
        for guess in ("", DEFAULT_PASSWORD, admin.login):
            if await self.authentication.passwords.verify(admin.password_hash, guess, salt=admin.salt):
                raise SettingsError(
                    f"DASHWRIGHT_HTTP_HOST {self._settings.http_host} listens beyond this machine, and the account {admin.login} has the "
                    "default password, its login as password, or none: start with DASHWRIGHT_HTTP_HOST=127.0.0.1 and set another "
                    "password by PUT /api/user/password. If the password is intended, set DASHWRIGHT_ALLOW_DEFAULT_PASSWORD=true"
                )

    async def stop(self) -> None:
        """Stop accepting requests and submissions, finish those in progress, and close."""
        await self._server.drain(self._settings.drain_seconds)
        await self._provisioning.stop()
        # Wake-ups, RPC and chores stop last: requests in progress still publish, call and record.
        await asyncio.gather(self._feed.stop(), self._server.stop(), self._queue_submissions.stop(drain=self._settings.shutdown_seconds))
        await self._dead_letters.stop()
        await self._sync_status.stop()
        await self._wakeups.stop()
        await self._rpc.close()
        await self._proxy.close()
        for chore in self._chores:
            await chore.stop()
        await self.authentication.stop()


def _routes(
    services: Services,
    authentication: Authentication,
    broker: Broker,
    rpc: RpcClient,
    cipher: SecretCipher,
    pictures: DashboardPictures,
    proxy: ProxyClient,
    repository_routes: list[Route],
    probes: Probes,
) -> list[Route]:
    """Return all routes, and add the checks of the database and the broker to ``probes``."""
    settings, database, clock = services.settings, services.database, services.clock
    probes.add(health.DATABASE_CHECK, database.check)
    probes.add("broker", broker.check)
    query_client = query.QueryClient(broker, rpc, seconds=settings.query_seconds)
    dashboard_use_cases = Dashboards(database, services.policy, services.writer, services.conversion_contexts)
    element_use_cases = LibraryElements(database, services.policy, services.writer)
    served_routes = [
        *health.routes(probes, reported_version=settings.reported_version, metrics_token=settings.metrics_token),
        *discovery.routes(prefer_version(KINDS, DASHBOARD.group, settings.preferred_dashboard_version)),
        *access_review.routes(KINDS, database, services.policy, authentication.authenticator),
        *resource_routes.routes(services),
        *repository_routes,
        *evaluation_routes.routes(database),
        *query.routes(query_client, body_limit=settings.max_body_bytes),
        *render.routes(dashboard_use_cases, pictures),
        *dashboard_page.routes(dashboard_use_cases, pictures, database, services.policy),
        *panels.routes(query_client, body_limit=settings.max_body_bytes),
        *data_source_routes.routes(database, DataSources(database, cipher, settings.quota_rules)),
        *data_source_health.routes(database, broker, rpc, seconds=settings.query_seconds),
        *data_source_proxy.routes(database, cipher, proxy, body_limit=settings.max_body_bytes),
        *_account_routes(settings, database, authentication, clock, services.policy),
        *_key_routes(settings, database, authentication, clock),
        *quotas.routes(database, settings.quota_rules),
        *audit.routes(database),
        *alerting.routes(),
        *plugins.routes(reported_version=settings.reported_version),
        *teams.routes(database, RightsTransactions(database, authentication.identity_cache)),
        *preferences.routes(database),
        *start_page.routes(database, services.policy),
        *search.routes(database, services.policy, trash_days=settings.trash_days),
        *resource_search.routes(database, services.policy),
        *home.routes(database, services.policy),
        *search.tag_routes(database, services.policy),
        *access_rules.routes(Permissions(database, services.policy)),
        *folders.routes(database, services.policy, Folders(database, services.policy, services.writer)),
        *dashboards.routes(database, services.policy, dashboard_use_cases),
        *versions.routes(database, dashboard_use_cases),
        *library_elements.routes(database, services.policy, element_use_cases),
        *imports.routes(dashboard_use_cases, Imports(database, dashboard_use_cases, element_use_cases)),
        *annotations.routes(Annotations(database, services.policy, clock)),
        *small_objects.routes(services),
        *asyncapi.routes(version=health.PRODUCT_VERSION),
    ]
    return [*served_routes, *description.routes(served_routes, version=health.PRODUCT_VERSION)]


def _repository_routes(
    services: Services,
    jobs_worker: RepositoryClient,
    health_client: RepositoryHealthClient,
    sealing: TokenSealer,
    pictures: DashboardPictures,
    webhook_receiver: Webhooks,
) -> list[Route]:
    database = services.database
    files = Files(database, services.policy, jobs_worker, services.clock)
    versioned_routes = [
        *repository_jobs.routes(services.jobs, jobs_worker),
        *rollback.routes(services.jobs, database, jobs_worker),
        *overview.routes(database),
        *inspection.routes(ConfigurationReader(database, sealing, services.admission), jobs_worker, health_client),
        *repository_files.routes(files),
        *webhooks.routes(webhook_receiver),
        *repository_pictures.routes(database),
    ]
    return [*in_each_version(versioned_routes), *preview.routes(files, pictures)]


def _account_routes(
    settings: Settings, database: Database, authentication: Authentication, clock: Clock, policy: AccessPolicy
) -> list[Route]:
    """Return the routes of organizations, users and permissions, and of the settings that Grafana's frontend reads first."""
    transactions, quota_rules = RightsTransactions(database, authentication.identity_cache), settings.quota_rules
    user_use_cases = Users(database, transactions, authentication.passwords, quota_rules, settings.password_policy)
    return [
        *frontend.routes(database, settings),
        *orgs.routes(database, Organizations(transactions, quota_rules)),
        *org_users.routes(database, Members(database, transactions, quota_rules), clock),
        *users.routes(database, user_use_cases, clock),
        *user.routes(database, user_use_cases, authentication.throttle, policy),
        *admin_users.routes(user_use_cases),
        *admin_server.routes(database, settings),
        *access_control.routes(database, Grants(transactions)),
    ]


def _key_routes(settings: Settings, database: Database, authentication: Authentication, clock: Clock) -> list[Route]:
    """Return the routes of API keys, and of service accounts and their tokens."""
    limits = LifeLimits(settings.api_key_max_seconds_to_live, settings.token_expiration_day_limit)
    accounts = ServiceAccounts(database, authentication.key_hashes, authentication.identity_cache, settings.quota_rules, limits, clock)
    return [
        *auth_keys.routes(database, authentication.identity_cache, clock),
        *service_accounts.routes(database, accounts, clock),
        *service_account_tokens.routes(database, accounts, clock),
    ]


async def serve(settings: Settings) -> None:
    """Run a gateway process until a signal stops it."""
    url = require(settings.database_url, "DATABASE_URL")
    # Only checked here, so that a missing key is reported before anything is started.
    secret_keys(settings)
    process.raise_open_file_limit(settings.watches)
    limit_retained_memory()
    stopped = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    # Other gateways find the suffix in the list of database sessions: this gateway permits concurrent writers (decision 12).
    database = await process.start_with_retries(
        "database",
        lambda: Database.open(url, application_name=SERVICE + READS_BY_SNAPSHOT, max_size=settings.gateway_connections),
        stopped,
        timeout_seconds=settings.start_seconds,
    )
    try:
        await process.start_with_retries("schema", lambda: process.require_schema(url), stopped, timeout_seconds=settings.start_seconds)
        await process.start_with_retries("broker", broker.start, stopped, timeout_seconds=settings.start_seconds)
        gateway = Gateway(settings, database, broker, Clock())
        try:
            address = await gateway.start()
            log.info("serving", address=address)
            await stopped.wait()
        finally:
            await gateway.stop()
    finally:
        await broker.close()
        await database.close()


def main() -> None:
    """Run the gateway as the program of this process."""
    sys.exit(process.run(SERVICE, serve))
