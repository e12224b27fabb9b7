"""Webhook deliveries of git hosts: verified by signature, accepted once, and only queued.

An unverified client can send anything, so no body is parsed before its signature is verified, and the memory for
unverified bodies is bounded. Handling a delivery calls no other service and waits for no lock.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs

import orjson
import structlog

from dashwright.api.domain.actor import Actor
from dashwright.api.http.routing import MEBIBYTE
from dashwright.api.http.upload_budget import UploadBudget
from dashwright.api.jobs import Idempotency, Jobs
from dashwright.api.repositories.domain.deliveries import PING, Decision, decide
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound, Unauthorized, Unhealthy
from dashwright.common.identity import org_of
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import hook_place
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.stores import resources, statuses
from dashwright.common.stores.jobs import WEBHOOK
from dashwright.common.stores.resources import StoredObject

log = structlog.get_logger()

_FORM: Final = "application/x-www-form-urlencoded"
_SIGNATURE: Final = re.compile(r"sha256=([0-9a-f]{64})")
_LONGEST_ID: Final = 100

#: The largest payload that git hosts send.
LARGEST: Final = 25 * MEBIBYTE

_UNCHECKED: Final = 64 * MEBIBYTE
#: Per network: room for any delivery, but not the whole budget.
_UNCHECKED_OF_ONE: Final = 32 * MEBIBYTE

#: Git hosts wait no longer for a response.
_SECONDS: Final = 10.0

_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request of a git host."""

    event: str
    id: str
    signature: str
    media_type: str
    #: The client's address, for the budget of unverified bodies.
    address: str
    #: Not read yet.
    body: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class SignedBody:
    """A body with a valid signature."""

    body: bytearray
    #: SHA-256 of the body.
    digest: bytes


@dataclass(frozen=True, slots=True)
class HookTarget:
    """A repository that has a webhook, and the secret shared with its git host."""

    stored: StoredObject
    status: RepositoryStatus
    secret: str


class LastEvents:
    """The times of the last deliveries, in Unix milliseconds.

    They are written in batches: writing a repository's status requires a lock, which a delivery must not wait for.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._times: dict[tuple[str, str], int] = {}

    def note(self, namespace: str, name: str, at: int) -> None:
        """Remember the time of a delivery until the next flush."""
        if (namespace, name) in self._times or len(self._times) < _MOST_REMEMBERED:
            self._times[namespace, name] = at

    async def flush(self) -> None:
        """Write the remembered times. Raises Unavailable; times that were not written are kept for the next flush."""
        for (namespace, name), at in list(self._times.items()):
            await self._write(namespace, name, at)
            # A newer time may have been noted during the write; it is written by the next flush.
            if self._times.get((namespace, name)) == at:
                del self._times[namespace, name]

    async def _write(self, namespace: str, name: str, at: int) -> None:
        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.webhook.last_event = max(at, status.webhook.last_event or 0)

        with suppress(NotFound):
            async with self._database.transaction() as connection:
                await statuses.change(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


class Webhooks:
    """The endpoint for webhook deliveries."""

    def __init__(self, database: Database, jobs: Jobs, box: SecretBox, clock: Clock, events: LastEvents) -> None:
        self._database = database
        self._jobs = jobs
        self._box = box
        self._clock = clock
        self._events = events
        self._unchecked = UploadBudget(_UNCHECKED, _UNCHECKED_OF_ONE)

    async def find_target(self, namespace: str, name: str) -> HookTarget | None:
        """Return the repository's webhook with its opened secret, or None if there is no usable one."""
        try:
            async with self._database.connection() as connection:
                stored = await resources.get(connection, REPOSITORY, namespace, name)
        except NotFound:
            return None
        status = RepositoryStatus.model_validate_json(stored.status or "{}")
        sealed = status.webhook.encrypted_secret
        if not sealed:
            return None
        try:
            secret = self._box.open(base64.b64decode(sealed), hook_place(namespace, name))
        except (SecretUnreadable, binascii.Error):
            log.warning("webhook_secret_unreadable", namespace=namespace, repository=name)
            return None
        return HookTarget(stored, status, secret)

    async def accept(self, target: HookTarget | None, delivery: Delivery, by: Actor, *, dry_run: bool = False) -> Decision:
        """Queue the job of a delivery and return the response to the host. A repeated delivery is not queued again.

        A dry run does everything but queue. Without a target, the response is that of a wrong signature, so that
        clients cannot probe for repositories.

        Raises Unauthorized without a valid signature, BadRequest for an unreadable or too slow body,
        TooManyRequests when the budget is used up, Unhealthy for a repository known to be unhealthy, and the errors
        of submitting a job.
        """
        # Without a target, a random secret takes the same time to verify, so that the response time reveals nothing either.
        signed = await self._verified_body(secrets.token_hex() if target is None else target.secret, delivery)
        assert target is not None, "a random secret has no valid signature"
        if not delivery.id or len(delivery.id) > _LONGEST_ID or not delivery.id.isprintable():
            raise BadRequest("the delivery has no valid id; send X-GitHub-Delivery")
        stored, health = target.stored, target.status.health
        decision = decide(
            delivery.event, _payload(delivery.media_type, signed.body), stored.name, RepositorySpec.model_validate_json(stored.spec)
        )
        if not dry_run:
            self._events.note(stored.namespace, stored.name, self._clock.milliseconds())
        if delivery.event == PING:
            return decision
        if health.checked is not None and not health.healthy:
            raise Unhealthy("The repository configuration is not healthy", details={"name": stored.name})
        if decision.job is None:
            return decision
        host = replace(by, uid=f"{WEBHOOK}{stored.uid}", login=f"{WEBHOOK}{stored.name}", org_id=org_of(stored.namespace) or by.org_id)
        # The signed body identifies a delivery: its id is not signed, so a replayed delivery could carry another one.
        once = Idempotency(f"sha256:{signed.digest.hex()}", signed.digest)
        if await self._jobs.accepted_before(host, stored.namespace, once) is not None:
            return Decision(200, "delivery was received before")
        await self._jobs.submit_delivered(host, stored, decision.job, once, dry_run=dry_run)
        return decision

    async def _verified_body(self, secret: str, delivery: Delivery) -> SignedBody:
        """Read the body while hashing it, and compare the signature in constant time.

        Nothing is read if the signature header is malformed.
        """
        match = _SIGNATURE.fullmatch(delivery.signature)
        if match is None:
            raise _invalid_signature()
        body, digest, signature = bytearray(), hashlib.sha256(), hmac.new(secret.encode(), digestmod=hashlib.sha256)
        with self._unchecked.reserve(delivery.address) as keep:
            try:
                async with asyncio.timeout(_SECONDS):
                    async for piece in delivery.body:
                        # Reserve before the piece is kept, so that unverified bodies never exceed the budget.
                        keep(len(piece))
                        body += piece
                        digest.update(piece)
                        signature.update(piece)
            except TimeoutError as error:
                raise BadRequest(f"the delivery was not complete within {_SECONDS:g} seconds; send it again") from error
        if not hmac.compare_digest(signature.hexdigest(), match[1]):
            raise _invalid_signature()
        return SignedBody(body, digest.digest())


def _invalid_signature() -> Unauthorized:
    return Unauthorized("invalid signature")


def _payload(media_type: str, body: bytearray) -> Any:
    """Return the payload. Raises BadRequest for a body that is neither JSON nor a form with JSON in it."""
    text: bytearray | str = body
    try:
        if media_type == _FORM:
            text = parse_qs(body.decode(), max_num_fields=10)["payload"][0]
        return orjson.loads(text)
    except (ValueError, KeyError) as error:
        raise BadRequest(
            "the delivery is neither JSON nor a form with a JSON payload; set the webhook's content type to application/json"
        ) from error
