"""The bodies that answer a request.

Of queries ``{message?, results: {refId: {error?, errorSource?, status, frames}}, meta?}``, refIds sorted; ``meta.explain`` tells how the
results came about where that was asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.observability import tracing
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.formats.codec import FRAME, Fragment, JsonFrameWriter

_TIME_BYTES: Final = 14
_NUMBER_BYTES: Final = 18
"""Of a value as JSON, about; short numbers take less."""

INTERNAL: Final = 500
"""The status of a failure of ours: its text is for the logs."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one refId shows: frames, an error, or both where data is there that an expression could not read.

    ``warnings`` are those that no frame is there to carry.
    """

    frames: Sequence[Frame] = ()
    error: DashwrightError | None = None
    warnings: Sequence[str] = ()

    @property
    def values(self) -> int:
        """How many values the frames hold, and are as much work to encode as."""
        return sum(FRAME + frame.rows * len(frame.fields) for frame in self.frames)


def size_of(results: Mapping[str, Result]) -> int:
    """Return the bytes of the results as JSON, about."""
    return sum(FRAME + sum(map(_size_of, frame.fields)) for result in results.values() for frame in result.frames)


def _size_of(item: Field) -> int:
    if item.values.dtype == object:
        texts = item.values.tolist()
        return sum(len(text) + 3 if isinstance(text, str) else len(orjson.dumps(text)) + 1 for text in texts)
    return len(item) * (_TIME_BYTES if item.type is FieldType.TIME else _NUMBER_BYTES)


def status_of(results: Mapping[str, Result]) -> int:
    return 400 if any(result.error for result in results.values()) else 200


def fragments(results: Mapping[str, Result], explanation: Mapping[str, Any] | None = None) -> Iterator[Fragment]:
    """The body, a frame's column at a time."""
    yield b"{" + _message(results) + b'"results":{', 0
    writer = JsonFrameWriter()
    for number, ref_id in enumerate(sorted(results)):
        result = results[ref_id]
        yield (b"," if number else b"") + orjson.dumps(ref_id) + b":{" + _head(result) + b'"frames":[', 0
        for position, frame in enumerate(result.frames):
            if position:
                yield b",", 0
            yield from writer.write(frame)
        yield b"]}", 0
    yield b"}" + (b"" if explanation is None else b',"meta":' + orjson.dumps({"explain": explanation})) + b"}", 0


def classic_error(error: DashwrightError) -> bytes:
    """The body of a request that was refused whole; ``faults`` has one entry a fault of its shape."""
    body: dict[str, Any] = {"message": error.message, "messageId": error.message_id, "statusCode": error.status}
    if error.causes:
        body["faults"] = [{"pointer": cause.field, "message": cause.message} for cause in error.causes]
    return orjson.dumps(body)


def _message(results: Mapping[str, Result]) -> bytes:
    failed = {ref_id: result.error for ref_id, result in sorted(results.items()) if result.error}
    if not failed:
        return b""
    texts = "; ".join(f"{ref_id}: {text_of(error)}" for ref_id, error in failed.items())
    return b'"message":' + orjson.dumps(texts) + b","


def _head(result: Result) -> bytes:
    members: dict[str, Any] = {"status": 200} if result.error is None else error_members(result.error)
    if result.warnings:
        members["notices"] = notices_of(result.warnings)
    return orjson.dumps(members)[1:-1] + b","


def notices_of(warnings: Sequence[str]) -> list[dict[str, str]]:
    return [{"severity": "warning", "text": text} for text in warnings]


def error_members(error: DashwrightError) -> dict[str, Any]:
    """What a refId says of its error, whatever the encoding. All that the caller can mend is 400, a limit too."""
    source = "downstream" if isinstance(error, SourceFailed) else "plugin"
    return {"error": text_of(error), "errorSource": source, "status": error.status if error.status >= INTERNAL else 400}


def text_of(error: DashwrightError) -> str:
    """What callers are told of an error; of a failure of ours, only where to look."""
    if error.status == INTERNAL:
        trace = tracing.current()
        return f"internal error; the logs of the service tell more under trace id {trace.trace_id if trace else 'unknown'}"
    return f"[{error.message_id}] {error.message}" if error.message_id.startswith("sse.") else error.message
