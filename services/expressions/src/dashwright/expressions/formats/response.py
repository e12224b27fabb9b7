"""The JSON body of a response to queries.

It is ``{message?, results: {refId: {error?, errorSource?, status, frames}}, transformed?, meta?}`` with sorted refIds.
``transformed`` has the frames after the transformations of the panel, and ``meta.explain`` describes the evaluation, if the
client requested them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.observability import tracing
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.limit_checks import size_of as value_count_of
from dashwright.expressions.formats.codec import FRAME_COST, Fragment, JsonFrameWriter
from dashwright.expressions.formats.set_writer import cost_of, set_fragments
from dashwright.expressions.formats.transformed import TransformationResult

#: Approximate bytes of a frame as JSON, without its values.
_FRAME_BYTES: Final = 300
#: Approximate bytes of a time as JSON, and of a long number.
_TIME_BYTES: Final = 14
_NUMBER_BYTES: Final = 18

#: The maximum number of unsupported transformations that a notice names.
_MAX_LISTED: Final = 10
#: The maximum number of characters of the name of an unsupported transformation.
_MAX_NAME_LENGTH: Final = 80

#: The HTTP status of an internal error, whose message is for the logs only.
INTERNAL: Final = 500


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one refId: frames, an error, or both if an expression could not read the frames."""

    frames: Sequence[Frame] = ()
    error: DashwrightError | None = None
    warnings: Sequence[str] = ()  #: Warnings of a result without frames; otherwise they are notices of the first frame.

    @property
    def cost(self) -> int:
        """The cost of encoding the frames, as the number of values that would take the same time."""
        if isinstance(self.frames, FrameSet):
            return cost_of(self.frames)
        return sum(FRAME_COST + frame.row_count * len(frame.fields) for frame in self.frames)


def size_of(results: Mapping[str, Result], transformed: TransformationResult | None = None) -> int:
    """Return the approximate bytes of the results as JSON."""
    frames = [typed.frame for typed in transformed.frames] if transformed else []
    return sum(_size_of_frames(result.frames) for result in results.values()) + _size_of_frames(frames)


def _size_of_frames(frames: Sequence[Frame]) -> int:
    if isinstance(frames, FrameSet) and not frames.is_wide:
        # Reading the set frame by frame would create each frame.
        _, points = value_count_of(frames.values)
        return len(frames) * _FRAME_BYTES + points * (_NUMBER_BYTES + (_TIME_BYTES if frames.has_times else 0))
    return sum(_FRAME_BYTES + sum(map(_size_of_field, frame.fields)) for frame in frames)


def _size_of_field(field: Field) -> int:
    if field.values.dtype == object:
        values = field.values.tolist()
        # Each value is followed by a comma, and a string has two quotes.
        return sum(len(value) + 3 if isinstance(value, str) else len(orjson.dumps(value)) + 1 for value in values)
    return len(field) * (_TIME_BYTES if field.type is FieldType.TIME else _NUMBER_BYTES)


def status_of(results: Mapping[str, Result], transformed: TransformationResult | None = None) -> int:
    """Return the HTTP status: 400 if any refId or the transformations have an error."""
    return 400 if any(result.error for result in results.values()) or (transformed and transformed.error) else 200


def fragments(
    results: Mapping[str, Result], explanation: Mapping[str, Any] | None = None, transformed: TransformationResult | None = None
) -> Iterator[Fragment]:
    """Yield the body in fragments, none of which is longer than a small frame or a part of a column."""
    yield b"{" + _message(results, transformed) + b'"results":{', 0
    writer = JsonFrameWriter()
    for index, ref_id in enumerate(sorted(results)):
        result = results[ref_id]
        yield (b"," if index else b"") + orjson.dumps(ref_id) + b":{" + _result_members(result) + b'"frames":[', 0
        yield from _frames(result.frames, writer)
        yield b"]}", 0
    yield b"}", 0
    if transformed is not None:
        yield from _transformed(transformed)
    yield (b"" if explanation is None else b',"meta":' + orjson.dumps({"explain": explanation})) + b"}", 0


def _transformed(transformed: TransformationResult) -> Iterator[Fragment]:
    """Yield the member ``transformed``."""
    members: dict[str, Any] = {} if transformed.error is None else error_members(transformed.error)
    if transformed.unknown:
        names = ", ".join(dict.fromkeys(name[:_MAX_NAME_LENGTH] for name in transformed.unknown[:_MAX_LISTED]))
        members["notices"] = notices_of([f"transformations that are not supported were left out: {names}"])
    start = orjson.dumps(members)[1:-1]
    yield b',"transformed":{' + start + (b"," if start else b"") + b'"frames":[', 0
    writer = JsonFrameWriter()
    for index, typed in enumerate(transformed.frames):
        if index:
            yield b",", 0
        yield from writer.write(typed.frame, typed.types)
    yield b"]}", 0


def _frames(frames: Sequence[Frame], writer: JsonFrameWriter) -> Iterator[Fragment]:
    if isinstance(frames, FrameSet):
        yield from set_fragments(frames)
        return
    for index, frame in enumerate(frames):
        if index:
            yield b",", 0
        yield from writer.write(frame)


def error_body(error: DashwrightError) -> bytes:
    """Return the body of a refused request. ``faults`` has one entry for each fault of the request's JSON."""
    body: dict[str, Any] = {"message": error.message, "messageId": error.message_id, "statusCode": error.status}
    if error.causes:
        body["faults"] = [{"pointer": cause.field, "message": cause.message} for cause in error.causes]
    return orjson.dumps(body)


def _message(results: Mapping[str, Result], transformed: TransformationResult | None) -> bytes:
    """Return the member ``message``, which has the errors of all refIds and of the transformations; empty without errors."""
    errors = {ref_id: result.error for ref_id, result in sorted(results.items()) if result.error}
    if transformed and transformed.error:
        errors["transformations"] = transformed.error
    if not errors:
        return b""
    message = "; ".join(f"{ref_id}: {client_message(error)}" for ref_id, error in errors.items())
    return b'"message":' + orjson.dumps(message) + b","


def _result_members(result: Result) -> bytes:
    """Return the members of a result that precede its ``frames``."""
    members: dict[str, Any] = {"status": 200} if result.error is None else error_members(result.error)
    if result.warnings:
        members["notices"] = notices_of(result.warnings)
    return orjson.dumps(members)[1:-1] + b","


def notices_of(warnings: Sequence[str]) -> list[dict[str, str]]:
    """Return the warnings as notices of a frame."""
    return [{"severity": "warning", "text": warning} for warning in warnings]


def error_members(error: DashwrightError) -> dict[str, Any]:
    """Return the members ``error``, ``errorSource`` and ``status`` of a refId, for any encoding.

    Every error that the caller can correct has the status 400. Exceeded limits are such errors.
    """
    source = "downstream" if isinstance(error, SourceFailed) else "plugin"
    return {"error": client_message(error), "errorSource": source, "status": error.status if error.status >= INTERNAL else 400}


def client_message(error: DashwrightError) -> str:
    """Return the message of an error for the client. For an internal error, it is only the trace id for the logs."""
    if error.status == INTERNAL:
        trace = tracing.current()
        return f"internal error; the logs of the service have details under trace id {trace.trace_id if trace else 'unknown'}"
    return f"[{error.message_id}] {error.message}" if error.message_id.startswith("sse.") else error.message
