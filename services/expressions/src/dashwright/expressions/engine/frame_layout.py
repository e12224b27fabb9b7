"""Layouts of frames. A frame declares its layout by Grafana's data plane contract, or its columns determine it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame


class FrameLayout(StrEnum):
    """The layout of a frame that declares no type. The values are Grafana's names, for error messages."""

    WIDE = "wide"  #: A time column and numbers.
    LONG = "long"  #: A time column, numbers, and strings or booleans.
    OTHER = "not"  #: Anything else.


#: Types of columns that hold measured values.
VALUE_TYPES = NUMERIC | {FieldType.BOOL}

#: The newest version of the data plane contract that this engine implements.
NEWEST_VERSION = (0, 1)

_DIMENSION_TYPES = frozenset({FieldType.STRING, FieldType.BOOL})


def layout_of(frame: Frame) -> FrameLayout:
    """Return the layout of a frame's columns."""
    types = {field.type for field in frame.fields}
    if FieldType.TIME not in types or types.isdisjoint(NUMERIC):
        return FrameLayout.OTHER
    return FrameLayout.WIDE if types.isdisjoint(_DIMENSION_TYPES) else FrameLayout.LONG


def declared_type(meta: Mapping[str, Any] | None) -> str:
    """Return the ``type`` in the meta of a frame, or an empty string if the type or its version is missing."""
    # As in Grafana, the version 0.0 is a missing version.
    return str(meta.get("type") or "") if meta and any(meta.get("typeVersion") or ()) else ""


def newer_version(meta: Mapping[str, Any] | None) -> str:
    """Return the version in the meta of a frame, such as ``1.0``, if it is newer than NEWEST_VERSION, else an empty string."""
    version = (meta or {}).get("typeVersion") or NEWEST_VERSION
    is_newer = tuple(version) > NEWEST_VERSION
    return ".".join(map(str, version)) if declared_type(meta) and is_newer else ""


def is_number_table(frame: Frame) -> bool:
    """Return whether the frame has exactly one numeric column, and all other columns are strings."""
    types = [field.type for field in frame.fields]
    are_numbers_or_strings = all(column_type.is_numeric or column_type is FieldType.STRING for column_type in types)
    return are_numbers_or_strings and sum(column_type.is_numeric for column_type in types) == 1


def is_instant_vector(frame: Frame) -> bool:
    """Return whether the frame is one sample with its time, the result of a Prometheus instant query."""
    if frame.meta is None:
        return False
    custom = frame.meta.get("custom")
    return isinstance(custom, dict) and custom.get("resultType") == "vector" and len(frame.fields) == 2 and frame.row_count == 1


def times_of(frame: Frame) -> Field:
    """Return the time column. Raises BadRequest if it is missing or has nulls."""
    times = frame.time_field
    if times is None:
        raise BadRequest("a time series needs a time field and this frame has none; add one or declare the frame as numeric")
    if times.nulls is not None and times.nulls.any():
        raise BadRequest("time series with null time stamps are not supported; make sure that no time is null")
    return times
