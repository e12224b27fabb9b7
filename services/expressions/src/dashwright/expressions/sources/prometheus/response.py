"""Conversion of Prometheus responses to frames."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import TIME_NAME, FrameSet, first_meta, with_first_meta
from dashwright.expressions.engine.labels import NO_LABELS, LabelSets, LabelSetsBuilder
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.prometheus.errors import ADVICE, unreadable
from dashwright.expressions.sources.prometheus.histograms import histogram_frames
from dashwright.expressions.sources.prometheus.points import PointReader, SampleReader, SeriesReader, read_time
from dashwright.expressions.sources.prometheus.query import PrometheusQuery

_NAME_LABEL: Final = "__name__"
_DEFAULT_NAME: Final = "Value"
_MAX_MESSAGE_LENGTH: Final = 300
_NANOS_PER_MILLISECOND: Final = 1_000_000
_ABSENT: Final = msgspec.Raw(b"")
#: The number of items that are decoded together.
_CHUNK_ITEMS: Final = 1_000

_Decoded = TypeVar("_Decoded")


class _Data(msgspec.Struct):
    """The member ``data`` of a response: items (series or samples), or the time and the value of a scalar or string.

    The items are decoded in parts, because all together would take several times the memory of the body.
    """

    result_type: str = msgspec.field(name="resultType")
    result: list[msgspec.Raw]


class _Envelope(msgspec.Struct):
    """A response of the API."""

    status: Any = None
    error_type: Any = msgspec.field(name="errorType", default=None)
    error: Any = None
    warnings: Any = None
    infos: Any = None


class _DataEnvelope(_Envelope):
    """A response of the API whose data has the form of a successful response."""

    data: _Data | None = None


class _Item(msgspec.Struct, gc=False):
    """A series or a sample of a result. Its points are raw, because they are parsed in columns."""

    metric: dict[str, str] | None = None
    value: msgspec.Raw = _ABSENT
    values: msgspec.Raw = _ABSENT
    histogram: msgspec.Raw = _ABSENT
    histograms: msgspec.Raw = _ABSENT


_ENVELOPE: Final = msgspec.json.Decoder(_DataEnvelope)
_PLAIN_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ITEM: Final = msgspec.json.Decoder(_Item)
_TEXT: Final = msgspec.json.Decoder(str)


@dataclass(frozen=True, slots=True)
class PrometheusResponse:
    """A response of the API."""

    data: _Data | None
    error: str = ""
    notices: tuple[dict[str, str], ...] = ()


def parse_response(body: bytes) -> PrometheusResponse:
    """Return the parsed body. Raises SourceFailed if it is not a response of Prometheus."""
    try:
        envelope: _Envelope = _ENVELOPE.decode(body)
    except msgspec.ValidationError as error:
        # The data of a failed response may have any form.
        envelope = _decode(_PLAIN_ENVELOPE, body)
        if envelope.status != "error":
            raise unreadable(f"has an unexpected form ({error})") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(f"is not JSON: {error}") from error
    if envelope.status == "error":
        error_type, reason = str(envelope.error_type or "error"), str(envelope.error or "without a reason")
        return PrometheusResponse(None, f"{error_type}: {reason}"[:_MAX_MESSAGE_LENGTH])
    if envelope.status != "success":
        raise unreadable("has neither the status success nor error")
    assert isinstance(envelope, _DataEnvelope)
    return PrometheusResponse(envelope.data, notices=tuple(_notices(envelope)))


def frames_of(response: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    """Return the frames of a response. The first has the query and the notices in its meta.

    A response without results gives one frame without fields. The results are removed from the response.
    """
    data, notices = response.data, list(response.notices)
    if data is None:
        raise unreadable("has no result")
    frames = _frames_of_result(data.result_type, data.result, query, limits) or [Frame()]
    meta = {**(first_meta(frames) or {}), "executedQueryString": query.executed_query}
    if notices:
        meta["notices"] = notices
    return with_first_meta(frames, meta)


def _notices(envelope: _Envelope) -> list[dict[str, str]]:
    return [
        {"severity": severity, "text": message[:_MAX_MESSAGE_LENGTH]}
        for severity, messages in (("warning", envelope.warnings), ("info", envelope.infos))
        if isinstance(messages, list)
        for message in messages
        if isinstance(message, str)
    ]


def _frames_of_result(result_type: str, result: list[msgspec.Raw], query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    match result_type:
        case "matrix" | "vector":
            return _frames_of_items(result_type, result, query, limits)
        case "scalar":
            return _scalar_frame(result, query)
        case "string":
            return [_string_frame(result)]
        case _:
            raise unreadable(f"has results of the unknown type {result_type!r:.40}")


def _frames_of_items(result_type: str, items: list[msgspec.Raw], query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    """Return the frames of series or samples, followed by those of native histograms."""
    if len(items) > limits.query_series:
        raise limits.refusal("query_series", f"the response has {len(items)} series", ADVICE)
    are_samples = result_type == "vector"
    label_builder, histograms = LabelSetsBuilder(), []
    points: PointReader = SampleReader() if are_samples else SeriesReader(len(items), limits)
    for chunk in _decoded_chunks(items):
        limits.deadline.check()
        mappings = [item.metric or {} for item in chunk]
        # The points of a series, or else the point of a sample. The JSON of an absent member is empty.
        arrays = [item.values or item.value for item in chunk]
        chunk_histograms = [item.histograms or item.histogram for item in chunk]
        if any(chunk_histograms):
            histograms += [
                labels_and_histogram for labels_and_histogram in zip(mappings, chunk_histograms, strict=True) if labels_and_histogram[1]
            ]
            # An item without points and histogram remains, so that the check of all items finds it.
            has_points = [bool(array or not histogram) for array, histogram in zip(arrays, chunk_histograms, strict=True)]
            mappings, arrays = list(compress(mappings, has_points)), list(compress(arrays, has_points))
        if not all(arrays):
            raise unreadable("has a series without values")
        if arrays:
            label_builder.add(mappings)
            points.add(arrays)
    labels = label_builder.build()
    meta = _meta("numeric-multi" if are_samples else "timeseries-multi", result_type)
    frames = _frame_set(points.frames(labels, meta), query) if labels else ()
    if not histograms:
        return frames
    return [*frames, *histogram_frames(histograms, query.step, limits, are_samples=are_samples)]


def _decoded_chunks(items: list[msgspec.Raw]) -> Iterator[Sequence[_Item]]:
    """Yield the decoded items in parts. Each part is removed from the list, so that its memory is free for the labels and points."""
    # Reversed, because only the end of a list is removed without moving the other items.
    items.reverse()
    while items:
        chunk = items[: -_CHUNK_ITEMS - 1 : -1]
        del items[-_CHUNK_ITEMS:]
        yield _decode_items(chunk)


def _decode_items(items: Sequence[msgspec.Raw]) -> Sequence[_Item]:
    try:
        return list(map(_ITEM.decode, items))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(f"has an unexpected form ({error})") from error


def _scalar_frame(result: Sequence[msgspec.Raw], query: PrometheusQuery) -> Sequence[Frame]:
    reader = SampleReader()
    reader.add([msgspec.Raw(b"[%s]" % b",".join(map(bytes, result)))])
    return _frame_set(reader.frames(LabelSets.of((NO_LABELS,)), _meta("numeric-multi", "scalar")), query)


def _frame_set(frames: FrameSet, query: PrometheusQuery) -> FrameSet:
    """Return the frames with the names and the configuration that Grafana's clients expect."""
    names = _names(frames.values.labels)
    has_one_name = len(set(names)) == 1
    return replace(
        frames,
        value_name=names[0] if has_one_name else "",
        value_names=() if has_one_name else names,
        is_nullable=False,
        has_empty_labels=True,
        time_config={"interval": query.step / _NANOS_PER_MILLISECOND},
        display_names=query.display_names,
    )


def _names(labels: LabelSets) -> Sequence[str]:
    """Return the name of the metric of each item."""
    if labels.keys:
        return labels.column(_NAME_LABEL) or (_DEFAULT_NAME,) * len(labels)
    return [dict(label_set.pairs).get(_NAME_LABEL, _DEFAULT_NAME) for label_set in labels]


def _string_frame(result: Sequence[msgspec.Raw]) -> Frame:
    if len(result) != 2:
        raise unreadable("has a string without time or value")
    seconds, text = result
    values = np.empty(1, object)
    values[0] = _decode(_TEXT, text)
    fields = (Field(TIME_NAME, FieldType.TIME, read_time(seconds)), Field("Value", FieldType.STRING, values, labels=NO_LABELS))
    return Frame(fields, meta={"type": "timeseries-multi", "custom": {"resultType": "string"}})


def _meta(frame_type: str, result_type: str) -> Mapping[str, Any]:
    return {"type": frame_type, "typeVersion": [0, 1], "custom": {"resultType": result_type}}


def _decode(decoder: "msgspec.json.Decoder[_Decoded]", encoded: bytes | msgspec.Raw) -> _Decoded:
    """Return the decoded JSON. Raises SourceFailed if it has another form."""
    try:
        return decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(f"has an unexpected form ({error})") from error
