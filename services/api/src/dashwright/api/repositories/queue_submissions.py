"""Submissions from RabbitMQ: handled like HTTP submissions, with the response sent to ``reply_to``.

The contract is in docs/reference/queue.md. A refusal is final and never loses the message: without ``reply_to`` it
becomes a dead letter with the reason. While the database is unavailable, submissions wait in the queue.
"""

import hashlib

import structlog

from dashwright.api.domain import access, submissions
from dashwright.api.http.authentication import Authenticator, Credentials
from dashwright.api.http.call import actor_of
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.jobs import Idempotency, Jobs
from dashwright.api.resources.jobs import encode
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, Unauthorized
from dashwright.common.identity import Caller, Identity, org_of
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.observability import tracing

log = structlog.get_logger()

_LATER = 5.0


class QueueSubmissions:
    """The consumer of the submission queue."""

    def __init__(self, broker: Broker, jobs: Jobs, authenticator: Authenticator, *, queue_identity: bool, prefetch: int = 16) -> None:
        self._broker = broker
        self._jobs = jobs
        self._authenticator = authenticator
        self._queue_identity = queue_identity
        self._prefetch = prefetch
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Start to consume submissions."""
        self._subscription = await self._broker.consume(self._broker.topology.submit, self.handle, prefetch=self._prefetch)

    async def stop(self, *, drain: float) -> None:
        """Stop to consume; wait up to ``drain`` seconds for submissions in progress."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """Handle a submission: accept it, refuse it, or retry it later."""
        try:
            body = await self._accept(delivery)
        except DashwrightError as error:
            if error.retryable:
                log.warning("submission_delayed", seconds=_LATER, error=error.message)
                return Retry(_LATER, error.message)
            if error.status == 500:
                raise
            log.info("submission_refused", code=error.code, error=error.message)
            body = _refusal(error)
            if delivery.message.reply_to is None:
                return DeadLetter(error.message)
        await self._reply(delivery.message, body)
        return Ack()

    async def _accept(self, delivery: Delivery) -> bytes:
        message = delivery.message
        namespace = delivery.routing_key.partition(".")[2]
        caller = await self._identify(message, namespace)
        wanted = submissions.read(message.body, namespace)
        kind = JOB if isinstance(wanted, submissions.JobSubmission) else EVALUATION
        if lacking := [action for action, scope in kind.creating if not caller.may(action, scope)]:
            advice = "; send the header authorization as in HTTP" if caller.kind is Caller.QUEUE else ""
            raise Forbidden(f"{caller.login} may not submit {kind.plural} in {namespace}; needed: {', '.join(lacking)}{advice}")
        actor = actor_of(caller, "", message.message_id or "", _trace_id())
        is_list = isinstance(wanted, submissions.JobSubmission) and wanted.is_list
        once = Idempotency(message.message_id, hashlib.sha256(message.body).digest()) if message.message_id else None
        if once is not None:
            before = await self._jobs.accepted_before(actor, namespace, once)
            if before is not None:
                if not before:
                    raise BadRequest("the jobs of this message_id ended long ago and have left history; use a new one to run them again")
                return encode(before, is_list=is_list)
        if isinstance(wanted, submissions.EvaluationSubmission):
            submitted = await self._jobs.evaluate(actor, namespace, wanted, once=once)
        else:
            submitted = await self._jobs.submit(
                actor, caller, namespace, wanted.specs, metadata=wanted.metadata, is_list=is_list, once=once
            )
        return encode(submitted, is_list=is_list)

    async def _identify(self, message: Message, namespace: str) -> Identity:
        org_id = org_of(namespace)
        if org_id is None:
            raise BadRequest(f'the routing key names the namespace "{namespace}"; publish with submit.default or submit.org-N')
        authorization = message.headers.get("authorization")
        if authorization:
            return await self._authenticator.identify(Credentials(str(authorization)), org_id)
        if not self._queue_identity:
            raise Unauthorized("Unauthorized: send the header authorization as in HTTP; anonymous submission is switched off here")
        return access.queue_identity(org_id)

    async def _reply(self, message: Message, body: bytes) -> None:
        if message.reply_to is None:
            return
        answer = Message(body=body, correlation_id=message.correlation_id, message_id=message.message_id, persistent=False)
        await self._broker.reply(message.reply_to, answer)


def _refusal(error: DashwrightError) -> bytes:
    answer = error_response(error, ErrorShape.STATUS, _trace_id())
    assert isinstance(answer.body, bytes)
    return answer.body


def _trace_id() -> str:
    trace = tracing.current()
    return trace.trace_id if trace else "0" * 32
