"""Conversion of Prometheus responses to frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar

import msgspec
import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import TIME_NAME, FrameSet
from dashwright.expressions.engine.labels import NO_LABELS, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Cells, Numbers
from dashwright.expressions.engine.values_to_frames import first_meta, with_first_meta
from dashwright.expressions.sources.prometheus.errors import ADVICE, unreadable
from dashwright.expressions.sources.prometheus.histograms import histogram_frames
from dashwright.expressions.sources.prometheus.points import read_samples, read_series
from dashwright.expressions.sources.prometheus.query import PrometheusQuery

_NAME_LABEL: Final = "__name__"
_DEFAULT_NAME: Final = "Value"
_MAX_MESSAGE_LENGTH: Final = 300
_NANOS_PER_MILLISECOND: Final = 1_000_000
_ABSENT: Final = msgspec.Raw(b"")

_Decoded = TypeVar("_Decoded")


class _Data(msgspec.Struct):
    """The member ``data`` of a response."""

    result_type: str = msgspec.field(name="resultType")
    result: msgspec.Raw


class _Envelope(msgspec.Struct):
    """A response of the API."""

    status: Any = None
    error_type: Any = msgspec.field(name="errorType", default=None)
    error: Any = None
    warnings: Any = None
    infos: Any = None


class _DataEnvelope(_Envelope):
    data: _Data | None = None


class _Item(msgspec.Struct, gc=False):
    """A series or a sample of a result. Its points are raw, because they are parsed in columns."""

    metric: dict[str, str] | None = None
    value: msgspec.Raw = _ABSENT
    values: msgspec.Raw = _ABSENT
    histogram: msgspec.Raw = _ABSENT
    histograms: msgspec.Raw = _ABSENT

    @property
    def points(self) -> msgspec.Raw:
        """The JSON array of the points of a series, or of the point of a sample; _ABSENT for an item without points."""
        return self.value if self.values is _ABSENT else self.values

    @property
    def histogram_points(self) -> msgspec.Raw:
        """The JSON array of the histograms of a series, or of the histogram of a sample."""
        return self.histogram if self.histograms is _ABSENT else self.histograms

    @property
    def has_histograms(self) -> bool:
        """True if the item has native histograms."""
        return self.histogram is not _ABSENT or self.histograms is not _ABSENT


class _ItemsData(msgspec.Struct):
    """The member ``data`` of a response with series or samples."""

    result_type: Literal["matrix", "vector"] = msgspec.field(name="resultType")
    result: list[_Item]


class _ItemsEnvelope(_Envelope):
    data: _ItemsData | None = None


_ITEMS_ENVELOPE: Final = msgspec.json.Decoder(_ItemsEnvelope)
_ENVELOPE: Final = msgspec.json.Decoder(_DataEnvelope)
_PLAIN_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ITEMS: Final = msgspec.json.Decoder(list[_Item])
_STRING: Final = msgspec.json.Decoder(tuple[msgspec.Raw, str])


@dataclass(frozen=True, slots=True)
class PrometheusResponse:
    """A response of the API."""

    data: _Data | _ItemsData | None
    error: str = ""
    notices: tuple[dict[str, str], ...] = ()


def parse_response(body: bytes) -> PrometheusResponse:
    """Return the parsed body. Raises SourceFailed if it is not a response of Prometheus."""
    try:
        envelope = _read_envelope(body)
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
    assert isinstance(envelope, _ItemsEnvelope | _DataEnvelope)
    return PrometheusResponse(envelope.data, notices=tuple(_notices(envelope)))


def _read_envelope(body: bytes) -> _Envelope:
    """Return the decoded body. One with series or samples, which may be large, is read in one pass."""
    try:
        return _ITEMS_ENVELOPE.decode(body)
    except msgspec.ValidationError:
        return _ENVELOPE.decode(body)


def frames_of(response: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    """Return the frames of a response. The first has the query and the notices in its meta.

    A response without results gives one frame without fields.
    """
    data, notices = response.data, list(response.notices)
    if data is None:
        raise unreadable("has no result")
    if isinstance(data, _ItemsData):
        frames = _frames_of_items(data.result_type, data.result, query, limits)
    else:
        frames = _frames_of_result(data.result_type, data.result, query, limits)
    frames = frames or [Frame()]
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


def _frames_of_result(result_type: str, result: msgspec.Raw, query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    """Return the frames of a result that was not decoded with its response."""
    match result_type:
        case "matrix" | "vector":
            return _frames_of_items(result_type, _decode(_ITEMS, result), query, limits)
        case "scalar":
            return _frames_of_numbers([result], LabelSets.of((NO_LABELS,)), result_type, query, limits)
        case "string":
            return [_string_frame(result, limits)]
        case _:
            raise unreadable(f"has results of the unknown type {result_type!r:.40}")


def _frames_of_items(result_type: str, items: list[_Item], query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
    """Return the frames of series or samples, and behind them those of native histograms."""
    if len(items) > limits.query_series:
        raise limits.refusal("query_series", f"the response has {len(items)} series", ADVICE)
    limits.deadline.check()
    histograms = histogram_frames(
        [(item.metric or {}, item.histogram_points) for item in items if item.has_histograms],
        query.step,
        limits,
        are_samples=result_type == "vector",
    )
    items = [item for item in items if item.points is not _ABSENT or not item.has_histograms]
    arrays = [item.points for item in items]
    if any(array is _ABSENT for array in arrays):
        raise unreadable("has a series without values")
    if not items:
        return histograms
    labels = LabelSets.of_mappings([item.metric or {} for item in items])
    if result_type == "vector":
        frames = _frames_of_numbers(arrays, labels, result_type, query, limits)
    else:
        frames = _frame_set(FrameSet(read_series(arrays, labels, limits), _meta("timeseries-multi", result_type)), query)
    return [*frames, *histograms] if histograms else frames


def _frames_of_numbers(
    arrays: Sequence[msgspec.Raw], labels: LabelSets, result_type: str, query: PrometheusQuery, limits: Limits
) -> Sequence[Frame]:
    times, values = read_samples(arrays, limits)
    return _frame_set(FrameSet(Numbers(labels, Cells(values)), _meta("numeric-multi", result_type), times=times), query)


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


def _string_frame(result: msgspec.Raw, limits: Limits) -> Frame:
    seconds, text = _decode(_STRING, result)
    times, _ = read_samples([msgspec.Raw(b'[%s,"0"]' % bytes(seconds))], limits)
    values = np.empty(1, object)
    values[0] = text
    fields = (Field(TIME_NAME, FieldType.TIME, times), Field("Value", FieldType.STRING, values, labels=NO_LABELS))
    return Frame(fields, meta={"type": "timeseries-multi", "custom": {"resultType": "string"}})


def _meta(frame_type: str, result_type: str) -> Mapping[str, Any]:
    return {"type": frame_type, "typeVersion": [0, 1], "custom": {"resultType": result_type}}


def _decode(decoder: "msgspec.json.Decoder[_Decoded]", encoded: bytes | msgspec.Raw) -> _Decoded:
    """Return the decoded JSON. Raises SourceFailed if it has another form."""
    try:
        return decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(f"has an unexpected form ({error})") from error
