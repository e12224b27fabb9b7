"""Wire format of calls: the headers of both sides, and errors that keep their class."""

from collections.abc import Iterator
from dataclasses import replace

import orjson

from dashwright.common.errors import Cause, DashwrightError
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.signing import SIGNATURE, Meaning, Purpose, Signer
from dashwright.common.observability import tracing

#: On a request: Unix milliseconds by which the first piece of the response is due.
DEADLINE = "rpc-deadline"
#: On a request: milliseconds of silence after which either side ends the call.
PATIENCE = "rpc-patience"
#: On a request: number of the attempt, 1 if missing. On a piece: the attempt that sent it.
ATTEMPT = "rpc-attempt"
#: On a piece: its number, from 0. A message without it only announces the worker's reply address.
SEQUENCE = "rpc-sequence"
#: On the last piece.
LAST = "rpc-last"
#: On the first piece of several: how many may be in flight.
WINDOW = "rpc-window"
#: On the last piece of a failed call: the code of the error.
FAILED = "rpc-failed"
#: From the caller: how many pieces its reader has read.
TAKEN = "rpc-taken"
#: From the caller: the response is not wanted any more.
CANCEL = "rpc-cancel"
PREFIX = "rpc-"

#: Headers that the signature does not cover: the trace is added while a message is being sent.
_UNSIGNED = frozenset({SIGNATURE, tracing.HEADER})


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
    """Return an error as JSON."""
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
    """Return the error that the worker raised. An unknown code, of a newer worker, becomes an internal error with its text."""
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
