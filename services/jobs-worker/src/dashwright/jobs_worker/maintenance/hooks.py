"""Webhooks at git hosts: created for repositories, renewed, and removed with them.

Without a webhook a repository is synced by its interval, so a failure here never makes it unhealthy and is retried.
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
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import hook_place
from dashwright.common.models.provisioning import (
    RepositorySpec,
    RepositoryStatus,
    RepositoryType,
    SyncOptions,
    SyncTarget,
    WebhookStatus,
)
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.settings import is_loopback
from dashwright.common.stores import hooks, statuses
from dashwright.common.stores.hooks import HookClaim, HookRemoval
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.domain.hosting import Hook, HookSpec
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import Host

log = structlog.get_logger()

EVENTS: Final = frozenset({"push", "pull_request"})

_AT_ONCE: Final = 8
_LEASE: Final = timedelta(minutes=5)
_LOOK_AGAIN: Final = timedelta(hours=1)
_SHORTEST_PAUSE: Final = timedelta(seconds=30)
_PATIENCE: Final = timedelta(days=1)


def webhook_base_url(public_url: str, allowed: AllowedHosts) -> str | None:
    """Return the public address if git hosts may call it: over https and beyond this machine, or listed by an operator; else None."""
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

    ``public`` is the address that hosts can reach, None without such an address. ``box`` seals the webhooks' secrets.
    """

    def __init__(self, database: Database, host: Host, box: SecretBox, public: str | None) -> None:
        self._database = database
        self._host = host
        self._box = box
        self._public = public

    async def refresh(self) -> None:
        """Do one round: create and renew the webhooks of repositories that are new, changed or due."""
        is_more = self._public is not None
        while is_more:
            async with self._database.connection() as connection:
                claimed = await hooks.claim(connection, most=_AT_ONCE, lease=_LEASE)
            await asyncio.gather(*(self._refresh_one(item, self._public or "") for item in claimed))
            is_more = len(claimed) == _AT_ONCE

    async def remove(self) -> None:
        """Do one round: remove webhooks that are no longer needed. One that cannot be removed for a day is abandoned."""
        async with self._database.connection() as connection:
            unwanted = await hooks.claim_removals(connection, most=_AT_ONCE, lease=_LEASE, patience=_PATIENCE)
        await asyncio.gather(*(self._remove_one(item) for item in unwanted))

    async def _refresh_one(self, item: HookClaim, public: str) -> None:
        try:
            await self._check(
                item, f"{public}/apis/{REPOSITORY.api_version()}/namespaces/{item.namespace}/repositories/{item.name}/webhook"
            )
        except DashwrightError as error:
            log.info("hook_not_made", repository=item.name, error=error.message)
            again = _pause(error, item.failures)
            await self._write(lambda connection: hooks.fail(connection, item.uid, again=again))
            await self._report_failure(item, error)

    async def _report_failure(self, item: HookClaim, error: DashwrightError) -> None:
        """Write the failure into the repository's status, where its owner sees it."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.webhook.message = [f"the webhook could not be created at the git host: {error.message}", _advice(error)]

        with suppress(NotFound):
            async with self._database.transaction() as connection:
                await statuses.change(connection, REPOSITORY, item.namespace, item.name, RepositoryStatus, change)

    async def _check(self, item: HookClaim, url: str) -> None:
        """Create or change the webhook unless it is as it should be."""
        githost = item.spec.remote
        if item.hook is not None and (githost is None or item.asked_by is None or item.asked_by.url != githost.url):
            item = await self._leave_old_host(item)
        if githost is None:
            await self._write(lambda connection: hooks.wait_for_change(connection, item.uid))
            return
        repository = Repository(item.namespace, item.name, str(item.uid), item.generation, item.spec)
        found = _own(await self._host.hooks(repository), url, item)
        status = item.status.webhook
        if (
            found is None
            or (found.url, found.events, found.is_active, found.id) != (url, EVENTS, True, status.id)
            or not self._can_unseal(item)
        ):
            await self._register(repository, item, found, url)
            return
        if status.message:
            await self._write_status(item, status.model_copy(update={"message": None}))
        number = found.id
        await self._write(lambda connection: hooks.note(connection, item.uid, number, githost, again=_LOOK_AGAIN))

    async def _register(self, repository: Repository, item: HookClaim, found: Hook | None, url: str) -> None:
        """Create or change the webhook, with a new secret."""
        secret = secrets.token_hex(32)
        sealed = base64.b64encode(self._box.seal(secret, hook_place(item.namespace, item.name))).decode()
        # The secret is stored first: the host calls as soon as the webhook exists.
        status = WebhookStatus(url=url, encrypted_secret=sealed, subscribed_events=sorted(EVENTS))
        spec = HookSpec(url, EVENTS, secret)
        if found is None:
            await self._write_status(item, status)
            hook = await self._host.make_hook(repository, spec)
        else:
            hook = await self._host.change_hook(repository, found.id, spec)
        status.id = hook.id
        try:
            await self._write_status(item, status, made=hook.id)
        except NotFound:
            # The repository was deleted after the webhook was created, and the deletion did not know of it.
            await self._host.remove_hook(repository, hook.id)
            raise
        log.info("hook_made", repository=item.name, hook=hook.id)

    async def _leave_old_host(self, item: HookClaim) -> HookClaim:
        """Forget a webhook at the repository's former host: it says nothing about the new one."""
        async with self._database.transaction() as connection:
            await hooks.mark_for_removal(connection, item.uid, item.namespace, item.name)
        await self._write_status(item, WebhookStatus())
        return replace(item, hook=None, asked_by=None)

    async def _write_status(self, item: HookClaim, webhook: WebhookStatus, *, made: int | None = None) -> None:
        """Write the webhook into the status. ``made``: the id of a webhook that exists from now on and is removed with the repository."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            webhook.last_event = status.webhook.last_event
            status.webhook = webhook

        async with self._database.transaction() as connection:
            await statuses.change(connection, REPOSITORY, item.namespace, item.name, RepositoryStatus, change)
            if made is not None and item.spec.remote is not None:
                await hooks.note(connection, item.uid, made, item.spec.remote, again=_LOOK_AGAIN)

    async def _remove_one(self, item: HookRemoval) -> None:
        sync = SyncOptions(target=SyncTarget.FOLDER)
        spec = RepositorySpec(title="", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=item.asked_by)
        error: DashwrightError | None = None
        try:
            await self._host.remove_hook(Repository(item.namespace, item.name, "", 0, spec), item.hook)
        except NotFound:
            pass
        except DashwrightError as caught:
            error = caught
        if error is None or item.is_old:
            log.info("hook_removed" if error is None else "hook_left_behind", repository=item.name, hook=item.hook)
            await self._write(lambda connection: hooks.forget_removal(connection, item.id))
        else:
            again = _pause(error, item.failures)
            await self._write(lambda connection: hooks.fail_removal(connection, item.id, again=again))

    def _can_unseal(self, item: HookClaim) -> bool:
        """Return whether the webhook's secret can be opened with this installation's key."""
        try:
            return bool(self._box.open(base64.b64decode(item.status.webhook.encrypted_secret or ""), hook_place(item.namespace, item.name)))
        except (SecretUnreadable, binascii.Error):
            return False

    async def _write(self, work: Callable[[Connection], Awaitable[None]]) -> None:
        async with self._database.connection() as connection:
            await work(connection)


def _own(found: Sequence[Hook], url: str, item: HookClaim) -> Hook | None:
    """Return the webhook of this repository: the one with the present address, or the one that was created with a former address."""
    by_url = next((hook for hook in found if hook.url == url), None)
    return by_url or next((hook for hook in found if hook.id == item.hook), None)


def _advice(error: DashwrightError) -> str:
    """Return what to do about the error, and how syncs are triggered until then."""
    if error.retryable:
        return "it is retried automatically; until then the repository is synced every intervalSeconds"
    remedy = "give the token the right to webhooks" if isinstance(error, Forbidden | NotFound) else "correct that"
    return (
        f"{remedy}; it is retried within the hour or when the spec changes, and until then the repository is synced every intervalSeconds"
    )


def _pause(error: DashwrightError, failures: int) -> timedelta:
    """Return the time until the next attempt.

    A refusal is retried seldom, a failure after growing pauses, and a host that asks for fewer requests when it says so.
    """
    if isinstance(error, TooManyRequests):
        return max(_SHORTEST_PAUSE, timedelta(seconds=error.retry_after or 0))
    return min(_LOOK_AGAIN, _SHORTEST_PAUSE * 2 ** min(failures, 10)) if error.retryable else _LOOK_AGAIN
