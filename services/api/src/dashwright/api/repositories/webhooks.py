"""Deliveries of git hosts: believed by their signature, taken once, and only queued.

Whoever calls is a stranger until the signature fits, so no body is looked at before, and what all of them together can make the gateway
hold is bounded. Nobody is asked and no lock is waited for.
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

LARGEST: Final = 25 * MEBIBYTE
"""As large as hosts send them."""

_UNCHECKED: Final = 64 * MEBIBYTE
_UNCHECKED_OF_ONE: Final = 32 * MEBIBYTE
"""Of one network: any delivery, but not all the room."""

_SECONDS: Final = 10.0
"""No host waits for longer."""

_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """One call of a host, as its headers have it; its ``body`` is on its way, from the ``address``."""

    event: str
    id: str
    signature: str
    media_type: str
    address: str
    body: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class SignedBody:
    """What is known to come from the host; ``digest`` is its SHA-256."""

    body: bytearray
    digest: bytes


@dataclass(frozen=True, slots=True)
class HookTarget:
    """A repository whose host was asked to call, and the secret that both know."""

    stored: StoredObject
    status: RepositoryStatus
    secret: str


class LastEvents:
    """When hosts called last, in Unix milliseconds; written in batches, since the status of a repository is behind a lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._times: dict[tuple[str, str], int] = {}

    def note(self, namespace: str, name: str, at: int) -> None:
        if (namespace, name) in self._times or len(self._times) < _MOST_REMEMBERED:
            self._times[namespace, name] = at

    async def flush(self) -> None:
        """Writes what was noted. Raises Unavailable; what was not written is kept for the next time."""
        for (namespace, name), at in list(self._times.items()):
            await self._write(namespace, name, at)
            if self._times.get((namespace, name)) == at:
                del self._times[namespace, name]

    async def _write(self, namespace: str, name: str, at: int) -> None:
        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.webhook.last_event = max(at, status.webhook.last_event or 0)

        with suppress(NotFound):
            async with self._database.transaction() as connection:
                await statuses.change(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


class Webhooks:
    """``box`` opens the secrets that were sealed for repositories."""

    def __init__(self, database: Database, jobs: Jobs, box: SecretBox, clock: Clock, events: LastEvents) -> None:
        self._database = database
        self._jobs = jobs
        self._box = box
        self._clock = clock
        self._events = events
        self._unchecked = UploadBudget(_UNCHECKED, _UNCHECKED_OF_ONE)

    async def find_target(self, namespace: str, name: str) -> HookTarget | None:
        """Return what is known of the repository whose host was asked to call; None where none was."""
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
        """Queue what a delivery asks for, and return the host's response; a delivery that was taken before is not queued again.

        A dry run checks all this and queues nothing.

        A host that was not asked to call gets the response of a wrong signature, so that strangers cannot find out which repositories
        there are. Raises Unauthorized without the right signature, BadRequest for what cannot be read or comes too slowly,
        TooManyRequests where too much comes at once, Unhealthy of a repository that was seen not to be healthy, and what asking for a
        job raises.
        """
        signed = await self._verified_body(secrets.token_hex() if target is None else target.secret, delivery)
        assert target is not None, "no signature fits a secret that was made for it"
        if not delivery.id or len(delivery.id) > _LONGEST_ID or not delivery.id.isprintable():
            raise BadRequest("the delivery has no id that could tell it from others; send X-GitHub-Delivery")
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
        # By its body, which is signed, and not by its id, which a stranger who has caught a delivery could change.
        once = Idempotency(f"sha256:{signed.digest.hex()}", signed.digest)
        if await self._jobs.accepted_before(host, stored.namespace, once) is not None:
            return Decision(200, "delivery was received before")
        await self._jobs.submit_delivered(host, stored, decision.job, once, dry_run=dry_run)
        return decision

    async def _verified_body(self, secret: str, delivery: Delivery) -> SignedBody:
        """Hashed as it comes, compared in constant time. Nothing is read where there is nothing to compare with."""
        match = _SIGNATURE.fullmatch(delivery.signature)
        if match is None:
            raise _invalid_signature()
        body, digest, signature = bytearray(), hashlib.sha256(), hmac.new(secret.encode(), digestmod=hashlib.sha256)
        with self._unchecked.reserve(delivery.address) as keep:
            try:
                async with asyncio.timeout(_SECONDS):
                    async for piece in delivery.body:
                        keep(len(piece))
                        body += piece
                        digest.update(piece)
                        signature.update(piece)
            except TimeoutError as error:
                raise BadRequest(f"the delivery did not come within {_SECONDS:g} seconds; send it again") from error
        if not hmac.compare_digest(signature.hexdigest(), match[1]):
            raise _invalid_signature()
        return SignedBody(body, digest.digest())


def _invalid_signature() -> Unauthorized:
    return Unauthorized("invalid signature")


def _payload(media_type: str, body: bytearray) -> Any:
    """Raises BadRequest for what is neither JSON nor a form with JSON in it."""
    text: bytearray | str = body
    try:
        if media_type == _FORM:
            text = parse_qs(body.decode(), max_num_fields=10)["payload"][0]
        return orjson.loads(text)
    except (ValueError, KeyError) as error:
        raise BadRequest("the delivery is no JSON, and no form whose payload is; choose one of both at the git host") from error
