"""Message as it is sent, and delivery as a consumer gets it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from dashwright.common.errors import TooLarge
from dashwright.common.observability import tracing

#: Value of a header. Not a float: the client library writes floats in single precision, which would shift a timestamp
#: by a minute.
Header = str | int | bool

#: Header: attempts before the message was published for a retry.
ATTEMPT = "dashwright-attempt"
#: Header: how many of these attempts ended in an exception.
FAILURES = "dashwright-failures"
#: Header of a dead letter: why it is dead.
REASON = "dashwright-reason"
#: Header of a dead letter: the queue in which it died. Its routing key is the original one.
ORIGIN_QUEUE = "dashwright-origin-queue"
#: Header of a dead letter: the exchange by which it reached that queue.
ORIGIN_EXCHANGE = "dashwright-origin-exchange"
#: Header: the sender's credentials, as in HTTP.
AUTHORIZATION = "authorization"

Headers = Mapping[str, Header]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Message as it is sent."""

    body: bytes
    headers: Headers = field(default_factory=dict)
    message_id: str | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    content_type: str = "application/json"
    persistent: bool = True  #: Whether it survives a restart of the broker.
    expiration: float | None = None  #: Seconds after publishing.


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Message as a consumer gets it."""

    message: Message
    exchange: str
    routing_key: str
    redelivered: bool
    attempt: int  #: Starts at 1; counts redeliveries and retries.

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
    """Raise TooLarge if the body exceeds ``limit`` bytes: a broker would close the channel instead."""
    if len(message.body) > limit:
        raise TooLarge(
            f"A message of {len(message.body):,} bytes is over the broker's limit of {limit:,} bytes; send less, or raise "
            "max_message_size in the broker and max_message here"
        )


def count(headers: Headers, name: str) -> int:
    """Return a counting header; 0 if it is missing or not a number, since any client may have set it."""
    value = headers.get(name, 0)
    return value if isinstance(value, int) and value > 0 else 0
