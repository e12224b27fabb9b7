"""The JSON body of a response to queries.

It is ``{message?, results: {refId: {error?, errorSource?, status, frames}}, meta?}``, refIds sorted; ``meta.explain``
describes how the results came about, if the client asked for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.observability import tracing
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.formats.codec import FRAME, Fragment, JsonFrameWriter

#: Approximate bytes of a time and of a number as JSON; short numbers take fewer.
_TIME_BYTES: Final = 14
_NUMBER_BYTES: Final = 18

#: The status of an internal error, whose text is for the logs only.
INTERNAL: Final = 500


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one refId: frames, an error, or both if an expression could not read the frames."""

    frames: Sequence[Frame] = ()
    error: DashwrightError | None = None
    warnings: Sequence[str] = ()  #: Warnings without a frame that could carry them.

    @property
    def values(self) -> int:
        """The cost of encoding the frames, in values."""
        return sum(FRAME + frame.rows * len(frame.fields) for frame in self.frames)


def size_of(results: Mapping[str, Result]) -> int:
    """Return the approximate bytes of the results as JSON."""
    return sum(FRAME + sum(map(_size_of, frame.fields)) for result in results.values() for frame in result.frames)


def _size_of(item: Field) -> int:
    if item.values.dtype == object:
        texts = item.values.tolist()
        return sum(len(text) + 3 if isinstance(text, str) else len(orjson.dumps(text)) + 1 for text in texts)
    return len(item) * (_TIME_BYTES if item.type is FieldType.TIME else _NUMBER_BYTES)


def status_of(results: Mapping[str, Result]) -> int:
    """Return the HTTP status: 400 if any refId has an error."""
    return 400 if any(result.error for result in results.values()) else 200


def fragments(results: Mapping[str, Result], explanation: Mapping[str, Any] | None = None) -> Iterator[Fragment]:
    """Yield the body, one column of a frame at a time."""
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
    """Return the body of a refused request; ``faults`` has one entry for each fault of its shape."""
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
    """Return the warnings as notices of a frame."""
    return [{"severity": "warning", "text": text} for text in warnings]


def error_members(error: DashwrightError) -> dict[str, Any]:
    """Return the members of a refId with an error, for any encoding.

    Every error that the caller can correct has the status 400, a limit too.
    """
    source = "downstream" if isinstance(error, SourceFailed) else "plugin"
    return {"error": text_of(error), "errorSource": source, "status": error.status if error.status >= INTERNAL else 400}


def text_of(error: DashwrightError) -> str:
    """Return the text of an error for the caller; of an internal error, only the id to look for in the logs."""
    if error.status == INTERNAL:
        trace = tracing.current()
        return f"internal error; the logs of the service have details under trace id {trace.trace_id if trace else 'unknown'}"
    return f"[{error.message_id}] {error.message}" if error.message_id.startswith("sse.") else error.message
