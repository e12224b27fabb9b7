"""Replies to submissions that cannot be sent, since the broker is lost after the jobs were stored."""

import pytest

from dashwright.api.repositories.queue_submissions import QueueSubmissions
from dashwright.common.errors import Unavailable
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult, Retry
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Delivery, Message


class BrokerWithoutReplies(MemoryBroker):
    """A broker that is lost when a reply is sent."""

    async def reply(self, reply_to: str, message: Message, *, confirmed: bool = False, timeout: float = 5.0) -> None:
        """Raise Unavailable."""
        raise Unavailable("The message broker is not connected; try again later")


class AcceptedSubmissions(QueueSubmissions):
    """A consumer that accepts every submission."""

    def __init__(self, broker: MemoryBroker) -> None:
        # Only ``_accept``, which this class replaces, uses the missing parts.
        super().__init__(broker, None, None, None, allows_anonymous=True)  # type: ignore[arg-type]

    async def _accept(self, delivery: Delivery) -> bytes:
        """Return the body of a reply."""
        return b"{}"


@pytest.mark.parametrize(("message_id", "result"), [("an id", Retry), (None, Ack)])
async def test_a_submission_without_a_reply_creates_no_second_job(message_id: str | None, result: type[DeliveryResult]) -> None:
    """A message with an id is handled again to send its reply, because its id prevents a second job.

    A message without an id would create a second job, so it is not handled again.
    """
    message = Message(body=b"{}", message_id=message_id, reply_to="a queue")
    delivery = Delivery(message=message, exchange="", routing_key="submit.default", redelivered=False, attempt=1)
    handled = await AcceptedSubmissions(BrokerWithoutReplies()).handle(delivery)
    assert isinstance(handled, result)
    if isinstance(handled, Retry):
        # A message that counts as failed becomes a dead letter after some retries.
        assert not handled.is_failure
