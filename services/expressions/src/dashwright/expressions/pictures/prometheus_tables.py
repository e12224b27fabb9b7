"""Tables of Prometheus queries, which Grafana's data source builds in the browser."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import object_of
from dashwright.common.models.data_source_types import PROMETHEUS
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import TIME_NAME
from dashwright.expressions.transformations.context import Context

_VALUE_NAME: Final = "Value"
#: The label whose column has numbers: the upper bound of a bucket.
_BUCKET_LABEL: Final = "le"


def with_tables(frames: Sequence[Frame], targets: Sequence[Mapping[str, Any]], context: Context) -> list[Frame]:
    """Return the frames with one table for the series of each Prometheus target whose format is ``table``.

    As in Grafana, tables follow the other frames. Raises TooLarge if a table would have too many cells.
    """
    table_ref_ids = {target.get("refId") for target in targets if _is_table(target)}
    series_by_ref_id: dict[str, list[Frame]] = {}
    ordered_frames = []
    for frame in frames:
        if frame.ref_id in table_ref_ids and _is_series(frame):
            series_by_ref_id.setdefault(frame.ref_id, []).append(frame)
        else:
            ordered_frames.append(frame)
    for ref_id, series_frames in series_by_ref_id.items():
        ordered_frames.append(_table_of(series_frames, f"{_VALUE_NAME} #{ref_id}" if len(series_by_ref_id) > 1 else _VALUE_NAME, context))
    return ordered_frames


def _is_table(target: Mapping[str, Any]) -> bool:
    return target.get("format") == "table" and object_of(target.get("datasource")).get("type") == PROMETHEUS.id


def _is_series(frame: Frame) -> bool:
    """Return whether a frame is one series: a column of times and one of numbers."""
    types = [field.type for field in frame.fields]
    return len(types) == 2 and types[0] is FieldType.TIME and types[1].is_numeric


def _table_of(frames: Sequence[Frame], value_name: str, context: Context) -> Frame:
    """Return the points of all series as rows in order of time, with a column for each label; a missing label is empty."""
    labels = [dict(frame.fields[1].labels.pairs) if frame.fields[1].labels else {} for frame in frames]
    names = list(dict.fromkeys(name for pairs in labels for name in pairs))
    counts = [frame.row_count for frame in frames]
    context.check_cells(sum(counts), len(names) + 2)
    times = np.concatenate([frame.fields[0].values for frame in frames])
    values = np.concatenate([frame.fields[1].values.astype(np.float64) for frame in frames])
    nulls = np.concatenate([_nulls_of(frame.fields[1]) for frame in frames])
    order = np.argsort(times, kind="stable")
    columns = [_label_column(name, [pairs.get(name, "") for pairs in labels], counts) for name in names]
    for column in columns:
        column.values = column.values[order]
    fields = [
        Field(TIME_NAME, FieldType.TIME, times[order]),
        *columns,
        Field(value_name, FieldType.FLOAT64, values[order], nulls[order] if nulls.any() else None, nullable=True),
    ]
    return Frame(fields, ref_id=frames[0].ref_id, meta=frames[0].meta)


def _nulls_of(field: Field) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.zeros(len(field), dtype=np.bool_) if field.nulls is None else field.nulls


def _label_column(name: str, texts: Sequence[str], counts: Sequence[int]) -> Field:
    """Return a column with the text of each series in all of its rows. Bounds of buckets are numbers."""
    if name == _BUCKET_LABEL:
        return Field(name, FieldType.FLOAT64, np.repeat([_number_of(text) for text in texts], counts))
    return Field(name, FieldType.STRING, np.repeat(np.array(texts, dtype=object), counts))


def _number_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
