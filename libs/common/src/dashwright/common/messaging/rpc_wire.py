"""Wire format of calls: the headers of both sides, and errors that keep their class.

Some headers have older names than their constants. They cannot be renamed: during an upgrade, processes of two versions communicate.
"""

from collections.abc import Iterator

import orjson

from dashwright.common.errors import Cause, DashwrightError

#: Of a request: time in Unix milliseconds by which the first chunk of the response must arrive.
DEADLINE = "rpc-deadline"
#: Of a request: milliseconds without a message after which either side ends the call.
IDLE_TIMEOUT = "rpc-patience"
#: Of a request or a chunk: number of the attempt, 1 if missing.
ATTEMPT = "rpc-attempt"
#: Of a chunk: its index from 0. A message without this header only announces the reply address of the worker.
SEQUENCE = "rpc-sequence"
#: Of a chunk: true if it is the last.
LAST = "rpc-last"
#: Of the first chunk of several: the maximum number of chunks that the worker sends before the caller has read them.
WINDOW = "rpc-window"
#: Of the last chunk of a failed call: the code of the error.
ERROR_CODE = "rpc-failed"
#: Of a control message: the number of chunks that the caller has read.
READ_COUNT = "rpc-taken"
#: Of a control message: true if the caller stops reading the response.
CANCEL = "rpc-cancel"
#: Prefix of all headers of the protocol. The other headers of a response are those of the reply.
PREFIX = "rpc-"


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
    """Return the error that the worker raised. An unknown code, which a newer worker may send, becomes an internal error."""
    fields = orjson.loads(body)
    return _CLASS_BY_CODE.get(fields["code"], DashwrightError)(
        fields["message"],
        message_id=fields["messageId"],
        causes=[Cause(*cause) for cause in fields["causes"]],
        retry_after=fields["retryAfter"],
        details=fields["details"],
    )


def _with_subclasses(error_class: type[DashwrightError]) -> Iterator[type[DashwrightError]]:
    """Yield a class of errors and its direct and indirect subclasses, each after its base class."""
    yield error_class
    for subclass in error_class.__subclasses__():
        yield from _with_subclasses(subclass)


_CLASS_BY_CODE: dict[str, type[DashwrightError]] = {}
for _class in _with_subclasses(DashwrightError):
    # Several classes may have one code, since subclasses inherit it. The class that defines the code comes first.
    _CLASS_BY_CODE.setdefault(_class.code, _class)
