"""The consumer of dead wake-ups: their job or evaluation ends as ``error`` with the reason, so that no caller waits for it.

Any program with write access to the broker could publish one or let one expire, so only those with a relay's signature end jobs.
"""

import uuid

import orjson
import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import REASON, Delivery
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.observability import metrics
from dashwright.common.relay import Relay, is_genuine
from dashwright.common.stores import jobs, mirror, resources

log = structlog.get_logger()


class DeadLetters:
    """The consumer of the dead-letter queue of jobs."""

    def __init__(self, database: Database, broker: Broker, relay: Relay, signer: Signer, clock: Clock) -> None:
        self._database = database
        self._broker = broker
        self._relay = relay
        self._signer = signer
        self._clock = clock
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Start consuming."""
        self._subscription = await self._broker.consume(self._broker.topology.dead_work, self.handle, prefetch=1)

    async def stop(self, *, drain: float) -> None:
        """Stop consuming; a delivery under way has ``drain`` seconds to finish."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """End the job of a dead wake-up. Always acknowledges the delivery."""
        if not is_genuine(self._signer, delivery):
            metrics.messages_refused.labels(self._broker.topology.dead_work, "signature").inc()
            log.warning("dead_letter_refused", routing_key=delivery.routing_key, reason="no service with this SECRET_KEY signed it")
            return Ack()
        reason = str(delivery.message.headers.get(REASON, "delivered too often"))
        log.error("dead_letter", routing_key=delivery.routing_key, reason=reason)
        try:
            uid = uuid.UUID(orjson.loads(delivery.message.body)["uid"])
        except (ValueError, KeyError, TypeError):
            return Ack()
        message = f"the wake-up of this job could not be handled: {reason}"
        try:
            await self._fail(uid, message)
        except DashwrightError as error:
            # The row is still pending, so the rescuer wakes it again.
            log.warning("dead_letter_not_recorded", error=error.message)
        return Ack()

    async def _fail(self, uid: uuid.UUID, message: str) -> None:
        status = JobStatus(state=State.ERROR, finished=self._clock.milliseconds(), message=message, errors=[message])
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            await jobs.lock(connection)
            job = next(iter(await jobs.get_many(connection, [uid])), None)
            if job is None or job.state != State.PENDING:
                return
            wakeups = await jobs.fail_pending(connection, uid, status=status.to_json())
            await mirror.mirror(connection, job, status)
        self._relay.publish_soon(wakeups)
