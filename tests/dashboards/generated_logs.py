"""Generated log lines, in the columns that a data source for Loki returns."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import orjson
from tests.dashboards.panel_names import ReadName

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.timerange import TimeRange

_LINES: Final = 20
_LEVELS: Final = ("info", "warn", "error", "debug")
_NANOS_PER_SECOND: Final = 1_000_000_000


def log_lines(ref_id: str, names: Sequence[ReadName], time_range: TimeRange) -> list[Frame]:
    """Return lines with labels, seven seconds apart. The JSON of each line has the members that the panel reads."""
    end = int(time_range.end.timestamp()) * _NANOS_PER_SECOND
    times = np.array([end - index * 7 * _NANOS_PER_SECOND for index in range(_LINES)], dtype=np.int64)
    labels = [{"app": f"app-{index % 3 + 1}", "level": _LEVELS[index % len(_LEVELS)]} for index in range(_LINES)]
    member_names = [read.name for read in names if read.name not in ("Line", "Time", "labels")]
    lines = [
        orjson.dumps(
            {"msg": f"request {index} ended", "level": label["level"], **{name: f"{name}-{index % 3 + 1}" for name in member_names}}
        ).decode()
        for index, label in enumerate(labels)
    ]
    fields = [
        Field("labels", FieldType.JSON, _object_array(labels)),
        Field("Time", FieldType.TIME, times),
        Field("Line", FieldType.STRING, _object_array(lines)),
        Field("tsNs", FieldType.STRING, _object_array([str(time) for time in times.tolist()])),
        Field("id", FieldType.STRING, _object_array([f"line-{index}" for index in range(_LINES)])),
    ]
    return [Frame(fields, ref_id=ref_id, meta={"custom": {"frameType": "LabeledTimeValues"}})]


def _object_array(values: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return the values in an array without converting them, as ``np.array`` would convert strings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
