"""How a call and its answer look on the wire: the headers of both sides, and errors that keep their class."""

from collections.abc import Iterator
from dataclasses import replace

import orjson

from dashwright.common.errors import Cause, DashwrightError
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.signing import SIGNATURE, Meaning, Purpose, Signer
from dashwright.common.observability import tracing

DEADLINE = "rpc-deadline"
"""On a request: Unix milliseconds after which nobody waits for the first piece of the answer."""
PATIENCE = "rpc-patience"
"""On a request: milliseconds of silence after which either side gives the other up."""
ATTEMPT = "rpc-attempt"
"""On a request the attempt it is for, 1 where missing; on every piece of an answer the attempt it comes from."""
SEQUENCE = "rpc-sequence"
"""On a piece: its number, from 0. A message without it only tells where the answer will come from."""
LAST = "rpc-last"
"""On the last piece."""
WINDOW = "rpc-window"
"""On the first piece of several: how many may be under way at once."""
FAILED = "rpc-failed"
"""On the last piece when it is an error: the error's code."""
TAKEN = "rpc-taken"
"""From the caller: how many pieces its reader has taken."""
CANCEL = "rpc-cancel"
"""From the caller: nobody wants the answer any more."""
PREFIX = "rpc-"

_UNSIGNED = frozenset({SIGNATURE, tracing.HEADER})
"""The trace is added while a message is sent."""


def signed(signer: Signer, purpose: Purpose, place: str, message: Message) -> Message:
    """Return the message with a signature over its call, headers and body. ``place`` is the queue of a request, else empty."""
    signature = signer.sign(purpose, _meaning(place, message), message.body)
    return replace(message, headers={**message.headers, SIGNATURE: signature})


def is_genuine(signer: Signer, purpose: Purpose, place: str, message: Message) -> bool:
    """Return whether a service signed the message as ``signed`` does. ``reply_to`` is not covered: the broker writes it."""
    return signer.is_genuine(message.headers.get(SIGNATURE), purpose, _meaning(place, message), message.body)


def _meaning(place: str, message: Message) -> Meaning:
    return [place, message.correlation_id, sorted([name, value] for name, value in message.headers.items() if name not in _UNSIGNED)]


def encode_error(error: DashwrightError) -> bytes:
    return orjson.dumps(
        {
            "code": error.code,
            "status": error.status,
            "message": error.message,
            "messageId": error.message_id,
            "causes": [[cause.field, cause.reason, cause.message] for cause in error.causes],
            "retryAfter": error.retry_after,
            "details": error.details,
        }
    )


def decode_error(body: bytes) -> DashwrightError:
    """The error as the worker raised it; an unknown code, of a newer worker, is an internal error with its text."""
    fields = orjson.loads(body)
    return _CLASSES.get(fields["code"], DashwrightError)(
        fields["message"],
        message_id=fields["messageId"],
        causes=[Cause(*cause) for cause in fields["causes"]],
        retry_after=fields["retryAfter"],
        details=fields["details"],
    )


def _tree(root: type[DashwrightError]) -> Iterator[type[DashwrightError]]:
    yield root
    for branch in root.__subclasses__():
        yield from _tree(branch)


_CLASSES: dict[str, type[DashwrightError]] = {}
for _class in _tree(DashwrightError):
    # A subclass without a code of its own comes after the class that has it.
    _CLASSES.setdefault(_class.code, _class)
