"""Shapes of frames in the terms of the data plane contract: by their columns, or as the frame declares."""

from enum import StrEnum

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame


class FrameLayout(StrEnum):
    """The layout of an undeclared frame."""

    WIDE = "wide"  #: A time column and numbers.
    LONG = "long"  #: A time column, numbers, and texts or booleans.
    NOT = "not"  #: Anything else.


#: Types of columns that hold measured values.
VALUES = NUMERIC | {FieldType.BOOL}

#: The newest known version of the data plane's types.
NEWEST_VERSION = (0, 1)

_DIMENSIONS = frozenset({FieldType.STRING, FieldType.BOOL})


def layout_of(frame: Frame) -> FrameLayout:
    """Return the layout of a frame's columns."""
    kinds = {item.type for item in frame.fields}
    if FieldType.TIME not in kinds or kinds.isdisjoint(NUMERIC):
        return FrameLayout.NOT
    return FrameLayout.WIDE if kinds.isdisjoint(_DIMENSIONS) else FrameLayout.LONG


def time_field(frame: Frame) -> Field | None:
    """Return the first time column, or None."""
    for item in frame.fields:
        if item.type is FieldType.TIME:
            return item
    return None


def declared_type(frame: Frame) -> str:
    """Return the ``type`` in the frame's meta, or an empty text if it is missing or its ``typeVersion`` is 0.0."""
    meta = frame.meta or {}
    return str(meta.get("type") or "") if any(meta.get("typeVersion") or ()) else ""


def newer_version(frame: Frame) -> str:
    """Return the declared version if it is newer than the known ones, such as ``1.0``, else an empty text."""
    version = (frame.meta or {}).get("typeVersion") or NEWEST_VERSION
    return ".".join(map(str, version)) if declared_type(frame) and tuple(version) > NEWEST_VERSION else ""


def is_number_table(frame: Frame) -> bool:
    """Return whether the frame has one numeric column and otherwise text."""
    kinds = [item.type for item in frame.fields]
    return sum(kind.is_numeric for kind in kinds) == 1 and all(kind.is_numeric or kind is FieldType.STRING for kind in kinds)


def is_instant_vector(frame: Frame) -> bool:
    """Return whether the frame is one sample with its time, the result of a Prometheus instant query."""
    if frame.meta is None:
        return False
    custom = frame.meta.get("custom")
    return isinstance(custom, dict) and custom.get("resultType") == "vector" and len(frame.fields) == 2 and frame.rows == 1


def times_of(frame: Frame) -> Field:
    """Return the time column. Raises BadRequest if it is missing or has nulls."""
    times = time_field(frame)
    if times is None:
        raise BadRequest("a time series needs a time field and this frame has none; add one or declare the frame as numeric")
    if times.nulls is not None and times.nulls.any():
        raise BadRequest("time series with null time stamps are not supported; make sure that no time is null")
    return times
