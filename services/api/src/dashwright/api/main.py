"""Composition root of the gateway: it creates every part, and starts and stops them in order."""

import asyncio
import ctypes
import sys
from collections.abc import Mapping

import structlog

from dashwright.api import tls
from dashwright.api.access.permissions import Permissions
from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts.grants import Grants
from dashwright.api.accounts.members import Members
from dashwright.api.accounts.organizations import Organizations
from dashwright.api.accounts.rights import Rights
from dashwright.api.accounts.service_accounts import ServiceAccounts
from dashwright.api.accounts.users import Users
from dashwright.api.auth.authentication import Authentication
from dashwright.api.auth.token_life import LifeLimits
from dashwright.api.changes.feed import Feed
from dashwright.api.classic.annotations import Annotations
from dashwright.api.classic.dashboards import Dashboards
from dashwright.api.classic.folders import Folders
from dashwright.api.classic.library_elements import LibraryElements
from dashwright.api.classic.routes import access_rules, annotations, dashboards, folders, home, library_elements, search, versions
from dashwright.api.data_sources import DataSources
from dashwright.api.housekeeping import CLEAN_SECONDS, Cleaner
from dashwright.api.http.addresses import Addresses
from dashwright.api.http.origins import OriginPolicy
from dashwright.api.http.response import SAFE_HEADERS
from dashwright.api.http.routing import Route
from dashwright.api.http.server import Limits, Server
from dashwright.api.jobs import Jobs
from dashwright.api.pictures import dashboard_page, render
from dashwright.api.refusals import RefusalBuffer
from dashwright.api.repositories.configurations import Configurations
from dashwright.api.repositories.files import Files
from dashwright.api.repositories.queue_submissions import QueueSubmissions
from dashwright.api.repositories.routes import files as repository_files
from dashwright.api.repositories.routes import inspection, overview, preview, rollback, webhooks
from dashwright.api.repositories.routes import jobs as repository_jobs
from dashwright.api.repositories.routes import pictures as repository_pictures
from dashwright.api.repositories.webhooks import LastEvents, Webhooks
from dashwright.api.resources.services import Services
from dashwright.api.resources.watching.lines import Lines
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.routes import (
    access_control,
    access_review,
    admin_server,
    admin_users,
    audit,
    auth_keys,
    data_source_health,
    description,
    discovery,
    frontend,
    health,
    org_users,
    orgs,
    panels,
    preferences,
    query,
    quotas,
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
from dashwright.api.stores.users import StoredPassword, ensure_first_user, lacks_users, server_admins
from dashwright.api.workers.panel_validation import PanelValidationClient
from dashwright.api.workers.picture_client import PictureClient
from dashwright.api.workers.queued_syncs import QueuedSyncs
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common import process
from dashwright.common.chore import Chore
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.database.shares import set_connection_holder
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import KINDS
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.messaging.signing import Signer
from dashwright.common.observability.probes import Probes
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings, SettingsError, listening_at, require, secret_keys
from dashwright.common.settings_fields import DEFAULT_PASSWORD
from dashwright.common.stores import data_sources

log = structlog.get_logger()

SERVICE = "dashwright-api"

_KEEP_TO_TLS = f"max-age={365 * 86_400}"
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK = 512 * 1024
_ADMINS_CHECKED = 5
"""Server admins whose passwords are checked at a start. Each takes about 100 ms."""


class Gateway:
    """A gateway over an open database and broker, which it does not close."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        keys = secret_keys(settings)
        self._box, signer = SecretBox.of(*keys), Signer(*keys)
        refusals = RefusalBuffer(database)
        self.authentication = Authentication(settings, database, clock, refusals.note_login)
        self._rpc = RpcClient(broker, signer)
        self._relay = Relay(database, broker, signer)
        probe = RepositoryHealthClient(broker, self._rpc, clock)
        cleaning = Cleaner(database, clock, expired_token_days=settings.expired_token_days, audit_days=settings.audit_days)
        events = LastEvents(database)
        flushes = {"last_used": self.authentication.last_used.flush, "refusals": refusals.flush, "last_events": events.flush}
        self._chores = [
            *(Chore(name, flush, seconds=settings.last_used_seconds, final_round=True) for name, flush in flushes.items()),
            Chore("clean", cleaning.clean, seconds=CLEAN_SECONDS),
        ]
        self._feed = Feed(database)
        policy = AccessPolicy(database, self._feed)
        self._queued = QueuedSyncs(database)
        panels_of_jobs, kept = PanelValidationClient(broker, self._rpc), settings.evaluations_kept
        jobs = Jobs(database, self._relay, probe, panels_of_jobs, clock, policy, self._queued, evaluations_kept=kept)
        self._queue_submissions = QueueSubmissions(broker, jobs, self.authentication.authenticator, queue_identity=settings.queue_identity)
        limits = Limits(
            request_seconds=settings.query_seconds + 5,  # Queries report their own timeout, so the request must outlast them.
            drain_seconds=settings.shutdown_seconds,
            write_seconds=settings.write_seconds,
            response_bytes=settings.response_bytes,
            address_connections=settings.address_connections,
        )
        self.authentication.identities.on_forgotten(self._feed.forget)
        worker = RepositoryClient(database, broker, self._rpc, probe)
        services = _services(settings, database, jobs, self._feed, clock, self._box, worker, policy)
        pictures, hooks = PictureClient(broker, self._rpc), Webhooks(database, jobs, self._box, clock, events)
        of_repositories = _repository_routes(services, worker, probe, TokenSealer(self._box), pictures, hooks)
        self.routes = _routes(services, self.authentication, broker, self._rpc, self._box, pictures, of_repositories)
        addresses, origins = Addresses(settings.trusted_proxies), OriginPolicy.of(settings)
        self._server = Server(
            self.routes,
            self.authentication.authenticator,
            limits,
            refusals,
            addresses,
            services.policy,
            origins=origins,
            headers=_headers(settings),
            identified=_set_connection_holder,
        )
        self._tls = tls.context_of(settings, clock.now())

    async def start(self) -> str:
        """Start serving, and return the address. Raises SettingsError for an exposed server with a default password."""
        settings = self._settings
        async with self._database.connection() as connection:
            # Hashing is slow by design, and only the first start needs it.
            if await lacks_users(connection):
                hashed = await self.authentication.passwords.hash(settings.admin_password.get_secret_value())
                if await ensure_first_user(connection, settings.admin_user, hashed):
                    log.info("first_user_made", login=settings.admin_user)
            admins = await server_admins(connection, most=_ADMINS_CHECKED) if settings.is_exposed else ()
            if foreign := await data_sources.count_foreign(connection, self._box):
                log.warning(
                    "secrets_of_another_key", count=foreign, advice="restore the former DASHWRIGHT_SECRET_KEY, or enter these secrets again"
                )
        for admin in admins:
            await self._check_exposed(admin)
        # Both listen before the first request: until then nothing is cached.
        await self.authentication.start()
        await self._feed.start()
        for chore in self._chores:
            chore.start()
        await self._rpc.start()
        self._relay.start()
        # Submissions need RPC for probes and the relay for wake-ups.
        await self._queue_submissions.start()
        with listening_at("HTTP", settings.http_host, settings.http_port):
            port = await self._server.start(settings.http_host, settings.http_port, self._tls)
        host = f"[{settings.http_host}]" if ":" in settings.http_host else settings.http_host
        return f"{'https' if self._tls else 'http'}://{host}:{port}"

    async def _check_exposed(self, admin: StoredPassword) -> None:
        """Raise SettingsError if a server admin has a password that attackers try first."""
        for guess in ("", DEFAULT_PASSWORD, admin.login):
            if await self.authentication.passwords.verify(admin.hashed, guess, salt=admin.salt):
                raise SettingsError(
                    f"DASHWRIGHT_HTTP_HOST {self._settings.http_host} listens beyond this machine, and the account {admin.login} has the "
                    "default password, its login as password, or none: set another by PUT /api/user/password while "
                    "DASHWRIGHT_HTTP_HOST=127.0.0.1, or DASHWRIGHT_ALLOW_DEFAULT_PASSWORD=true if that is intended"
                )

    async def stop(self) -> None:
        """Stop accepting requests and submissions, finish those in progress, and close."""
        # Relay, RPC and chores stop last: requests in progress still publish, call and record.
        await asyncio.gather(self._feed.stop(), self._server.stop(), self._queue_submissions.stop(drain=self._settings.shutdown_seconds))
        await self._queued.stop()
        await self._relay.stop()
        await self._rpc.close()
        for chore in self._chores:
            await chore.stop()
        await self.authentication.stop()


def _headers(settings: Settings) -> Mapping[str, str]:
    """Return the headers of every response."""
    # Browsers apply this header to all ports of a name. With a self-signed certificate it would block other servers of this machine.
    return {**SAFE_HEADERS, "Strict-Transport-Security": _KEEP_TO_TLS} if settings.tls_cert else SAFE_HEADERS


def _set_connection_holder(caller: Identity) -> None:
    set_connection_holder(caller.uid)


def _return_freed_memory() -> None:
    """Let the C library give large blocks back to the system when they are freed.

    Without a fixed size glibc raises the one from which it does so up to 32 MiB, and keeps what large responses took.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


def _services(
    settings: Settings,
    database: Database,
    jobs: Jobs,
    feed: Feed,
    clock: Clock,
    box: SecretBox,
    worker: RepositoryClient,
    policy: AccessPolicy,
) -> Services:
    permitted = tuple(str(path) for path in settings.local_paths)
    admission = AdmissionSettings(permitted, settings.min_refresh, settings.folder_depth)
    writer = Writer(database, clock, admission, settings.quota_rules, policy, TokenSealer(box), Edits(database, worker, clock))
    return Services(settings, database, clock, admission, jobs, feed, policy, Lines(database), writer)


def _routes(
    services: Services,
    authentication: Authentication,
    broker: Broker,
    rpc: RpcClient,
    box: SecretBox,
    pictures: PictureClient,
    of_repositories: list[Route],
) -> list[Route]:
    settings, database, clock = services.settings, services.database, services.clock
    probes = Probes()
    probes.add(health.DATABASE_CHECK, database.check)
    probes.add("broker", broker.check)
    evaluations = query.Evaluations(broker, rpc, seconds=settings.query_seconds)
    use = Dashboards(database, services.policy, services.writer)
    served = [
        *health.routes(probes, reported_version=settings.reported_version, metrics_token=settings.metrics_token),
        *discovery.routes(KINDS),
        *access_review.routes(KINDS, database, services.policy, authentication.authenticator),
        *resource_routes.routes(services),
        *of_repositories,
        *evaluation_routes.routes(database),
        *query.routes(evaluations, body_limit=settings.max_body_bytes),
        *render.routes(use, pictures),
        *dashboard_page.routes(use, pictures),
        *panels.routes(evaluations, body_limit=settings.max_body_bytes),
        *data_source_routes.routes(database, DataSources(database, box, settings.quota_rules)),
        *data_source_health.routes(database, broker, rpc, seconds=settings.query_seconds),
        *_account_routes(settings, database, authentication, clock, services.policy),
        *_key_routes(settings, database, authentication, clock),
        *quotas.routes(database, settings.quota_rules),
        *audit.routes(database),
        *teams.routes(database, Rights(database, authentication.identities)),
        *preferences.routes(database),
        *start_page.routes(database, services.policy),
        *search.routes(database, services.policy, trash_days=settings.trash_days),
        *home.routes(database, services.policy),
        *search.tag_routes(database, services.policy),
        *access_rules.routes(Permissions(database, services.policy)),
        *folders.routes(database, services.policy, Folders(database, services.policy, services.writer)),
        *dashboards.routes(database, services.policy, use),
        *versions.routes(database, use),
        *library_elements.routes(database, services.policy, LibraryElements(database, services.policy, services.writer)),
        *annotations.routes(Annotations(database, services.policy, clock)),
    ]
    return [*served, *description.routes(served, version=health.PRODUCT_VERSION)]


def _repository_routes(
    services: Services,
    worker: RepositoryClient,
    probe: RepositoryHealthClient,
    sealing: TokenSealer,
    pictures: PictureClient,
    hooks: Webhooks,
) -> list[Route]:
    database = services.database
    files = Files(database, services.policy, worker, services.clock)
    return [
        *repository_jobs.routes(services.jobs, worker),
        *rollback.routes(services.jobs, database, worker),
        *overview.routes(database),
        *inspection.routes(Configurations(database, sealing, services.admission), worker, probe),
        *repository_files.routes(files),
        *preview.routes(files, pictures),
        *webhooks.routes(hooks),
        *repository_pictures.routes(database),
    ]


def _account_routes(
    settings: Settings, database: Database, authentication: Authentication, clock: Clock, policy: AccessPolicy
) -> list[Route]:
    """Return the routes of organizations and users, and those that clients call first."""
    rights, rules = Rights(database, authentication.identities), settings.quota_rules
    use = Users(database, rights, authentication.passwords, rules, settings.password_policy)
    return [
        *frontend.routes(database, settings),
        *orgs.routes(database, Organizations(rights, rules)),
        *org_users.routes(database, Members(database, rights, rules), clock),
        *users.routes(database, use, clock),
        *user.routes(database, use, authentication.throttle, policy),
        *admin_users.routes(use),
        *admin_server.routes(database, settings),
        *access_control.routes(database, Grants(rights)),
    ]


def _key_routes(settings: Settings, database: Database, authentication: Authentication, clock: Clock) -> list[Route]:
    """Return the routes of API keys, and of service accounts and their tokens."""
    limits = LifeLimits(settings.api_key_max_seconds_to_live, settings.token_expiration_day_limit)
    accounts = ServiceAccounts(database, authentication.key_hashes, authentication.identities, settings.quota_rules, limits, clock)
    return [
        *auth_keys.routes(database, authentication.identities, clock),
        *service_accounts.routes(database, accounts, clock),
        *service_account_tokens.routes(database, accounts, clock),
    ]


async def serve(settings: Settings) -> None:
    """Run a gateway process until a signal stops it."""
    url = require(settings.database_url, "DATABASE_URL")
    secret_keys(settings)
    process.allow_connections(settings.watches)
    _return_freed_memory()
    stopped = process.stop_signal()
    broker = AmqpBroker(require(settings.amqp_url, "AMQP_URL"), connect_timeout=settings.start_seconds)
    database = await process.start_with_retries(
        "database",
        lambda: Database.open(url, application_name=SERVICE, max_size=settings.database_pool_size),
        stopped,
        seconds=settings.start_seconds,
    )
    try:
        await process.start_with_retries("schema", lambda: process.require_schema(url), stopped, seconds=settings.start_seconds)
        await process.start_with_retries("broker", broker.start, stopped, seconds=settings.start_seconds)
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
