"""Webhook deliveries of git hosts. Each is verified by its signature, accepted once, and queued as a job.

An unverified client can send anything, so no body is parsed before its signature is verified, and the memory for
unverified bodies is limited. Handling a delivery calls no other service and waits for no lock.
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
from dashwright.api.evaluation_submissions import Idempotency
from dashwright.api.http.routing import MEBIBYTE
from dashwright.api.http.upload_budget import UploadBudget
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.domain.deliveries import Decision, decide
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound, Unauthorized, Unhealthy
from dashwright.common.git_hosts.deliveries import Deliveries, Event, Proof
from dashwright.common.identity import org_of
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import webhook_secret_owner
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores import resources
from dashwright.common.stores.jobs import WEBHOOK
from dashwright.common.stores.resources import StoredObject

log = structlog.get_logger()

_FORM_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
_SIGNATURE_PATTERN: Final = re.compile(r"[0-9a-f]{64}")
#: Limit on the characters of a header that is compared with the secret.
_MAX_SECRET_LENGTH: Final = 200
_MAX_DELIVERY_ID_LENGTH: Final = 100

#: The largest payload that git hosts send.
MAX_PAYLOAD_BYTES: Final = 25 * MEBIBYTE

#: Limit on the values of a payload. Real payloads have fewer values, even those of the maximum size, which list names of files.
#: Millions of values as small as ``{}`` would take a gigabyte of memory, and all other requests would wait while they are parsed.
_MAX_VALUES: Final = 1_000_000

#: The memory for all bodies whose signature is not verified yet.
_MAX_UNVERIFIED_BYTES: Final = 64 * MEBIBYTE
#: The memory for unverified bodies from one network: enough for the largest payload, but only half of the memory for all.
_MAX_UNVERIFIED_BYTES_PER_NETWORK: Final = 32 * MEBIBYTE

#: Git hosts stop waiting for a response after this time.
_BODY_TIMEOUT_SECONDS: Final = 10.0

#: Limit on the repositories whose times of deliveries are buffered until the next flush.
_MAX_BUFFERED_REPOSITORIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request of a git host."""

    #: The headers and payloads of this kind of host.
    format: Deliveries
    #: The host's name of the event.
    event: str
    id: str
    #: The header with the signature or the secret.
    proof: str
    media_type: str
    #: The client's address, for the budget of unverified bodies.
    address: str
    #: The chunks of the body, which are read after the signature header was checked.
    body: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class SignedBody:
    """A body with a valid signature."""

    body: bytearray
    #: SHA-256 of the body.
    digest: bytes


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A repository that has a webhook, with the secret that the webhook shares with the git host."""

    repository: StoredObject
    status: RepositoryStatus
    secret: str


class DeliveryTimes:
    """A buffer of the time of the last delivery to each repository, in Unix milliseconds.

    A periodic flush writes the times to the repositories' status: the write requires a lock, which a delivery must not wait for.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._times: dict[tuple[str, str], int] = {}

    def record(self, namespace: str, name: str, timestamp: int) -> None:
        """Buffer the time of a delivery until the next flush. While the buffer is full, times of further repositories are dropped."""
        if (namespace, name) in self._times or len(self._times) < _MAX_BUFFERED_REPOSITORIES:
            self._times[namespace, name] = timestamp

    async def flush(self) -> None:
        """Write the buffered times. Raises Unavailable; times that were not written are kept for the next flush."""
        for (namespace, name), timestamp in list(self._times.items()):
            await self._write(namespace, name, timestamp)
            # A newer time may have been recorded during the write. The next flush writes it.
            if self._times.get((namespace, name)) == timestamp:
                del self._times[namespace, name]

    async def _write(self, namespace: str, name: str, timestamp: int) -> None:
        """Write the time into the status of a repository, unless a later one is stored or the repository was deleted."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.webhook.last_event = max(timestamp, status.webhook.last_event or 0)

        with suppress(NotFound):
            async with self._database.transaction() as connection:
                await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


class Webhooks:
    """The endpoint for webhook deliveries."""

    def __init__(self, database: Database, jobs: Jobs, cipher: SecretCipher, clock: Clock, delivery_times: DeliveryTimes) -> None:
        self._database = database
        self._jobs = jobs
        self._cipher = cipher
        self._clock = clock
        self._delivery_times = delivery_times
        self._upload_budget = UploadBudget(_MAX_UNVERIFIED_BYTES, _MAX_UNVERIFIED_BYTES_PER_NETWORK)

    async def find_target(self, namespace: str, name: str) -> WebhookTarget | None:
        """Return a repository with the unsealed secret of its webhook.

        Returns None if the repository is unknown, has no webhook, or has a webhook whose secret cannot be unsealed.
        """
        try:
            async with self._database.connection() as connection:
                repository = await resources.get(connection, REPOSITORY, namespace, name)
        except NotFound:
            return None
        status = RepositoryStatus.model_validate_json(repository.status or "{}")
        encrypted_secret = status.webhook.encrypted_secret
        if not encrypted_secret:
            return None
        try:
            secret = self._cipher.decrypt(base64.b64decode(encrypted_secret), webhook_secret_owner(namespace, name))
        except (SecretUnreadable, binascii.Error):
            log.warning("webhook_secret_unreadable", namespace=namespace, repository=name)
            return None
        return WebhookTarget(repository, status, secret)

    async def accept(self, target: WebhookTarget | None, delivery: Delivery, actor: Actor, *, dry_run: bool = False) -> Decision:
        """Submit the job of a delivery and return the response to the host. The job of a repeated delivery is not submitted again.

        A dry run submits no job. Without a target, the error is the same as for a wrong signature, so that clients cannot find out
        which repositories exist.

        Raises Unauthorized without a valid signature, BadRequest for an unreadable or too slow body, TooManyRequests if unverified
        bodies use all their memory, Unhealthy for a repository known to be unhealthy, and the errors of submitting a job.
        """
        # Without a target, the signature is verified with a random secret, so that the response takes the same time.
        signed_body = await self._verified_body(secrets.token_hex() if target is None else target.secret, delivery)
        assert target is not None, "a random secret has no valid signature"
        if not delivery.id or len(delivery.id) > _MAX_DELIVERY_ID_LENGTH or not delivery.id.isprintable():
            raise BadRequest(f"the delivery has no valid id; send {delivery.format.id_headers[0]}")
        repository, health = target.repository, target.status.health
        payload, spec = _parse_payload(delivery.media_type, signed_body.body), RepositorySpec.model_validate_json(repository.spec)
        decision = decide(delivery.format, delivery.event, payload, repository.name, spec)
        if not dry_run:
            self._delivery_times.record(repository.namespace, repository.name, self._clock.milliseconds())
        if delivery.format.events.get(delivery.event) is Event.PING:
            return decision
        if health.checked is not None and not health.healthy:
            raise Unhealthy("The repository configuration is not healthy", details={"name": repository.name})
        if decision.job is None:
            return decision
        # The request has no credentials: the submitter is the git host, and the audit log records the organization of the repository.
        org_id = org_of(repository.namespace) or actor.org_id
        host_actor = replace(actor, uid=f"{WEBHOOK}{repository.uid}", login=f"{WEBHOOK}{repository.name}", org_id=org_id)
        # A delivery is identified by its body, because its id is not signed: a replayed delivery could have another id.
        idempotency = Idempotency(f"sha256:{signed_body.digest.hex()}", signed_body.digest)
        if await self._jobs.find_accepted(host_actor, repository.namespace, idempotency) is not None:
            return Decision(200, "delivery was received before")
        await self._jobs.submit_from_webhook(host_actor, repository, decision.job, idempotency, dry_run=dry_run)
        return decision

    async def _verified_body(self, secret: str, delivery: Delivery) -> SignedBody:
        """Return the body. Raises Unauthorized if its signature is wrong.

        Some kinds of hosts sign the body, others send the secret itself. A malformed signature or a wrong secret is rejected before the
        body is read. Signature and secret are compared in constant time.
        """
        prefix = delivery.format.proof_prefix
        signature = delivery.proof.removeprefix(prefix)
        has_signature = delivery.format.proof is Proof.SIGNATURE
        if has_signature:
            has_prefix = delivery.proof.startswith(prefix)
            if not (has_prefix and _SIGNATURE_PATTERN.fullmatch(signature)):
                raise _invalid_signature()
        elif not _equals_secret(delivery.proof, secret):
            raise _invalid_signature()
        body, body_hash, body_hmac = bytearray(), hashlib.sha256(), hmac.new(secret.encode(), digestmod=hashlib.sha256)
        with self._upload_budget.reserve(delivery.address) as reserve:
            try:
                async with asyncio.timeout(_BODY_TIMEOUT_SECONDS):
                    async for chunk in delivery.body:
                        # Reserve memory before keeping the chunk, so that unverified bodies never exceed the budget.
                        reserve(len(chunk))
                        body += chunk
                        body_hash.update(chunk)
                        body_hmac.update(chunk)
            except TimeoutError as error:
                raise BadRequest(f"the delivery was not complete within {_BODY_TIMEOUT_SECONDS:g} seconds; send it again") from error
        if has_signature and not hmac.compare_digest(body_hmac.hexdigest(), signature):
            raise _invalid_signature()
        return SignedBody(body, body_hash.digest())


def _equals_secret(value: str, secret: str) -> bool:
    """Return whether a header has the secret. The duration does not depend on how many characters are right."""
    return len(value) <= _MAX_SECRET_LENGTH and hmac.compare_digest(value.encode(errors="replace"), secret.encode())


def _invalid_signature() -> Unauthorized:
    return Unauthorized("invalid signature")


def _parse_payload(media_type: str, body: bytearray) -> Any:
    """Return the payload. Raises BadRequest for a body that is neither JSON nor a form with JSON in it."""
    payload = body
    try:
        if media_type == _FORM_MEDIA_TYPE:
            # Git hosts send few fields besides the payload.
            payload = bytearray(parse_qs(body.decode(), max_num_fields=10)["payload"][0].encode())
        # Each value except the first follows one of these characters. Strings may contain them, too, so the sum is an upper bound.
        if sum(payload.count(character) for character in b",[{") > _MAX_VALUES:
            raise BadRequest(f"the delivery has more than {_MAX_VALUES} values; such a payload is not read")
        return orjson.loads(payload)
    except (ValueError, KeyError) as error:
        raise BadRequest(
            "the delivery is neither JSON nor a form with a JSON payload; set the webhook's content type to application/json"
        ) from error
