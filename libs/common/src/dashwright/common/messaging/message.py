"""Messages, and deliveries of messages to consumers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from dashwright.common.errors import TooLarge
from dashwright.common.observability import tracing

#: Value of a header. Floats are excluded: aio-pika writes them in single precision, which would shift a timestamp by
#: a minute.
Header = str | int | bool

#: Header of a retry: the number of attempts before it.
ATTEMPT = "dashwright-attempt"
#: Header of a retry: the number of attempts before it that ended in an exception.
FAILURES = "dashwright-failures"
#: Header of a dead letter with the reason.
REASON = "dashwright-reason"
#: Header of a dead letter with the queue in which the message died. Its routing key is unchanged.
ORIGIN_QUEUE = "dashwright-origin-queue"
#: Header of a dead letter with the exchange from which the message reached that queue.
ORIGIN_EXCHANGE = "dashwright-origin-exchange"
#: Header of a dead letter with an id of its own, which all its redeliveries have.
LETTER_ID = "dashwright-letter-id"
#: Header of a dead letter that the broker itself moved: the time at which its message died.
DEATH_TIME = "dashwright-death-time"
#: Header of a dead letter whose body was shortened: the size of the complete body in bytes.
BODY_BYTES = "dashwright-body-bytes"
#: Header of a dead letter: true if credentials were removed from its message.
CREDENTIALS_REMOVED = "dashwright-credentials-removed"
#: Header with the credentials of the sender, as in HTTP.
AUTHORIZATION = "authorization"

Headers = Mapping[str, Header]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Message to send, or message that arrived in an inbox. A consumer of a queue receives a ``Delivery``."""

    body: bytes
    headers: Headers = field(default_factory=dict)
    message_id: str | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    content_type: str = "application/json"
    persistent: bool = True  #: True if the message survives a restart of the broker.
    expiration: float | None = None  #: Seconds after publishing.
    priority: int = 0  #: AMQP property, at most 255. A message without priority has 0.


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivery of a message to a consumer."""

    message: Message
    exchange: str
    routing_key: str
    redelivered: bool
    attempt: int  #: 1 for the first delivery. Redeliveries and retries increase it.

    def with_headers(self, headers: Headers) -> "Delivery":
        """Return the delivery with additional headers."""
        return replace(self, message=replace(self.message, headers={**self.message.headers, **headers}))


def with_id_and_trace(message: Message) -> Message:
    """Return the message with an id, and with the current trace unless it has one."""
    trace = tracing.current()
    headers = message.headers
    if trace is not None and tracing.HEADER not in headers:
        headers = {**headers, tracing.HEADER: trace.header}
    return replace(message, headers=headers, message_id=message.message_id or uuid4().hex)


def check_size(message: Message, limit: int) -> None:
    """Raise TooLarge if the body exceeds ``limit`` bytes. The broker would close the channel of such a message."""
    if len(message.body) > limit:
        raise TooLarge(
            f"A message of {len(message.body):,} bytes is over the broker's limit of {limit:,} bytes; send less, or raise "
            "max_message_size of RabbitMQ and max_message of this broker client"
        )


def count_header(headers: Headers, name: str) -> int:
    """Return the value of a header that counts something, or 0 if it is missing or not a positive integer."""
    value = headers.get(name, 0)
    return value if isinstance(value, int) and value > 0 else 0
