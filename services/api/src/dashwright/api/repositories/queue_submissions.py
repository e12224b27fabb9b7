"""Submissions of jobs from RabbitMQ. They are handled like HTTP submissions, and the response is sent to ``reply_to``.

The contract is in docs/reference/queue.md. A refused message without ``reply_to`` becomes a dead letter with the reason.
Submissions are delayed in the broker while the database is unavailable, or while their organization has too many waiting jobs.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Final

import structlog

from dashwright.api.domain import access, submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.evaluation_submissions import Idempotency
from dashwright.api.http.authentication import Authenticator, Credentials
from dashwright.api.http.call import actor_of
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.queue_batches import BATCH_NAME, QueueBatches, batch_name, is_batch
from dashwright.api.resources.jobs import encode_submitted
from dashwright.common.database.pool import set_connection_holder
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, Unauthorized, Unavailable
from dashwright.common.identity import CallerType, Identity, org_of
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.observability import tracing
from dashwright.common.stores.job_queues import TooManyWaitingJobs
from dashwright.common.stores.job_records import MAX_PRIORITY, NORMAL_PRIORITY, StoredJob

log = structlog.get_logger()

#: First delay of a submission that cannot be accepted or replied to now.
_RETRY_SECONDS = 5.0
#: Maximum of one delay of a submission whose organization has too many waiting jobs.
_MAX_DELAY_SECONDS: Final = 300.0
#: Number of delays after which such a submission is refused. Together they take about a day.
_MAX_DELAYS: Final = 290
#: Time for which further submissions of such an organization are delayed without a query of the database.
_FULL_SECONDS: Final = 1.0


class QueueSubmissions:
    """The consumer of the submission queue."""

    def __init__(
        self,
        broker: Broker,
        jobs: Jobs,
        batches: QueueBatches,
        authenticator: Authenticator,
        *,
        allows_anonymous: bool,
        prefetch: int = 128,
    ) -> None:
        self._broker = broker
        self._jobs = jobs
        self._batches = batches
        self._authenticator = authenticator
        self._allows_anonymous = allows_anonymous
        self._prefetch = prefetch
        self._subscription: Subscription | None = None
        #: The error of each namespace with too many waiting jobs, and the event loop's time until which its submissions are delayed for it.
        self._full_namespaces: dict[str, tuple[TooManyWaitingJobs, float]] = {}

    async def start(self) -> None:
        """Start consuming submissions."""
        self._subscription = await self._broker.consume(self._broker.topology.submit, self.handle, prefetch=self._prefetch)

    async def stop(self, *, drain: float) -> None:
        """Stop consuming, and wait up to ``drain`` seconds for submissions in progress."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """Handle a submission: accept it, refuse it, or retry it later."""
        try:
            body = await self._accept(delivery)
        except DashwrightError as error:
            if error.retryable and (delay := self._delay(delivery, error)) is not None:
                log.warning("submission_delayed", seconds=delay, error=error.message)
                return Retry(delay, error.message)
            # Internal errors are retried by the subscription, and at last become dead letters.
            if error.status == 500:
                raise
            log.info("submission_refused", code=error.code, error=error.message)
            body = _error_body(error)
            if delivery.message.reply_to is None:
                return DeadLetter(error.message)
        try:
            await self._send_reply(delivery.message, body)
        except Unavailable as error:
            return self._after_lost_reply(delivery.message, error)
        return Ack()

    def _delay(self, delivery: Delivery, error: DashwrightError) -> float | None:
        """Return the seconds after which to handle a submission again, or None if it was delayed often enough.

        A delayed message leaves the queue, so it does not delay those of other organizations. With too many waiting jobs, the delay
        grows, since each attempt costs as much as a new submission.
        """
        if not isinstance(error, TooManyWaitingJobs):
            return _RETRY_SECONDS
        if delivery.attempt > _MAX_DELAYS:
            return None
        self._full_namespaces.setdefault(_namespace(delivery), (error, asyncio.get_running_loop().time() + _FULL_SECONDS))
        # The exponent is limited only because a float would overflow after many attempts.
        return min(_RETRY_SECONDS * 2.0 ** min(delivery.attempt - 1, 10), _MAX_DELAY_SECONDS)

    def _check_capacity(self, namespace: str) -> None:
        """Raise TooManyWaitingJobs if the namespace had too many a moment ago. This is cheaper than reading the message."""
        error, full_until = self._full_namespaces.get(namespace, (None, 0.0))
        if error is not None and asyncio.get_running_loop().time() < full_until:
            raise error
        self._full_namespaces.pop(namespace, None)

    def _after_lost_reply(self, message: Message, error: Unavailable) -> DeliveryResult:
        """Return the result for a reply that could not be sent. The submission itself is complete.

        A message with an id is handled again, which sends the reply and creates no second job. Without an id, it would create one.
        """
        log.warning("reply_not_sent", error=error.message)
        return Retry(_RETRY_SECONDS, error.message) if message.message_id else Ack()

    async def _accept(self, delivery: Delivery) -> bytes:
        """Accept a submission, and return the body of its reply. Raises the error with which it is refused or delayed."""
        message = delivery.message
        namespace = _namespace(delivery)
        self._check_capacity(namespace)
        # A message about a batch takes its turn before anything is awaited, so that turns have the order of arrival.
        if (name := message.headers.get(BATCH_NAME)) is not None:
            with self._batches.turns.take(namespace, str(name)) as turn:
                caller = await self._identify(message, namespace)
                return await self._batches.add_items(message, _actor(caller, message), caller, namespace, str(name), turn)
        if _may_be_batch(message.body) and is_batch(value := submissions.parse_json(message.body)):
            with self._batches.turns.take(namespace, batch_name(value), creates=True):
                caller = await self._identify(message, namespace)
                return await self._batches.create(_actor(caller, message), caller, namespace, message.body)
        caller = await self._identify(message, namespace)
        # After an outage, many messages are handled concurrently. They leave half of the connections to requests over HTTP.
        set_connection_holder(("queue", namespace))
        submission = submissions.read_submission(message.body, namespace)
        kind = JOB if isinstance(submission, submissions.JobSubmission) else EVALUATION
        if missing_actions := [action for action, scope in kind.create_permissions if not caller.may(action, scope)]:
            advice = "; send the header authorization as in HTTP" if caller.kind is CallerType.QUEUE else ""
            raise Forbidden(f"{caller.login} may not submit {kind.plural} in {namespace}; needed: {', '.join(missing_actions)}{advice}")
        actor = _actor(caller, message)
        is_list = isinstance(submission, submissions.JobSubmission) and submission.is_list
        idempotency = Idempotency(message.message_id, hashlib.sha256(message.body).digest()) if message.message_id else None
        if isinstance(submission, submissions.EvaluationSubmission):
            try:
                submitted = await self._jobs.submit_evaluation(
                    actor, namespace, submission, priority=_priority(message), idempotency=idempotency
                )
            except DashwrightError:
                # Searched only now, because few messages are delivered twice. The first delivery may have taken the name or the quota.
                accepted_jobs = await self._find_accepted(actor, namespace, idempotency)
                if accepted_jobs is None:
                    raise
                submitted = accepted_jobs
        else:
            # Searched first, so that a repeated message gets its jobs even if their repository is unhealthy or deleted now.
            accepted_jobs = await self._find_accepted(actor, namespace, idempotency)
            submitted = (
                await self._jobs.submit(
                    actor,
                    caller,
                    namespace,
                    submission.specs,
                    metadata=submission.metadata,
                    is_list=is_list,
                    priority=_priority(message),
                    idempotency=idempotency,
                )
                if accepted_jobs is None
                else accepted_jobs
            )
        if not submitted:
            raise BadRequest("the jobs of this message_id ended long ago and have left history; use a new message_id to run them again")
        return encode_submitted(submitted, is_list=is_list)

    async def _find_accepted(self, actor: Actor, namespace: str, idempotency: Idempotency | None) -> Sequence[StoredJob] | None:
        """Return the jobs of an earlier delivery of a message, or None if there was no earlier one."""
        return None if idempotency is None else await self._jobs.find_accepted(actor, namespace, idempotency)

    async def _identify(self, message: Message, namespace: str) -> Identity:
        """Return the caller of a submission. Raises BadRequest for an unknown namespace, and Unauthorized."""
        org_id = org_of(namespace)
        if org_id is None:
            raise BadRequest(f'the routing key names the namespace "{namespace}"; publish with submit.default or submit.org-N')
        authorization = message.headers.get("authorization")
        if authorization:
            return await self._authenticator.identify(Credentials(str(authorization)), org_id)
        if not self._allows_anonymous:
            raise Unauthorized("Unauthorized: send the header authorization as in HTTP; anonymous submission is switched off here")
        return access.queue_identity(org_id)

    async def _send_reply(self, message: Message, body: bytes) -> None:
        if message.reply_to is None:
            return
        response = Message(body=body, correlation_id=message.correlation_id, message_id=message.message_id, persistent=False)
        await self._broker.reply(message.reply_to, response)


def _may_be_batch(body: bytes) -> bool:
    """Return whether a body could be a Batch. This is faster than reading it."""
    return b'"Batch"' in body


def _actor(caller: Identity, message: Message) -> Actor:
    return actor_of(caller, "", message.message_id or "", _trace_id())


def _priority(message: Message) -> int:
    """Return the priority of the jobs of a message. Some clients always send 0, so 0 means the normal priority."""
    return min(message.priority, MAX_PRIORITY) or NORMAL_PRIORITY


def _namespace(delivery: Delivery) -> str:
    """Return the namespace in the routing key ``submit.{namespace}``."""
    return delivery.routing_key.partition(".")[2]


def _error_body(error: DashwrightError) -> bytes:
    response = error_response(error, ErrorShape.STATUS, _trace_id())
    assert isinstance(response.body, bytes)
    return response.body


def _trace_id() -> str:
    """Return the id of the current trace, or zeros, which are an invalid id in W3C Trace Context."""
    trace_context = tracing.current()
    return trace_context.trace_id if trace_context else "0" * 32
