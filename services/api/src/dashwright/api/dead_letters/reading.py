"""Conversion of a delivery from the queue of dead letters to a letter to store, without credentials and of limited size."""

import hashlib
import re
from datetime import datetime
from typing import Final

from dashwright.api.domain.submissions import MAX_BODY_BYTES
from dashwright.api.stores.dead_letters import NewDeadLetter
from dashwright.common.identity import namespace_of, org_of
from dashwright.common.messaging.message import (
    ATTEMPT,
    BODY_BYTES,
    CREDENTIALS_REMOVED,
    DEATH_TIME,
    FAILURES,
    LETTER_ID,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Header,
    count_header,
)
from dashwright.common.messaging.topology import Topology
from dashwright.common.observability import tracing

_SUBMIT: Final = "submit."
"""Prefix of the routing keys of submissions, before the namespace."""
_REASON_WITHOUT_HEADER: Final = "delivered too often"
"""Reason of a letter without a recorded reason. Services and the broker record all other reasons in a header."""
_MAX_REASON_LENGTH: Final = 4000
_MAX_INT64: Final = 2**63 - 1
"""Largest value of a column of PostgreSQL's type ``bigint``."""
_CREDENTIAL: Final = re.compile(
    r"authori[sz]ation|auth$|cookie|credential|passw|passphrase|pwd|secret|session|signature|token|jwt|bearer|"
    r"(api|access|private)[-_. ]?key",
    re.IGNORECASE,
)
"""Names of headers that are not stored. The pattern is broad: the loss of a harmless header is better than a stored password."""

# Columns store the content of these headers. A replay starts without the counts of former deliveries.
_DELIVERY_HEADERS: Final = frozenset(
    {ATTEMPT, BODY_BYTES, CREDENTIALS_REMOVED, DEATH_TIME, FAILURES, LETTER_ID, ORIGIN_EXCHANGE, ORIGIN_QUEUE, REASON, tracing.HEADER}
)


def read_letter(delivery: Delivery, topology: Topology, received: datetime) -> NewDeadLetter:
    """Return the letter to store for a delivery.

    Its namespace is that of a submission's routing key, or empty. Whether the organization exists is not checked.
    """
    message = delivery.message
    headers = message.headers
    delivery_hash = _hash_delivery(delivery)
    body = message.body[:MAX_BODY_BYTES]
    # A service that truncates the body of a dead letter sends the original size in this header. A client could send any number.
    body_bytes = min(max(len(message.body), count_header(headers, BODY_BYTES)), _MAX_INT64)
    exchange = _storable(headers.get(ORIGIN_EXCHANGE, ""))
    sent_headers = {_storable(name): _stored_value(value) for name, value in headers.items() if name not in _DELIVERY_HEADERS}
    removed_headers = {name for name in sent_headers if _CREDENTIAL.search(name)}
    if headers.get(CREDENTIALS_REMOVED):
        removed_headers.add("authorization")
    return NewDeadLetter(
        # The names sort by time; the hash distinguishes letters of the same microsecond.
        name=f"{received:%Y%m%d-%H%M%S-%f}-{delivery_hash.hex()[:16]}",
        namespace=_namespace_of(delivery.routing_key),
        delivery_hash=delivery_hash,
        message_hash=_hash(delivery.routing_key, message.message_id, message.body) if message.message_id else None,
        routing_key=_storable(delivery.routing_key),
        exchange=exchange,
        queue=_storable(headers.get(ORIGIN_QUEUE, "")),
        reason=_storable(headers.get(REASON, _REASON_WITHOUT_HEADER))[:_MAX_REASON_LENGTH],
        headers={name: value for name, value in sent_headers.items() if name not in removed_headers},
        removed_headers=sorted(removed_headers),
        message_id=_storable(message.message_id) if message.message_id else None,
        correlation_id=_storable(message.correlation_id) if message.correlation_id else None,
        content_type=_storable(message.content_type),
        body=body,
        body_bytes=body_bytes,
        obstacle=_obstacle(delivery.routing_key, exchange, topology, is_truncated=body_bytes > len(body)),
        received=received,
    )


def _namespace_of(routing_key: str) -> str:
    """Return the namespace in the routing key of a submission, or an empty string for any other key."""
    org_id = org_of(routing_key.removeprefix(_SUBMIT)) if routing_key.startswith(_SUBMIT) else None
    return "" if org_id is None else namespace_of(org_id)


def _obstacle(routing_key: str, exchange: str, topology: Topology, *, is_truncated: bool) -> str:
    """Return why a message cannot be replayed, or an empty string."""
    # Calls and wake-ups are not replayed: their senders no longer wait for them, or their signatures have expired.
    if exchange != topology.jobs or not routing_key.startswith(_SUBMIT):
        return "only submissions can be replayed, and this message is another request"
    if not _namespace_of(routing_key):
        return "the routing key names no organization; publish the message with submit.default or submit.org-N"
    if is_truncated:
        return "the body is not complete; send the message again"
    return ""


def _hash_delivery(delivery: Delivery) -> bytes:
    """Return a hash that is the same for all redeliveries of a letter.

    Letters that the services move have an id of their own. Letters that the broker moves have none: two of them have the same hash
    only if they have the same content, no message id, and died in the same second.
    """
    message = delivery.message
    return _hash(delivery.routing_key, message.message_id, message.correlation_id, sorted(message.headers.items()), message.body)


def _hash(*parts: object) -> bytes:
    """Return the SHA-256 hash of several values."""
    return hashlib.sha256(repr(parts).encode(errors="backslashreplace")).digest()


def _stored_value(value: Header) -> Header:
    """Return the value of a header as it is stored in JSON."""
    if isinstance(value, str):
        return _storable(value)
    # JSON readers lose digits of larger integers.
    return value if abs(value) <= _MAX_INT64 else str(value)


def _storable(value: Header) -> str:
    """Return a string that PostgreSQL can store: without NUL characters and lone surrogates."""
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
