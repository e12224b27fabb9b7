"""Webhooks at git hosts: created for repositories, renewed, and removed with them.

Without a webhook a repository is synced at its interval. So a failure here is retried and never makes the repository unhealthy.
"""

import asyncio
import base64
import binascii
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import structlog

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError, Forbidden, NotFound, TooManyRequests
from dashwright.common.kinds.git_addresses import is_ssh_form
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import webhook_secret_owner
from dashwright.common.models.provisioning import (
    RepositorySpec,
    RepositoryStatus,
    RepositoryType,
    SyncOptions,
    SyncTarget,
    WebhookStatus,
)
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.settings import is_loopback
from dashwright.common.stores import hooks, resources
from dashwright.common.stores.hooks import HookClaim, HookRemoval
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.domain.hosting import Hook, HookSpec
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import Host

log = structlog.get_logger()

EVENTS: Final = frozenset({"push", "pull_request"})
"""Events of every webhook. The description of each host maps them to the host's own names."""

_CLAIM_LIMIT: Final = 8
"""Webhooks that one worker checks or removes concurrently."""

_LEASE: Final = timedelta(minutes=5)
"""Time after which another worker may check a webhook whose worker is unresponsive."""

_CHECK_INTERVAL: Final = timedelta(hours=1)
_MIN_RETRY_DELAY: Final = timedelta(seconds=30)
_MAX_DOUBLINGS: Final = 10
"""Bound on the doublings of the delay, after which it is far above the limit."""

_ABANDON_AFTER: Final = timedelta(days=1)
"""Time after which a webhook that cannot be removed is left at its host."""


def webhook_base_url(public_url: str, allowed: AllowedHosts) -> str | None:
    """Return the public address if git hosts can use it, else None.

    They can use an https address that is not a loopback address, and every address that an operator allows.
    """
    parts = urlsplit(public_url)
    host = parts.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    is_listed = bool(host) and allowed.lists(address, host)
    return public_url if is_listed or (parts.scheme == "https" and not is_loopback(host)) else None


class Hooks:
    """The webhooks of all repositories.

    ``public_url`` is the address that hosts can reach, None without such an address. ``cipher`` encrypts the webhooks' secrets.
    """

    def __init__(self, database: Database, host: Host, cipher: SecretCipher, public_url: str | None) -> None:
        self._database = database
        self._host = host
        self._cipher = cipher
        self._public_url = public_url

    async def refresh(self) -> None:
        """Create and renew, once, the webhooks of repositories that are new, changed or due for a check."""
        # Without a public address, hosts could not call a webhook.
        has_more = self._public_url is not None
        while has_more:
            async with self._database.connection() as connection:
                claims = await hooks.claim(connection, limit=_CLAIM_LIMIT, lease=_LEASE)
            await asyncio.gather(*(self._refresh_one(claim, self._public_url or "") for claim in claims))
            has_more = len(claims) == _CLAIM_LIMIT

    async def remove(self) -> None:
        """Remove, once, the webhooks that are no longer needed. A webhook that cannot be removed for a day is abandoned."""
        async with self._database.connection() as connection:
            removals = await hooks.claim_removals(connection, limit=_CLAIM_LIMIT, lease=_LEASE, abandon_after=_ABANDON_AFTER)
        await asyncio.gather(*(self._remove_one(removal) for removal in removals))

    async def _refresh_one(self, claim: HookClaim, public_url: str) -> None:
        """Create or change the webhook of one repository, and record a failure."""
        try:
            await self._ensure_hook(
                claim, f"{public_url}/apis/{REPOSITORY.api_version()}/namespaces/{claim.namespace}/repositories/{claim.name}/webhook"
            )
        except DashwrightError as error:
            log.info("webhook_not_created", repository=claim.name, error=error.message)
            retry_delay = _retry_delay(error, claim.failures)
            await self._execute(lambda connection: hooks.record_failure(connection, claim.uid, retry_after=retry_delay))
            await self._report_failure(claim, error)

    async def _report_failure(self, claim: HookClaim, error: DashwrightError) -> None:
        """Write the failure into the repository's status, where its owner sees it."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.webhook.message = [f"the webhook could not be created at the git host: {error.message}", _remedy_message(error)]

        with suppress(NotFound):
            async with self._database.transaction() as connection:
                await resources.update_status(connection, REPOSITORY, claim.namespace, claim.name, RepositoryStatus, change)

    async def _ensure_hook(self, claim: HookClaim, url: str) -> None:
        """Create or change the webhook if it is missing or differs from its specification."""
        githost = claim.spec.remote
        if claim.hook is not None and (githost is None or claim.config is None or claim.config.url != githost.url):
            claim = await self._abandon_old_host(claim)
        # A local directory has no host, and an SSH address does not lead to the API of the host.
        if githost is None or is_ssh_form(githost.url or ""):
            await self._execute(lambda connection: hooks.check_on_change(connection, claim.uid))
            return
        repository = Repository(claim.namespace, claim.name, str(claim.uid), claim.generation, claim.spec)
        hook = _find_hook(await self._host.hooks(repository), url, claim)
        status = claim.status.webhook
        if (
            hook is None
            or (hook.url, hook.events, hook.is_active, hook.id) != (url, EVENTS, True, status.id)
            or not self._has_readable_secret(claim)
        ):
            await self._register(repository, claim, hook, url)
            return
        if status.message:
            await self._write_status(claim, status.model_copy(update={"message": None}))
        hook_id = hook.id
        await self._execute(lambda connection: hooks.record_hook(connection, claim.uid, hook_id, githost, check_after=_CHECK_INTERVAL))

    async def _register(self, repository: Repository, claim: HookClaim, existing_hook: Hook | None, url: str) -> None:
        """Create or change the webhook, with a new secret."""
        secret = secrets.token_hex(32)
        encrypted_secret = base64.b64encode(self._cipher.encrypt(secret, webhook_secret_owner(claim.namespace, claim.name))).decode()
        # The secret is stored first: the host calls as soon as the webhook exists.
        status = WebhookStatus(url=url, encrypted_secret=encrypted_secret, subscribed_events=sorted(EVENTS))
        spec = HookSpec(url, EVENTS, secret)
        if existing_hook is None:
            await self._write_status(claim, status)
            hook = await self._host.create_hook(repository, spec)
        else:
            hook = await self._host.update_hook(repository, existing_hook.id, spec)
        status.id = hook.id
        try:
            await self._write_status(claim, status, created_hook_id=hook.id)
        except NotFound:
            # The repository was deleted in the meantime, and its deletion cannot remove a webhook that is not recorded.
            await self._host.delete_hook(repository, hook.id)
            raise
        log.info("webhook_created", repository=claim.name, hook=hook.id)

    async def _abandon_old_host(self, claim: HookClaim) -> HookClaim:
        """Mark the webhook at the repository's former host for removal and return the claim without it."""
        async with self._database.transaction() as connection:
            await hooks.mark_for_removal(connection, claim.uid, claim.namespace, claim.name)
        await self._write_status(claim, WebhookStatus())
        return replace(claim, hook=None, config=None)

    async def _write_status(self, claim: HookClaim, webhook: WebhookStatus, *, created_hook_id: int | None = None) -> None:
        """Write the webhook into the status. ``created_hook_id`` is recorded, so that the webhook is removed with the repository."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            webhook.last_event = status.webhook.last_event
            status.webhook = webhook

        async with self._database.transaction() as connection:
            await resources.update_status(connection, REPOSITORY, claim.namespace, claim.name, RepositoryStatus, change)
            if created_hook_id is not None and claim.spec.remote is not None:
                await hooks.record_hook(connection, claim.uid, created_hook_id, claim.spec.remote, check_after=_CHECK_INTERVAL)

    async def _remove_one(self, removal: HookRemoval) -> None:
        """Remove one webhook. A failed removal is repeated later, unless it has been due for a day."""
        # The repository may be deleted. Of its spec, the host needs only the address and token with which the webhook was created.
        sync = SyncOptions(target=SyncTarget.FOLDER)
        spec = RepositorySpec(title="", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=removal.config)
        error: DashwrightError | None = None
        try:
            await self._host.delete_hook(Repository(removal.namespace, removal.name, "", 0, spec), removal.hook)
        except NotFound:
            pass
        except DashwrightError as host_error:
            error = host_error
        if error is None or removal.is_old:
            log.info("hook_removed" if error is None else "hook_left_behind", repository=removal.name, hook=removal.hook)
            await self._execute(lambda connection: hooks.delete_removal(connection, removal.id))
        else:
            retry_delay = _retry_delay(error, removal.failures)
            await self._execute(lambda connection: hooks.record_removal_failure(connection, removal.id, retry_after=retry_delay))

    def _has_readable_secret(self, claim: HookClaim) -> bool:
        """Return whether the webhook's secret can be decrypted with this installation's key."""
        try:
            return bool(
                self._cipher.decrypt(
                    base64.b64decode(claim.status.webhook.encrypted_secret or ""), webhook_secret_owner(claim.namespace, claim.name)
                )
            )
        except (SecretUnreadable, binascii.Error):
            return False

    async def _execute(self, work: Callable[[Connection], Awaitable[None]]) -> None:
        async with self._database.connection() as connection:
            await work(connection)


def _find_hook(hooks_at_host: Sequence[Hook], url: str, claim: HookClaim) -> Hook | None:
    """Return the webhook of this repository by its present address, or else by the recorded id: the address may have changed."""
    by_url = next((hook for hook in hooks_at_host if hook.url == url), None)
    return by_url or next((hook for hook in hooks_at_host if hook.id == claim.hook), None)


def _remedy_message(error: DashwrightError) -> str:
    """Return what to do about the error, and how syncs are triggered until then."""
    if error.retryable:
        return "the creation is retried automatically; until then the repository is synced every intervalSeconds"
    remedy = "give the token the right to webhooks" if isinstance(error, Forbidden | NotFound) else "correct that"
    return (
        f"{remedy}; the creation is retried within the hour or when the spec changes, and until then the repository is synced every "
        "intervalSeconds"
    )


def _retry_delay(error: DashwrightError, failures: int) -> timedelta:
    """Return the time until the next attempt.

    After an error that is not retryable, this is the interval of checks. After retryable errors, it grows with their number. A host that
    throttles requests sets the time itself.
    """
    if isinstance(error, TooManyRequests):
        return max(_MIN_RETRY_DELAY, timedelta(seconds=error.retry_after or 0))
    return min(_CHECK_INTERVAL, _MIN_RETRY_DELAY * 2 ** min(failures, _MAX_DOUBLINGS)) if error.retryable else _CHECK_INTERVAL
