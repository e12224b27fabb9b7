"""What travels: a message as it is sent, and a delivery as a consumer meets it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from dashwright.common.errors import TooLarge
from dashwright.common.observability import tracing

Header = str | int | bool
"""No floats: the client library writes them in single precision, which makes a time of day wrong by a minute."""

ATTEMPT = "dashwright-attempt"
"""How many attempts were made before this message was put on the ladder."""
FAILURES = "dashwright-failures"
"""How many of those ended in an exception."""
REASON = "dashwright-reason"
"""Why a message is dead."""
ORIGIN_QUEUE = "dashwright-origin-queue"
"""The queue in which a dead message died; its routing key is the original one."""
ORIGIN_EXCHANGE = "dashwright-origin-exchange"
"""The exchange by which a dead message came to that queue."""
AUTHORIZATION = "authorization"
"""The sender's credentials, as in HTTP."""

Headers = Mapping[str, Header]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. ``expiration`` is in seconds from publishing; ``persistent`` means it survives a broker's restart."""

    body: bytes
    headers: Headers = field(default_factory=dict)
    message_id: str | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    content_type: str = "application/json"
    persistent: bool = True
    expiration: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message handed to a consumer. ``attempt`` is 1 at first and counts redeliveries and rungs of the ladder."""

    message: Message
    exchange: str
    routing_key: str
    redelivered: bool
    attempt: int

    def with_headers(self, headers: Headers) -> "Delivery":
        """The delivery with these headers as well."""
        return replace(self, message=replace(self.message, headers={**self.message.headers, **headers}))


def with_id_and_trace(message: Message) -> Message:
    """The message with an id, and with the current trace unless it carries one already."""
    trace = tracing.current()
    headers = message.headers
    if trace is not None and tracing.HEADER not in headers:
        headers = {**headers, tracing.HEADER: trace.header}
    return replace(message, headers=headers, message_id=message.message_id or uuid4().hex)


def check_size(message: Message, limit: int) -> None:
    """Raises TooLarge before a broker would answer an over-large message by closing the channel."""
    if len(message.body) > limit:
        raise TooLarge(
            f"A message of {len(message.body):,} bytes is over the broker's limit of {limit:,} bytes; send less, or raise "
            "max_message_size in the broker and max_message here"
        )


def count(headers: Headers, name: str) -> int:
    """A counting header, 0 where it is missing or not a number: headers come from strangers, too."""
    value = headers.get(name, 0)
    return value if isinstance(value, int) and value > 0 else 0
